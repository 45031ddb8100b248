//! Row collector: sets of positions of a block, and their conversion to rows of a selection.

use hyperslab_array::{Region, Result, Selection};
use hyperslab_scan::pruner::{CHUNK_WORDS, MAX_LISTED_ROWS, RowSelection};
use roaring::RoaringBitmap;

use super::random::below;
use crate::block::block_runs::{consecutive_rows, each_run};

/// A set of positions of a block.
#[derive(Debug, Clone)]
pub(crate) enum Positions {
    None,
    /// All positions of a block with this number of elements.
    All(u32),
    /// Distinct positions in any order.
    Few(Vec<u16>),
    /// One bit per position.
    Many(Box<[u64; CHUNK_WORDS]>),
}

impl Positions {
    /// The positions of lists. `lists` calls its argument with each list; they have `count` distinct positions together.
    pub fn of(count: usize, lists: impl FnOnce(&mut dyn FnMut(&[[u8; 2]])) -> Result<()>) -> Result<Self> {
        if count <= MAX_LISTED_ROWS {
            let mut few = Vec::with_capacity(count);
            lists(&mut |list| few.extend(list.iter().map(|position| u16::from_le_bytes(*position))))?;
            return Ok(if few.is_empty() { Self::None } else { Self::Few(few) });
        }
        let mut words = Box::new([0u64; CHUNK_WORDS]);
        lists(&mut |list| toggle(&mut words, list))?;
        Ok(Self::Many(words))
    }

    /// As [`Positions::of`], without the positions that are not `among` these.
    pub fn of_among(count: usize, among: &[u64; CHUNK_WORDS], lists: impl FnOnce(&mut dyn FnMut(&[[u8; 2]])) -> Result<()>) -> Result<Self> {
        let (mut kept, mut next) = (vec![0u16; count], 0);
        lists(&mut |list| {
            for position in list {
                let position = u16::from_le_bytes(*position);
                // Without a branch, because which positions are kept cannot be predicted.
                if let Some(slot) = kept.get_mut(next) {
                    *slot = position;
                }
                next += (among[usize::from(position >> 6)] >> (position & 63) & 1) as usize;
            }
        })?;
        kept.truncate(next);
        if kept.len() <= MAX_LISTED_ROWS {
            return Ok(if kept.is_empty() { Self::None } else { Self::Few(kept) });
        }
        let mut words = Box::new([0u64; CHUNK_WORDS]);
        kept.iter().for_each(|position| words[usize::from(position >> 6)] |= 1 << (position & 63));
        Ok(Self::Many(words))
    }

    /// All positions of a block with `count` elements except the positions in the lists.
    pub fn all_but(count: u32, lists: impl FnOnce(&mut dyn FnMut(&[[u8; 2]])) -> Result<()>) -> Result<Self> {
        let mut words = Box::new([0u64; CHUNK_WORDS]);
        fill(&mut words, count);
        lists(&mut |list| toggle(&mut words, list))?;
        Ok(Self::Many(words))
    }

    /// The union of bitmaps.
    pub fn of_bitmaps<'a>(bitmaps: impl Iterator<Item = &'a RoaringBitmap>) -> Self {
        let mut words = Box::new([0u64; CHUNK_WORDS]);
        let mut any = false;
        for position in bitmaps.flat_map(RoaringBitmap::iter) {
            any = true;
            if let Some(word) = words.get_mut(position as usize / 64) {
                *word |= 1 << (position % 64);
            }
        }
        if any { Self::Many(words) } else { Self::None }
    }

    /// The positions of a bitmap.
    pub fn of_bitmap(bitmap: &RoaringBitmap) -> Self {
        match bitmap.len() {
            0 => Self::None,
            few if few <= MAX_LISTED_ROWS as u64 => Self::Few(bitmap.iter().map(|position| position as u16).collect()),
            _ => Self::of_bitmaps(std::iter::once(bitmap)),
        }
    }

    /// A random position; `None` if there is none.
    pub fn any(&self) -> Option<u16> {
        match self {
            Self::None => None,
            Self::All(count) => Some(below(u64::from(*count)) as u16),
            Self::Few(few) => few.get(below(few.len() as u64) as usize).copied(),
            Self::Many(words) => {
                let start = below(words.len() as u64) as usize;
                let (index, word) = words.iter().enumerate().cycle().skip(start).take(words.len()).find(|(_, word)| **word != 0)?;
                Some((index * 64) as u16 + word.trailing_zeros() as u16)
            }
        }
    }

    /// Whether a position is among them.
    pub fn has(&self, position: u16) -> bool {
        match self {
            Self::None => false,
            Self::All(count) => u32::from(position) < *count,
            Self::Few(few) => few.contains(&position),
            Self::Many(words) => words[usize::from(position >> 6)] >> (position & 63) & 1 == 1,
        }
    }

    /// One bit per position.
    fn words(&self) -> Box<[u64; CHUNK_WORDS]> {
        let mut words = Box::new([0u64; CHUNK_WORDS]);
        match self {
            Self::None => {}
            Self::All(count) => fill(&mut words, *count),
            Self::Few(few) => few.iter().for_each(|position| words[usize::from(*position) / 64] |= 1 << (position % 64)),
            Self::Many(many) => words = many.clone(),
        }
        words
    }
}

/// The positions of a block that pass for certain, and those that may pass and must be tested.
pub(crate) struct MatchingPositions {
    pub certain: Positions,
    pub possible: Positions,
}

impl MatchingPositions {
    pub fn known(certain: Positions) -> Self {
        Self { certain, possible: Positions::None }
    }

    pub fn unknown(elements: u64) -> Self {
        Self { certain: Positions::None, possible: Positions::All(elements as u32) }
    }
}

/// Inverts the bits at positions, which are little endian.
fn toggle(words: &mut [u64; CHUNK_WORDS], positions: &[[u8; 2]]) {
    for position in positions {
        let position = u16::from_le_bytes(*position);
        words[usize::from(position >> 6)] ^= 1 << (position & 63);
    }
}

/// Sets the first `count` bits.
fn fill(words: &mut [u64; CHUNK_WORDS], count: u32) {
    let count = count as usize;
    for (word_index, word) in words.iter_mut().enumerate().take(count.div_ceil(64)) {
        let left = count - word_index * 64;
        *word = if left >= 64 { u64::MAX } else { (1 << left) - 1 };
    }
}

/// Collects rows of a selection, block after block.
#[derive(Default)]
pub(crate) struct RowCollector {
    rows: RowSelection,
}

impl RowCollector {
    /// Joins collectors of consecutive blocks.
    pub fn join(parts: impl IntoIterator<Item = Self>) -> RowSelection {
        let mut all = RowSelection::new();
        parts.into_iter().for_each(|part| all.append(part.rows));
        all
    }

    /// Adds positions of a block whose elements are consecutive rows, beginning with row `first`.
    pub fn add_run(&mut self, positions: Positions, first: u64) -> Result<()> {
        match positions {
            Positions::None => {}
            Positions::All(count) => self.rows.insert_range(first..first + u64::from(count)),
            Positions::Few(mut few) => {
                few.sort_unstable();
                self.rows.insert_list(first, few)?;
            }
            Positions::Many(words) => self.rows.insert_bits(first, words),
        }
        Ok(())
    }

    /// Adds the rows of those positions of a block that are selected.
    pub fn add_selected(&mut self, positions: Positions, block: &Region, selection: &Selection) -> Result<()> {
        if matches!(positions, Positions::None) {
            return Ok(());
        }
        if let Some(first) = consecutive_rows(block, selection) {
            return self.add_run(positions, first);
        }
        let words = positions.words();
        let mut rows = Vec::new();
        each_run(block, selection, &mut |source, target, count| {
            let end = source + count;
            let mut word_index = source / 64;
            while word_index * 64 < end {
                let mut word = words[word_index as usize % CHUNK_WORDS];
                if word_index * 64 < source {
                    word &= u64::MAX << (source % 64);
                }
                if end - word_index * 64 < 64 {
                    word &= (1 << (end % 64)) - 1;
                }
                while word != 0 {
                    rows.push(target + (word_index * 64 + u64::from(word.trailing_zeros()) - source));
                    word &= word - 1;
                }
                word_index += 1;
            }
        });
        rows.sort_unstable();
        self.rows.insert_sorted(rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn positions_among_others_are_those_in_both(
            wanted in proptest::collection::btree_set(any::<u16>(), 0..3000),
            among in proptest::collection::btree_set(any::<u16>(), 0..3000),
            start in any::<u16>(), cut in 0usize..3000,
        ) {
            // Runs in common, so that few and many positions are left.
            let runs = (start..=start.saturating_add(1500)).collect::<std::collections::BTreeSet<u16>>();
            for (wanted, among) in [(wanted.clone(), among.clone()), (&wanted | &runs, &among | &runs)] {
                let list: Vec<[u8; 2]> = wanted.iter().rev().map(|position| position.to_le_bytes()).collect();
                let (first, second) = list.split_at(cut.min(list.len()));
                let mut bits = [0u64; CHUNK_WORDS];
                among.iter().for_each(|position| bits[usize::from(position >> 6)] |= 1 << (position & 63));
                let found = Positions::of_among(list.len(), &bits, |visit| {
                    visit(first);
                    visit(second);
                    Ok(())
                });
                let found = found.map_err(|error| TestCaseError::fail(error.to_string()))?;
                let mut left = [0u64; CHUNK_WORDS];
                wanted.intersection(&among).for_each(|position| left[usize::from(position >> 6)] |= 1 << (position & 63));
                prop_assert_eq!(*found.words(), left);
            }
        }
    }
}
