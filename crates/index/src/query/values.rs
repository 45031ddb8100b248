//! Values: what an index of level `Exact` gives back of the data.
//!
//! First it is told for each block which of its positions are wanted, so that all know where their values go; then each
//! block puts its keys to their positions, and takes those that are wanted in order.

use arrow_array::{ArrayRef, BooleanArray, make_array};
use arrow_buffer::{ArrowNativeType, BooleanBuffer, Buffer, NullBuffer};
use arrow_data::ArrayData;
use hyperslab_array::{Cancellation, Error, ErrorKind, Result, Selection};
use hyperslab_predicate::KeyType;
use hyperslab_scan::pruner::{CHUNK_WORDS, Level, RowSelection};
use rayon::prelude::*;

use crate::build::block_keys::Key;
use crate::store::index_file::PAGE_BYTES;
use crate::store::packed_keys::GROUP;
use super::block_directory::Entry;
use super::column::IndexedColumn;
use super::matching_rows::{each_run, whole_run};
use super::rank_query::{Ranked, cut_short};

/// One in so many values of a block: where more are wanted, all are put to their positions.
const MANY: usize = 8;
/// Ranks that are looked at in one go: a page of them.
const RANKS_AT_ONCE: u32 = (PAGE_BYTES / 2) as u32;

/// The positions of a block that are wanted.
struct Wanted<'a> {
    entry: &'a Entry,
    marks: Box<[u64; CHUNK_WORDS]>,
    count: usize,
    rows: Rows,
}

/// The numbers of the rows that wanted positions are.
enum Rows {
    /// That of the block's first position, if it were a row: the others follow it.
    Following(i128),
    /// Each, and the position, by position.
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

    /// The rows, by position.
    fn numbers(&self) -> Vec<u64> {
        match &self.rows {
            Rows::Following(first) => self.positions().filter_map(|position| u64::try_from(first + position as i128).ok()).collect(),
            Rows::Listed(rows) => rows.iter().map(|(row, _)| *row).collect(),
        }
    }
}

/// Memory of one thread.
struct Scratch<K> {
    bytes: Vec<u8>,
    /// What is at each position of a block; elsewhere what was there for another block.
    slots: Vec<K>,
}

/// What a block has that is no number: places among its values that are wanted, and whether they are not null.
type Others = Vec<(usize, bool)>;

/// The values of rows in order; `None` where a block has none.
pub(crate) fn values(column: &IndexedColumn, selection: &Selection, rows: &RowSelection, cancellation: &Cancellation) -> Result<Option<ArrayRef>> {
    let Some(key_type) = column.key_type else { return Ok(None) };
    let values = PooledBuffer { column, selection, rows, cancellation, key_type };
    match key_type.width() {
        1 => values.read::<u8>(),
        2 => values.read::<u16>(),
        4 => values.read::<u32>(),
        _ => values.read::<u64>(),
    }
}

struct PooledBuffer<'a> {
    column: &'a IndexedColumn,
    selection: &'a Selection,
    rows: &'a RowSelection,
    cancellation: &'a Cancellation,
    key_type: KeyType,
}

impl PooledBuffer<'_> {
    fn read<K: Key + ArrowNativeType>(&self) -> Result<Option<ArrayRef>> {
        let entries = self.column.table.touched(self.selection)?;
        let session = self.column.file.session();
        let wanted: Vec<Wanted<'_>> = session.compute(|| Ok(entries.par_iter().map(|entry| self.wanted(entry)).filter(|wanted| wanted.count > 0).collect()))?;
        let count = wanted.iter().map(|wanted| wanted.count).sum::<usize>();
        if count as u64 != self.rows.len() {
            return Err(Error::invalid_input("rows beyond the selection"));
        }
        let mut found = vec![K::default(); count];
        let mut pieces = Vec::with_capacity(wanted.len());
        let (mut rest, mut first) = (found.as_mut_slice(), 0);
        for wanted in &wanted {
            let (mine, others) = std::mem::take(&mut rest).split_at_mut_checked(wanted.count).ok_or_else(|| Error::internal("values beyond their array"))?;
            pieces.push((wanted, first, mine));
            (rest, first) = (others, first + wanted.count);
        }
        let others = session.compute(|| {
            let scratch = || Scratch { bytes: Vec::new(), slots: vec![K::default(); CHUNK_WORDS * 64] };
            let of_block = |scratch: &mut Scratch<K>, (wanted, first, slots): (&Wanted<'_>, usize, &mut [K])| {
                self.cancellation.check()?;
                Ok(self.of_block(wanted, scratch, slots)?.map(|others| others.into_iter().map(|(place, valid)| (first + place, valid)).collect()))
            };
            pieces.into_par_iter().map_init(scratch, of_block).collect::<Result<Vec<Option<Others>>>>()
        })?;
        let Some(others) = others.into_iter().collect::<Option<Vec<Others>>>() else { return Ok(None) };
        let mut nulls: Vec<usize> = others.into_iter().flatten().filter(|(_, valid)| !valid).map(|(place, _)| place).collect();
        let mut before = i128::MIN;
        let in_order = wanted.iter().all(|wanted| match wanted.rows {
            Rows::Following(first) => std::mem::replace(&mut before, first) < first,
            Rows::Listed(_) => false,
        });
        if !in_order {
            // Blocks lie across the rows: their values are put into order.
            let numbers: Vec<u64> = wanted.iter().flat_map(Wanted::numbers).collect();
            let mut order: Vec<usize> = (0..count).collect();
            order.sort_unstable_by_key(|place| numbers.get(*place).copied());
            found = order.iter().filter_map(|place| found.get(*place).copied()).collect();
            let null: std::collections::HashSet<usize> = nulls.into_iter().collect();
            nulls = order.iter().enumerate().filter(|(_, place)| null.contains(place)).map(|(place, _)| place).collect();
        }
        self.array(found, &nulls).map(Some)
    }

    /// An array of the column's type with these bits of values.
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
        let data_type = self.column.column.field().data_type().clone();
        let data = ArrayData::builder(data_type).len(count).add_buffer(Buffer::from_vec(found)).nulls(valid).build();
        Ok(make_array(data.map_err(|error| Error::internal(error.to_string()))?))
    }

    fn wanted<'a>(&self, entry: &'a Entry) -> Wanted<'a> {
        let mut marks = Box::new([0u64; CHUNK_WORDS]);
        let mut runs: Vec<(u64, u64, u64)> = Vec::new();
        match whole_run(&entry.place, self.selection) {
            Some(first) => runs.push((0, first, entry.place.elements())),
            None => each_run(&entry.place, self.selection, &mut |source, target, count| runs.push((source, target, count))),
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
            return Wanted { entry, count: mask.count_set_bits(), marks, rows: Rows::Following(first) };
        }
        let mut rows: Vec<(u64, u16)> = Vec::new();
        for (source, target, count) in runs {
            rows.extend(self.rows.iter_from(target).take_while(|row| *row < target + count).map(|row| (row, (source + (row - target)) as u16)));
        }
        rows.sort_unstable_by_key(|(_, position)| *position);
        rows.iter().for_each(|(_, position)| marks[usize::from(position >> 6)] |= 1 << (position & 63));
        Wanted { entry, count: rows.len(), marks, rows: Rows::Listed(rows) }
    }

    /// Puts the values of a block into `found`, as bits; `None` where the index has them not.
    fn of_block<K: Key>(&self, wanted: &Wanted<'_>, scratch: &mut Scratch<K>, found: &mut [K]) -> Result<Option<Others>> {
        let Some((segment, row)) = self.column.table.row(wanted.entry).filter(|(_, row)| row.level == Level::Exact) else { return Ok(None) };
        let outcome = self.column.with_ranks(wanted.entry, segment, row, Level::Exact, |ranked| {
            let others = if wanted.count >= ranked.zone.elements() as usize / MANY {
                put(ranked, 0..ranked.zone.elements(), scratch, |_| true).map(|(_, others)| others)
            } else {
                few(ranked, wanted, scratch)
            }?;
            for (position, place) in wanted.positions().zip(found.iter_mut()) {
                let key = scratch.slots.get(position).copied().unwrap_or_default();
                *place = K::from_u64(self.key_type.bits(key.into()));
            }
            let marked = others.into_iter().filter(|(position, _)| is_marked(wanted, *position));
            marked.map(|(position, valid)| {
                let place = rank_of(wanted, position);
                *found.get_mut(place).ok_or_else(cut_short)? = K::from_u64(if valid { self.key_type.nan() } else { 0 });
                Ok((place, valid))
            }).collect::<Result<Others>>()
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

/// How many wanted positions come before this one.
fn rank_of(wanted: &Wanted<'_>, position: u16) -> usize {
    let word = usize::from(position >> 6);
    let before: u32 = wanted.marks.iter().take(word).map(|word| word.count_ones()).sum();
    (before + (wanted.marks[word] & ((1 << (position & 63)) - 1)).count_ones()) as usize
}

/// Puts the keys with these ranks to their positions, those that `is_asked` for at least; how many it asked for, and the
/// positions of NaN and null among these.
fn put<K: Key>(ranked: &Ranked<'_>, ranks: std::ops::Range<u32>, scratch: &mut Scratch<K>, is_asked: impl Fn(u16) -> bool) -> Result<(usize, Vec<(u16, bool)>)> {
    let (zone, mut others, mut asked) = (ranked.zone, Vec::new(), 0);
    let positions = ranked.positions(ranks.clone(), &mut scratch.bytes)?.to_vec();
    let (mut keys, mut group) = ([0; GROUP], usize::MAX);
    for (position, rank) in positions.into_iter().map(u16::from_le_bytes).zip(ranks) {
        if !is_asked(position) {
            continue;
        }
        asked += 1;
        if rank >= zone.numbers {
            others.push((position, rank < zone.numbers + zone.nans));
            continue;
        }
        if rank as usize / GROUP != group {
            group = rank as usize / GROUP;
            ranked.group(group, &mut keys, &mut scratch.bytes)?;
        }
        *scratch.slots.get_mut(usize::from(position)).ok_or_else(cut_short)? = K::from_u64(keys[rank as usize % GROUP]);
    }
    Ok((asked, others))
}

/// Few keys: looked for from both ends of the order, for a condition on these values has asked for one of them, often.
fn few<K: Key>(ranked: &Ranked<'_>, wanted: &Wanted<'_>, scratch: &mut Scratch<K>) -> Result<Vec<(u16, bool)>> {
    let (mut low, mut high) = (0, ranked.zone.elements());
    let (mut left, mut others, mut from_end) = (wanted.count, Vec::new(), true);
    while left > 0 && low < high {
        // Whole pages, so that they are in memory the next time.
        let range = if from_end { ((high - 1) / RANKS_AT_ONCE * RANKS_AT_ONCE).max(low)..high } else { low..high.min(low + RANKS_AT_ONCE) };
        if from_end { high = range.start } else { low = range.end }
        from_end = !from_end;
        let (asked, more) = put(ranked, range, scratch, |position| is_marked(wanted, position))?;
        left = left.saturating_sub(asked);
        others.extend(more);
    }
    if left > 0 { Err(Error::corrupt("a position that is not in the index")) } else { Ok(others) }
}
