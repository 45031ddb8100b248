//! Row values: the values of given rows, from an index of level `Exact`.
//!
//! First the wanted positions of each block are determined, and thus the place of its values in the result. Then each block
//! scatters its keys to their positions and copies the keys of the wanted positions in order. Blocks are processed in parallel.

use arrow_array::{ArrayRef, BooleanArray, make_array};
use arrow_buffer::{ArrowNativeType, BooleanBuffer, Buffer, NullBuffer};
use arrow_data::ArrayData;
use hyperslab_array::{Cancellation, Error, ErrorKind, Result, Selection};
use hyperslab_predicate::KeyType;
use hyperslab_scan::pruner::{CHUNK_WORDS, Level, RowSelection};
use rayon::prelude::*;

use super::indexed_column::IndexedColumn;
use crate::block::block_grid::block_elements;
use crate::block::block_keys::Key;
use crate::block::block_runs::{consecutive_rows, each_run};
use crate::block::packed_keys::GROUP_KEYS;
use crate::store::block_directory::BlockEntry;
use crate::store::index_file::PAGE_BYTES;

use crate::block::rank_query::{RankQuery, truncated};

/// If at least 1/8 of a block's values are wanted, the keys of all its values are scattered to their positions; otherwise
/// only the keys at wanted positions.
const SCATTER_ALL_DIVISOR: usize = 8;
/// Number of ranks whose positions share a page of the index file.
const RANKS_PER_PAGE: u32 = (PAGE_BYTES / 2) as u32;

/// The wanted positions of a block: one bit per position, and their number.
struct Wanted<'a> {
    entry: &'a BlockEntry,
    marks: Box<[u64; CHUNK_WORDS]>,
    count: usize,
    rows: Rows,
}

/// The rows of the wanted positions.
enum Rows {
    /// Consecutive with the positions: the row that position 0 has, or would have.
    Consecutive(i128),
    /// Row and position of each, sorted by position.
    Listed(Vec<(u64, u16)>),
}

impl Wanted<'_> {
    fn positions(&self) -> impl Iterator<Item = usize> {
        self.marks.iter().zip(0usize..).flat_map(|(word, number)| {
            let mut left = *word;
            std::iter::from_fn(move || {
                let bit = (left != 0).then(|| left.trailing_zeros() as usize)?;
                left &= left - 1;
                Some(number * 64 + bit)
            })
        })
    }

    /// The rows, in the order of the positions.
    fn row_numbers(&self) -> Vec<u64> {
        match &self.rows {
            Rows::Consecutive(first) => self.positions().filter_map(|position| u64::try_from(first + position as i128).ok()).collect(),
            Rows::Listed(rows) => rows.iter().map(|(row, _)| *row).collect(),
        }
    }
}

/// The buffers of one thread.
struct Scratch<K> {
    bytes: Vec<u8>,
    /// The key at each position that was scattered for the current block; arbitrary at other positions.
    slots: Vec<K>,
}

/// The wanted values that are not numbers: the index among the wanted values, and whether the value is valid (NaN) or null.
type Others = Vec<(usize, bool)>;

/// The values of `rows` of the selection, in order. `None` if the index lacks the values of a block.
pub(crate) fn row_values(column: &IndexedColumn, selection: &Selection, rows: &RowSelection, cancellation: &Cancellation) -> Result<Option<ArrayRef>> {
    let Some(key_type) = column.key_type else { return Ok(None) };
    let values = RowValues { column, selection, rows, cancellation, key_type };
    match key_type.width() {
        1 => values.read::<u8>(),
        2 => values.read::<u16>(),
        4 => values.read::<u32>(),
        _ => values.read::<u64>(),
    }
}

struct RowValues<'a> {
    column: &'a IndexedColumn,
    selection: &'a Selection,
    rows: &'a RowSelection,
    cancellation: &'a Cancellation,
    key_type: KeyType,
}

impl RowValues<'_> {
    fn read<K: Key + ArrowNativeType>(&self) -> Result<Option<ArrayRef>> {
        let entries = self.column.directory.touched(self.selection)?;
        let session = self.column.file.session();
        let wanted: Vec<Wanted<'_>> = session.compute(|| {
            entries.par_iter().map(|entry| self.wanted(entry)).filter(|wanted| !wanted.as_ref().is_ok_and(|wanted| wanted.count == 0)).collect::<Result<_>>()
        })?;
        let count = wanted.iter().map(|wanted| wanted.count).sum::<usize>();
        if count as u64 != self.rows.len() {
            return Err(Error::invalid_input("rows are outside the selection"));
        }
        let mut found = vec![K::default(); count];
        let mut pieces = Vec::with_capacity(wanted.len());
        let (mut rest, mut first) = (found.as_mut_slice(), 0);
        for wanted in &wanted {
            let (mine, others) =
                std::mem::take(&mut rest).split_at_mut_checked(wanted.count).ok_or_else(|| Error::internal("blocks have more values than were counted"))?;
            pieces.push((wanted, first, mine));
            (rest, first) = (others, first + wanted.count);
        }
        let others = session.compute(|| {
            let scratch = || Scratch { bytes: Vec::new(), slots: vec![K::default(); CHUNK_WORDS * 64] };
            let of_block = |scratch: &mut Scratch<K>, (wanted, first, slots): (&Wanted<'_>, usize, &mut [K])| {
                self.cancellation.check()?;
                Ok(self.of_block(wanted, scratch, slots)?.map(|others| others.into_iter().map(|(index, valid)| (first + index, valid)).collect()))
            };
            pieces.into_par_iter().map_init(scratch, of_block).collect::<Result<Vec<Option<Others>>>>()
        })?;
        let Some(others) = others.into_iter().collect::<Option<Vec<Others>>>() else { return Ok(None) };
        let mut nulls: Vec<usize> = others.into_iter().flatten().filter(|(_, valid)| !valid).map(|(place, _)| place).collect();
        let mut before = i128::MIN;
        let in_order = wanted.iter().all(|wanted| match wanted.rows {
            Rows::Consecutive(first) => std::mem::replace(&mut before, first) < first,
            Rows::Listed(_) => false,
        });
        if !in_order {
            // The rows of different blocks alternate: sort the values by row.
            let numbers: Vec<u64> = wanted.iter().flat_map(Wanted::row_numbers).collect();
            let mut order: Vec<usize> = (0..count).collect();
            order.sort_unstable_by_key(|place| numbers.get(*place).copied());
            found = order.iter().filter_map(|place| found.get(*place).copied()).collect();
            let null: std::collections::HashSet<usize> = nulls.into_iter().collect();
            nulls = order.iter().enumerate().filter(|(_, place)| null.contains(place)).map(|(place, _)| place).collect();
        }
        self.array(found, &nulls).map(Some)
    }

    /// An array of the column's type from the bits of its values.
    fn array<K: Key + ArrowNativeType>(&self, found: Vec<K>, nulls: &[usize]) -> Result<ArrayRef> {
        let count = found.len();
        let valid = (!nulls.is_empty()).then(|| {
            let mut valid = vec![true; count];
            nulls.iter().filter_map(|place| valid.get_mut(*place).map(|valid| *valid = false)).for_each(drop);
            NullBuffer::new(BooleanBuffer::from(valid))
        });
        if self.key_type == KeyType::Boolean {
            let values: BooleanBuffer = found.iter().map(|bits| Into::<u64>::into(*bits) != 0).collect();
            return Ok(std::sync::Arc::new(BooleanArray::new(values, valid)));
        }
        let data_type = self.column.values.column.field().data_type().clone();
        let data = ArrayData::builder(data_type).len(count).add_buffer(Buffer::from_vec(found)).nulls(valid).build();
        Ok(make_array(data.map_err(|error| Error::internal(error.to_string()))?))
    }

    /// The wanted positions of a block, and their rows.
    fn wanted<'a>(&self, entry: &'a BlockEntry) -> Result<Wanted<'a>> {
        let mut marks = Box::new([0u64; CHUNK_WORDS]);
        let mut runs: Vec<(u64, u64, u64)> = Vec::new();
        match consecutive_rows(&entry.region, self.selection) {
            Some(first) => runs.push((0, first, block_elements(&entry.region)?)),
            None => each_run(&entry.region, self.selection, &mut |source, target, count| runs.push((source, target, count))),
        }
        if let [(source, target, count)] = runs.as_slice() {
            let mask = self.rows.mask(*target, usize::try_from(*count).unwrap_or(usize::MAX));
            if *source == 0 {
                let (words, _) = mask.values().as_chunks::<8>();
                marks.iter_mut().zip(words).for_each(|(mark, word)| *mark = u64::from_le_bytes(*word));
            } else {
                let positions = mask.set_indices().map(|place| place + *source as usize);
                positions.for_each(|position| marks[(position / 64) % CHUNK_WORDS] |= 1 << (position % 64));
            }
            let first = i128::from(*target) - i128::from(*source);
            return Ok(Wanted { entry, count: mask.count_set_bits(), marks, rows: Rows::Consecutive(first) });
        }
        let mut rows: Vec<(u64, u16)> = Vec::new();
        for (source, target, count) in runs {
            rows.extend(self.rows.iter_from(target).take_while(|row| *row < target + count).map(|row| (row, (source + (row - target)) as u16)));
        }
        rows.sort_unstable_by_key(|(_, position)| *position);
        rows.iter().for_each(|(_, position)| marks[usize::from(position >> 6)] |= 1 << (position & 63));
        Ok(Wanted { entry, count: rows.len(), marks, rows: Rows::Listed(rows) })
    }

    /// Writes the bits of a block's wanted values to `found`. `None` if the index lacks the values.
    fn of_block<K: Key>(&self, wanted: &Wanted<'_>, scratch: &mut Scratch<K>, found: &mut [K]) -> Result<Option<Others>> {
        let Some((index_file, row)) = self.column.directory.row(wanted.entry).filter(|(_, row)| row.level == Level::Exact) else { return Ok(None) };
        let outcome = self.column.with_ranks(wanted.entry, index_file, row, Level::Exact, |query| {
            let others = if wanted.count >= query.zone.elements() as usize / SCATTER_ALL_DIVISOR {
                scatter(query, 0..query.zone.elements(), scratch, |_| true).map(|(_, others)| others)
            } else {
                scatter_wanted(query, wanted, scratch)
            }?;
            for (position, place) in wanted.positions().zip(found.iter_mut()) {
                let key = *scratch.slots.get(position).ok_or_else(|| Error::internal("a position is outside its block"))?;
                *place = K::from_u64(self.key_type.bits(key.into()));
            }
            let marked = others.into_iter().filter(|(position, _)| is_marked(wanted, *position));
            marked
                .map(|(position, valid)| {
                    let index = index_of(wanted, position);
                    *found.get_mut(index).ok_or_else(truncated)? = K::from_u64(if valid { self.key_type.nan() } else { 0 });
                    Ok((index, valid))
                })
                .collect::<Result<Others>>()
        });
        match outcome {
            Err(error) if error.kind() == ErrorKind::Corrupt => Ok(None),
            outcome => outcome.map(Some),
        }
    }
}

fn is_marked(wanted: &Wanted<'_>, position: u16) -> bool {
    wanted.marks[usize::from(position >> 6)] >> (position & 63) & 1 == 1
}

/// The number of wanted positions before this one.
fn index_of(wanted: &Wanted<'_>, position: u16) -> usize {
    let word = usize::from(position >> 6);
    let before: u32 = wanted.marks.iter().take(word).map(|word| word.count_ones()).sum();
    (before + (wanted.marks[word] & ((1 << (position & 63)) - 1)).count_ones()) as usize
}

/// Copies the keys of a range of ranks to the slots of their positions, if `is_wanted`. Returns the number of wanted positions,
/// and the positions of NaN (true) and null (false) among them.
fn scatter<K: Key>(
    query: &RankQuery<'_>,
    ranks: std::ops::Range<u32>,
    scratch: &mut Scratch<K>,
    is_wanted: impl Fn(u16) -> bool,
) -> Result<(usize, Vec<(u16, bool)>)> {
    let (zone, mut others, mut count) = (query.zone, Vec::new(), 0);
    let positions = query.positions(ranks.clone(), &mut scratch.bytes)?.to_vec();
    let (mut keys, mut group) = ([0; GROUP_KEYS], usize::MAX);
    for (position, rank) in positions.into_iter().map(u16::from_le_bytes).zip(ranks) {
        if !is_wanted(position) {
            continue;
        }
        count += 1;
        if rank >= zone.numbers {
            others.push((position, rank < zone.numbers + zone.nans));
            continue;
        }
        if rank as usize / GROUP_KEYS != group {
            group = rank as usize / GROUP_KEYS;
            query.group(group, &mut keys, &mut scratch.bytes)?;
        }
        *scratch.slots.get_mut(usize::from(position)).ok_or_else(truncated)? = K::from_u64(keys[rank as usize % GROUP_KEYS]);
    }
    Ok((count, others))
}

/// Scatters the keys of the wanted positions only. Searches the order from both ends in turn: wanted values are often the
/// smallest or the largest ones, since the rows often result from a condition on this column.
fn scatter_wanted<K: Key>(query: &RankQuery<'_>, wanted: &Wanted<'_>, scratch: &mut Scratch<K>) -> Result<Vec<(u16, bool)>> {
    let (mut low, mut high) = (0, query.zone.elements());
    let (mut left, mut others, mut from_end) = (wanted.count, Vec::new(), true);
    while left > 0 && low < high {
        // Read whole pages, which are then cached.
        let range = if from_end { ((high - 1) / RANKS_PER_PAGE * RANKS_PER_PAGE).max(low)..high } else { low..high.min(low + RANKS_PER_PAGE) };
        if from_end {
            high = range.start
        } else {
            low = range.end
        }
        from_end = !from_end;
        let (count, more) = scatter(query, range, scratch, |position| is_marked(wanted, position))?;
        left = left.saturating_sub(count);
        others.extend(more);
    }
    if left > 0 { Err(Error::corrupt("a block of the index lacks a position")) } else { Ok(others) }
}
