//! Matching values: the values of a column that pass a condition on this column, from the index alone.
//!
//! First the ranks of each block give its number of values, and thus the place of its values in the result. Then each block
//! unpacks the keys of these ranks and writes them in the order of their positions. Blocks are processed in parallel.

use std::ops::Range;

use hyperslab_array::{Cancellation, Error, ErrorKind, Result, Selection};
use hyperslab_predicate::{Condition, KeyType, ValueSet};
use hyperslab_scan::pruner::{CHUNK_WORDS, Level, MatchingValues};
use rayon::prelude::*;

use super::indexed_column::{BLOCKS_PER_TASK, IndexedColumn, is_costly};
use crate::block::block_grid::block_elements;
use crate::block::block_keys::Key;
use crate::block::rank_query::{RankQuery, Ranks, truncated};
use crate::store::block_directory::BlockEntry;

/// Up to this number of values of a block, they are sorted by position; more are scattered to their positions.
const MAX_SORTED_VALUES: usize = 64;

/// The ranks of a block that pass, and their number.
struct Wanted<'a> {
    entry: &'a BlockEntry,
    ranks: Vec<Range<u32>>,
    count: usize,
}

/// Ranges of ranks of a block, and the number of ranks in them.
type Counted = (Vec<Range<u32>>, usize);

/// The buffers of one thread.
struct Scratch<K> {
    positions: Vec<u8>,
    words: Vec<u8>,
    few: Vec<(u16, K)>,
    /// The key at each position that is marked; arbitrary at other positions.
    slots: Vec<K>,
    marks: Box<[u64; CHUNK_WORDS]>,
}

/// See [`hyperslab_scan::pruner::ColumnIndex::matching_values`].
pub(crate) fn matching_values(
    column: &IndexedColumn,
    selection: &Selection,
    condition: &Condition,
    sparse: Option<u64>,
    cancellation: &Cancellation,
) -> Result<Option<MatchingValues>> {
    let (Some(key_type), Some(set)) = (column.key_type, condition.values()) else { return Ok(None) };
    if key_type == KeyType::Boolean || !column.directory.is_whole(selection) {
        return Ok(None);
    }
    let entries = column.candidate_blocks(column.directory.touched(selection)?, condition);
    // The values of consecutive blocks are in the order of the rows.
    let firsts: Option<Vec<u64>> = entries.iter().map(|entry| entry.first).collect();
    if !firsts.is_some_and(|firsts| firsts.is_sorted()) {
        return Ok(None);
    }
    let session = column.file.session();
    let of_blocks = |entries: &[&'_ BlockEntry]| -> Result<Option<Vec<Counted>>> {
        cancellation.check()?;
        let mut scratch = Vec::new();
        entries.iter().map(|entry| ranks(column, entry, set, &mut scratch)).collect()
    };
    let ranges = session.compute(|| entries.par_chunks(BLOCKS_PER_TASK).map(of_blocks).collect::<Result<Vec<_>>>())?;
    let Some(ranges) = ranges.into_iter().collect::<Option<Vec<_>>>() else { return Ok(None) };
    let wanted = entries.iter().zip(ranges.into_iter().flatten());
    let wanted: Vec<Wanted<'_>> = wanted.map(|(entry, (ranks, count))| Wanted { entry, ranks, count }).filter(|wanted| wanted.count > 0).collect();
    let count: usize = wanted.iter().map(|wanted| wanted.count).sum();
    let elements: u64 = wanted.iter().map(|wanted| block_elements(&wanted.entry.region)).sum::<Result<u64>>()?;
    if sparse.is_some_and(|share| count as u64 > elements / share.max(1)) {
        return Ok(None);
    }
    let values = ValueReader { column, key_type, cancellation, wanted, count };
    match key_type.width() {
        1 => values.read::<u8>(),
        2 => values.read::<u16>(),
        4 => values.read::<u32>(),
        _ => values.read::<u64>(),
    }
}

/// The ranks of a block that pass, and their number. `None` if values that are not numbers pass, the index lacks the values of
/// the block, or reading all values takes less time.
fn ranks(column: &IndexedColumn, entry: &BlockEntry, set: &ValueSet, scratch: &mut Vec<u8>) -> Result<Option<Counted>> {
    let Some((index_file, row)) = column.directory.row(entry).filter(|(_, row)| row.level == Level::Exact) else { return Ok(None) };
    if is_costly(row, set) || (row.zone.nans > 0 && set.has_nan()) || (row.zone.nulls > 0 && set.has_null()) {
        return Ok(None);
    }
    match column.with_ranks(entry, index_file, row, Level::Exact, |query| query.ranks(set, scratch)) {
        Err(error) if error.kind() == ErrorKind::Corrupt => Ok(None),
        Err(error) => Err(error),
        Ok(found) => {
            if !found.iter().all(Ranks::is_exact) {
                return Err(Error::internal("the keys of a block did not make its ranks exact"));
            }
            let ranges: Vec<Range<u32>> = found.into_iter().map(|ranks| ranks.first.lower..ranks.end.lower).filter(|range| !range.is_empty()).collect();
            let count = ranges.iter().map(ExactSizeIterator::len).sum();
            Ok(Some((ranges, count)))
        }
    }
}

/// Reads the matching values of a column's blocks.
struct ValueReader<'a> {
    column: &'a IndexedColumn,
    key_type: KeyType,
    cancellation: &'a Cancellation,
    wanted: Vec<Wanted<'a>>,
    count: usize,
}

impl ValueReader<'_> {
    fn read<K: Key>(&self) -> Result<Option<MatchingValues>> {
        let session = self.column.file.session();
        let length = self.count.checked_mul(K::WIDTH).ok_or_else(|| Error::limit_exceeded("the matching values exceed memory"))?;
        let mut bytes = session.values().take(length)?;
        let mut rest: &mut [u8] = &mut bytes;
        let mut pieces = Vec::with_capacity(self.wanted.len());
        for wanted in &self.wanted {
            let (mine, others) = std::mem::take(&mut rest).split_at_mut_checked(wanted.count * K::WIDTH).ok_or_else(truncated)?;
            rest = others;
            pieces.push((wanted, mine));
        }
        let scratch = || Scratch::<K> {
            positions: Vec::new(),
            words: Vec::new(),
            few: Vec::new(),
            slots: vec![K::default(); CHUNK_WORDS * 64],
            marks: Box::new([0; CHUNK_WORDS]),
        };
        let outcome = session.compute(|| {
            pieces.par_chunks_mut(BLOCKS_PER_TASK).try_for_each_init(scratch, |scratch, pieces| {
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

    /// Writes the matching values of a block to `out`.
    fn of_block<K: Key>(&self, wanted: &Wanted<'_>, scratch: &mut Scratch<K>, out: &mut [u8]) -> Result<()> {
        let (index_file, row) = self.column.directory.row(wanted.entry).ok_or_else(truncated)?;
        self.column.with_ranks(wanted.entry, index_file, row, Level::Exact, |query| {
            let mut slots = out.chunks_exact_mut(K::WIDTH);
            let mut store = |key: K| {
                if let Some(slot) = slots.next() {
                    K::from_u64(self.key_type.bits(key.into())).store(slot);
                }
            };
            if wanted.count <= MAX_SORTED_VALUES {
                scratch.few.clear();
                let few = &mut scratch.few;
                each(query, &wanted.ranks, &mut scratch.positions, &mut scratch.words, |position, key| few.push((position, K::from_u64(key))))?;
                few.sort_unstable_by_key(|(position, _)| *position);
                few.iter().for_each(|(_, key)| store(*key));
                // Each position must occur once.
                let is_distinct = few.windows(2).all(|pair| matches!(pair, [(a, _), (b, _)] if a < b));
                return if is_distinct && few.len() == wanted.count { Ok(()) } else { Err(truncated()) };
            }
            let (values, marks) = (&mut scratch.slots, &mut scratch.marks);
            marks.fill(0);
            each(query, &wanted.ranks, &mut scratch.positions, &mut scratch.words, |position, key| {
                if let Some(slot) = values.get_mut(usize::from(position)) {
                    *slot = K::from_u64(key);
                }
                marks[usize::from(position >> 6)] |= 1 << (position & 63);
            })?;
            let mut stored = 0;
            for (word, values) in marks.iter().zip(values.as_chunks::<64>().0) {
                let mut left = *word;
                stored += left.count_ones() as usize;
                while left != 0 {
                    store(values[left.trailing_zeros() as usize % 64]);
                    left &= left - 1;
                }
            }
            if stored == wanted.count { Ok(()) } else { Err(truncated()) }
        })
    }
}

/// Calls `visit` with the position and the key of each rank.
fn each(query: &RankQuery<'_>, ranks: &[Range<u32>], positions: &mut Vec<u8>, words: &mut Vec<u8>, mut visit: impl FnMut(u16, u64)) -> Result<()> {
    for range in ranks {
        let mut positions = query.positions(range.clone(), positions)?.iter();
        query.keys_of(range.clone(), words, |keys| {
            for (key, position) in keys.iter().zip(&mut positions) {
                visit(u16::from_le_bytes(*position), *key);
            }
        })?;
    }
    Ok(())
}
