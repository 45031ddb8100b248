//! Rows of one block: which of its positions pass a condition, and their numbers in a selection.

use hyperslab_array::{Result, Run, Selection};
use hyperslab_scan::pruner::{CHUNK_WORDS, MAX_LISTED_ROWS, RowSelection};
use roaring::RoaringBitmap;

use crate::build::block_grid::BlockBox;

/// Positions of a block.
#[derive(Debug, Clone)]
pub(crate) enum Positions {
    None,
    /// All of so many.
    All(u32),
    /// In any order, no two alike.
    Few(Vec<u16>),
    Many(Box<[u64; CHUNK_WORDS]>),
}

impl Positions {
    /// The positions of lists, `count` of them, given to `visit` one list after the other.
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

    /// All of `count` but the positions of lists.
    pub fn all_but(count: u32, lists: impl FnOnce(&mut dyn FnMut(&[[u8; 2]])) -> Result<()>) -> Result<Self> {
        let mut words = Box::new([0u64; CHUNK_WORDS]);
        fill(&mut words, count);
        lists(&mut |list| toggle(&mut words, list))?;
        Ok(Self::Many(words))
    }

    /// The positions of bitmaps.
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

    /// As bits.
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

/// Turns the bits at positions (16 bits, little endian) over.
fn toggle(words: &mut [u64; CHUNK_WORDS], positions: &[[u8; 2]]) {
    for position in positions {
        let position = u16::from_le_bytes(*position);
        words[usize::from(position >> 6)] ^= 1 << (position & 63);
    }
}

fn fill(words: &mut [u64; CHUNK_WORDS], count: u32) {
    let count = count as usize;
    for (number, word) in words.iter_mut().enumerate().take(count.div_ceil(64)) {
        let left = count - number * 64;
        *word = if left >= 64 { u64::MAX } else { (1 << left) - 1 };
    }
}

/// Numbers of rows, block after block.
#[derive(Default)]
pub(crate) struct Gathered {
    rows: RowSelection,
}

impl Gathered {
    /// The rows of what was gathered in parts, block after block.
    pub fn join(parts: impl IntoIterator<Item = Self>) -> RowSelection {
        let mut all = RowSelection::new();
        parts.into_iter().for_each(|part| all.append(part.rows));
        all
    }

    /// Adds positions of a block whose elements follow each other from number `first` on.
    pub fn add_run(&mut self, positions: Positions, first: u64) {
        match positions {
            Positions::None => {}
            Positions::All(count) => self.rows.insert_range(first..first + u64::from(count)),
            Positions::Few(mut few) => {
                few.sort_unstable();
                self.rows.insert_sorted(few.iter().map(|position| first + u64::from(*position)));
            }
            Positions::Many(words) => self.rows.insert_bits(first, words),
        }
    }

    /// Adds positions of a block, as far as they are selected, by their numbers in the selection.
    pub fn add_selected(&mut self, positions: Positions, place: &BlockBox, selection: &Selection) -> Result<()> {
        if matches!(positions, Positions::None) {
            return Ok(());
        }
        if let Some(first) = whole_run(place, selection) {
            self.add_run(positions, first);
            return Ok(());
        }
        let words = positions.words();
        let mut numbers = Vec::new();
        each_run(place, selection, &mut |source, target, count| {
            let end = source + count;
            let mut number = source / 64;
            while number * 64 < end {
                let mut word = words.get(number as usize).copied().unwrap_or_default();
                if number * 64 < source {
                    word &= u64::MAX << (source % 64);
                }
                if end - number * 64 < 64 {
                    word &= (1 << (end % 64)) - 1;
                }
                while word != 0 {
                    numbers.push(target + (number * 64 + u64::from(word.trailing_zeros()) - source));
                    word &= word - 1;
                }
                number += 1;
            }
        });
        numbers.sort_unstable();
        self.rows.insert_sorted(numbers);
        Ok(())
    }
}

/// The number in the selection of a block's first element, where all of them follow each other there.
pub(crate) fn whole_run(place: &BlockBox, selection: &Selection) -> Option<u64> {
    let (mut first, mut stride, mut whole) = (0u64, 1u64, true);
    let axes = selection.axes().iter().zip(place.origin.iter().zip(&place.shape));
    for (axis, (start, count)) in axes.rev() {
        let (position, selected) = axis.positions_within(*start, start + count);
        if selected != *count || (!whole && *count > 1) {
            return None;
        }
        whole &= axis.count() == *count;
        first += position * stride;
        stride *= axis.count();
    }
    Some(first)
}

/// Calls `visit(position in the block, number in the selection, count)` for each run of both.
pub(crate) fn each_run(place: &BlockBox, selection: &Selection, visit: &mut impl FnMut(u64, u64, u64)) {
    let axes = selection.axes().iter().zip(place.origin.iter().zip(&place.shape));
    let runs: Vec<Vec<Run>> = axes.map(|(axis, (start, count))| axis.runs_within(*start, start + count)).collect();
    let strides = |shape: &[u64]| {
        let mut strides = vec![1u64; shape.len()];
        let mut below = 1;
        for (stride, extent) in strides.iter_mut().zip(shape).rev() {
            *stride = below;
            below *= extent;
        }
        strides
    };
    let (here, there) = (strides(&place.shape), strides(&selection.shape()));
    descend(&runs, &here, &there, 0, 0, visit);
}

fn descend(runs: &[Vec<Run>], here: &[u64], there: &[u64], source: u64, target: u64, visit: &mut impl FnMut(u64, u64, u64)) {
    let (Some((first, rest)), Some((step_here, here)), Some((step_there, there))) = (runs.split_first(), here.split_first(), there.split_first()) else {
        visit(source, target, 1);
        return;
    };
    for run in first {
        if rest.is_empty() {
            visit(source + run.source, target + run.target, run.count);
            continue;
        }
        for step in 0..run.count {
            descend(rest, here, there, source + (run.source + step) * step_here, target + (run.target + step) * step_there, visit);
        }
    }
}
