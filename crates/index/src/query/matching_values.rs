//! Passing: the values that a condition on themselves leaves, from the sorted keys and their order alone.
//!
//! Ranks tell how many values each block has, so that all know where theirs go; then each block puts the keys of these
//! ranks to their positions and takes them by position.

use std::ops::Range;

use hyperslab_array::{Cancellation, Error, ErrorKind, Result, Selection};
use hyperslab_predicate::{Condition, KeyType, ValueSet};
use hyperslab_scan::pruner::{CHUNK_WORDS, Level, MatchingValues};
use rayon::prelude::*;

use crate::build::block_keys::Key;
use super::block_directory::Entry;
use super::column::{IndexedColumn, is_costly};
use super::rank_query::{Ranked, cut_short};

/// Blocks that one thread takes at a time.
const BLOCKS_OF_A_TASK: usize = 16;
/// Values of a block up to which these are sorted by position; more are put to their positions.
const FEW: usize = 64;

/// The ranks of a block that pass.
struct Wanted<'a> {
    entry: &'a Entry,
    ranks: Vec<Range<u32>>,
    count: usize,
}

/// Ranks of a block, and how many they are.
type Counted = (Vec<Range<u32>>, usize);

/// Memory of one thread.
struct Scratch<K> {
    positions: Vec<u8>,
    words: Vec<u8>,
    few: Vec<(u16, K)>,
    /// What is at each position that is marked.
    slots: Vec<K>,
    marks: Box<[u64; CHUNK_WORDS]>,
}

/// See [`hyperslab_scan::pruner::ColumnIndex::matching_values`].
pub(crate) fn passing(column: &IndexedColumn, selection: &Selection, condition: &Condition, sparse: Option<u64>, cancellation: &Cancellation) -> Result<Option<MatchingValues>> {
    let (Some(key_type), Some(set)) = (column.key_type, condition.values()) else { return Ok(None) };
    if key_type == KeyType::Boolean || !column.table.is_whole(selection) {
        return Ok(None);
    }
    let entries = column.left(column.table.touched(selection)?, condition);
    // Blocks that lie one behind the other have their values in the order of the rows.
    let firsts: Option<Vec<u64>> = entries.iter().map(|entry| entry.first).collect();
    if !firsts.is_some_and(|firsts| firsts.is_sorted()) {
        return Ok(None);
    }
    let session = column.file.session();
    let of_blocks = |entries: &[&'_ Entry]| -> Result<Option<Vec<Counted>>> {
        cancellation.check()?;
        let mut scratch = Vec::new();
        entries.iter().map(|entry| ranks(column, entry, set, &mut scratch)).collect()
    };
    let told = session.compute(|| entries.par_chunks(BLOCKS_OF_A_TASK).map(of_blocks).collect::<Result<Vec<_>>>())?;
    let Some(told) = told.into_iter().collect::<Option<Vec<_>>>() else { return Ok(None) };
    let wanted = entries.iter().zip(told.into_iter().flatten());
    let wanted: Vec<Wanted<'_>> = wanted.map(|(entry, (ranks, count))| Wanted { entry, ranks, count }).filter(|wanted| wanted.count > 0).collect();
    let count: usize = wanted.iter().map(|wanted| wanted.count).sum();
    let elements: u64 = wanted.iter().map(|wanted| wanted.entry.place.elements()).sum();
    if sparse.is_some_and(|share| count as u64 > elements / share.max(1)) {
        return Ok(None);
    }
    let values = PooledBuffer { column, key_type, cancellation, wanted, count };
    match key_type.width() {
        1 => values.read::<u8>(),
        2 => values.read::<u16>(),
        4 => values.read::<u32>(),
        _ => values.read::<u64>(),
    }
}

/// The ranks of a block that pass, and how many they are; `None` where some of its values are no numbers, or not there,
/// and where reading all values takes less time.
fn ranks(column: &IndexedColumn, entry: &Entry, set: &ValueSet, scratch: &mut Vec<u8>) -> Result<Option<Counted>> {
    let Some((segment, row)) = column.table.row(entry).filter(|(_, row)| row.level == Level::Exact) else { return Ok(None) };
    if is_costly(row, set) || (row.zone.nans > 0 && set.has_nan()) || (row.zone.nulls > 0 && set.has_null()) {
        return Ok(None);
    }
    match column.with_ranks(entry, segment, row, Level::Exact, |ranked| ranked.ranks(set, scratch)) {
        Err(error) if error.kind() == ErrorKind::Corrupt => Ok(None),
        Err(error) => Err(error),
        Ok(found) => {
            if found.iter().any(|ranks| ranks.first.least != ranks.first.most || ranks.end.least != ranks.end.most) {
                return Err(Error::internal("ranks that the keys did not tell"));
            }
            let ranges: Vec<Range<u32>> = found.into_iter().map(|ranks| ranks.first.least..ranks.end.least).filter(|range| !range.is_empty()).collect();
            let count = ranges.iter().map(ExactSizeIterator::len).sum();
            Ok(Some((ranges, count)))
        }
    }
}

struct PooledBuffer<'a> {
    column: &'a IndexedColumn,
    key_type: KeyType,
    cancellation: &'a Cancellation,
    wanted: Vec<Wanted<'a>>,
    count: usize,
}

impl PooledBuffer<'_> {
    fn read<K: Key>(&self) -> Result<Option<MatchingValues>> {
        let session = self.column.file.session();
        let length = self.count.checked_mul(K::WIDTH).ok_or_else(|| Error::limit_exceeded("values beyond memory"))?;
        let mut bytes = session.values().take(length)?;
        let mut rest: &mut [u8] = &mut bytes;
        let mut pieces = Vec::with_capacity(self.wanted.len());
        for wanted in &self.wanted {
            let (mine, others) = std::mem::take(&mut rest).split_at_mut_checked(wanted.count * K::WIDTH).ok_or_else(cut_short)?;
            rest = others;
            pieces.push((wanted, mine));
        }
        let scratch = || Scratch::<K> { positions: Vec::new(), words: Vec::new(), few: Vec::new(), slots: vec![K::default(); CHUNK_WORDS * 64], marks: Box::new([0; CHUNK_WORDS]) };
        let outcome = session.compute(|| {
            pieces.par_chunks_mut(BLOCKS_OF_A_TASK).try_for_each_init(scratch, |scratch, pieces| {
                self.cancellation.check()?;
                pieces.iter_mut().try_for_each(|(wanted, out)| self.of_block(wanted, scratch, out))
            })
        });
        match outcome {
            Err(error) if error.kind() == ErrorKind::Corrupt => Ok(None),
            Err(error) => Err(error),
            Ok(()) => Ok(Some(MatchingValues { bytes, count: self.count })),
        }
    }

    /// Puts the values of a block into `out`.
    fn of_block<K: Key>(&self, wanted: &Wanted<'_>, scratch: &mut Scratch<K>, out: &mut [u8]) -> Result<()> {
        let (segment, row) = self.column.table.row(wanted.entry).ok_or_else(cut_short)?;
        self.column.with_ranks(wanted.entry, segment, row, Level::Exact, |ranked| {
            let mut slots = out.chunks_exact_mut(K::WIDTH);
            let mut store = |key: K| {
                if let Some(slot) = slots.next() {
                    K::from_u64(self.key_type.bits(key.into())).store(slot);
                }
            };
            if wanted.count <= FEW {
                scratch.few.clear();
                let few = &mut scratch.few;
                each(ranked, &wanted.ranks, &mut scratch.positions, &mut scratch.words, |position, key| few.push((position, K::from_u64(key))))?;
                few.sort_unstable_by_key(|(position, _)| *position);
                few.iter().for_each(|(_, key)| store(*key));
                // No two keys are of one position.
                let unlike = few.windows(2).all(|pair| matches!(pair, [(a, _), (b, _)] if a < b));
                return if unlike && few.len() == wanted.count { Ok(()) } else { Err(cut_short()) };
            }
            let (values, marks) = (&mut scratch.slots, &mut scratch.marks);
            marks.fill(0);
            each(ranked, &wanted.ranks, &mut scratch.positions, &mut scratch.words, |position, key| {
                if let Some(slot) = values.get_mut(usize::from(position)) {
                    *slot = K::from_u64(key);
                }
                marks[usize::from(position >> 6)] |= 1 << (position & 63);
            })?;
            let mut stored = 0;
            for (word, values) in marks.iter().zip(values.chunks_exact(64)) {
                let mut left = *word;
                stored += left.count_ones() as usize;
                while left != 0 {
                    store(values.get(left.trailing_zeros() as usize).copied().unwrap_or_default());
                    left &= left - 1;
                }
            }
            if stored == wanted.count { Ok(()) } else { Err(cut_short()) }
        })
    }
}

/// Calls `visit` with position and key of each of the ranks.
fn each(ranked: &Ranked<'_>, ranks: &[Range<u32>], positions: &mut Vec<u8>, words: &mut Vec<u8>, mut visit: impl FnMut(u16, u64)) -> Result<()> {
    for range in ranks {
        let mut positions = ranked.positions(range.clone(), positions)?.iter();
        ranked.keys_of(range.clone(), words, |keys| {
            for (key, position) in keys.iter().zip(&mut positions) {
                visit(u16::from_le_bytes(*position), *key);
            }
        })?;
    }
    Ok(())
}
