//! Composite query: which rows of a composite block lie in a box, exactly.
//!
//! Groups outside of the box are skipped, 32 together if possible; groups inside are taken whole; the keys of others are unpacked
//! and compared, of those columns only in which the group lies partly outside.

use std::ops::Range;

use hyperslab_array::{Error, Result};
use hyperslab_predicate::ValueSet;

use super::composite::{COLUMNS, GROUP_ROWS, GROUPS_TOGETHER, HEADER_BYTES, MAX_COLUMNS, START_BYTES, bits_of};
use super::rank_query::{Part, Payload};

/// The wanted values of one column of a composite block: numbers only.
#[derive(Clone, Copy)]
pub(crate) struct Side<'a> {
    /// The column's number.
    column: usize,
    intervals: &'a [(u64, u64)],
    /// The least and the greatest key of all intervals.
    hull: (u64, u64),
}

impl<'a> Side<'a> {
    /// The wanted values of a column; `None` if there are none.
    pub fn new(column: usize, values: &'a ValueSet) -> Option<Self> {
        let intervals = values.intervals();
        Some(Self { column, intervals, hull: (intervals.first()?.0, intervals.last()?.1) })
    }

    /// Whether all keys of an interval are wanted.
    fn has_all(&self, (min, max): (u64, u64)) -> bool {
        match self.intervals {
            [(first, last)] => *first <= min && max <= *last,
            several => several.get(several.partition_point(|(_, last)| *last < min)).is_some_and(|(first, last)| *first <= min && max <= *last),
        }
    }

    fn has(&self, key: u64) -> bool {
        self.has_all((key, key))
    }

    /// One key of a column: `interval` is that key twice.
    pub fn of_key(column: usize, interval: &'a (u64, u64)) -> Self {
        Self { column, intervals: std::slice::from_ref(interval), hull: *interval }
    }
}

/// How many of some rows are in the box, judged by their bounds.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Verdict {
    None,
    All,
    Some,
}

/// A group.
#[derive(Clone, Copy)]
pub(crate) struct Group {
    number: usize,
    /// Its first byte in the packed words.
    start: usize,
    /// From 1 to 64.
    rows: usize,
    /// The columns in which its rows are numbers.
    mask: u8,
}

impl Group {
    /// One bit for each row.
    fn all_rows(&self) -> u64 {
        u64::MAX >> (GROUP_ROWS - self.rows.clamp(1, GROUP_ROWS))
    }

    /// Number of its rows, from 1 to 64.
    pub fn rows(&self) -> usize {
        self.rows
    }

    fn has_column(&self, column: usize) -> bool {
        self.mask >> column & 1 == 1
    }
}

/// Estimated fractions of a block, from 0 to 1.
#[derive(Clone, Copy)]
pub(crate) struct Outlook {
    /// Fraction of the rows that are in the box.
    pub inside: f64,
    /// Fraction of the groups whose keys must be compared.
    pub touched: f64,
    /// Fraction of the rows that pass the narrowest side alone.
    pub narrowest: f64,
}

/// The parts of a composite block that a query needs.
pub(crate) struct CompositeQuery<'a> {
    samples: &'a [u8],
    starts: &'a [u8],
    payload: &'a dyn Payload,
    /// Number of rows of the block.
    elements: u32,
    /// For each column, the offset of its bounds within the bounds of a group, and its width, in bytes.
    places: [(usize, usize); MAX_COLUMNS],
    columns: usize,
    /// Bytes of the bounds of a group.
    stride: usize,
    groups: usize,
}

/// If more than 1/8 of the groups are read, all are read at once.
const MAX_SHARE_READ_BY_GROUP: usize = 8;

/// A group with rows in a box.
pub(crate) struct Found<'a> {
    query: &'a CompositeQuery<'a>,
    group: Group,
    /// One bit for each row of the group that is in the box.
    rows: u64,
}

impl Found<'_> {
    /// Calls `visit` with the positions of the rows. `Corrupt` if they are outside of the block.
    pub fn positions(&self, scratch: &mut Vec<u8>, visit: impl FnMut(u16)) -> Result<()> {
        self.query.positions(&self.group, self.rows, scratch, visit)
    }
}

/// The packed words of a block in memory.
struct Loaded<'a>(&'a [u8]);

impl Payload for Loaded<'_> {
    fn length(&self, part: Part) -> usize {
        if part == Part::Packed { self.0.len() } else { 0 }
    }
    fn bytes<'a>(&'a self, _: Part, range: Range<usize>, _: &'a mut Vec<u8>) -> Result<&'a [u8]> {
        self.0.get(range).ok_or_else(bad)
    }
}

/// Keys of at most this width lie within 8 bytes, wherever they begin in the first one.
const MAX_LOADED_BITS: usize = 57;

fn bad() -> Error {
    Error::corrupt("a composite block of the index is invalid")
}

/// A key of this width.
fn key_at(bytes: &[u8], at: usize, width: usize) -> u64 {
    fn of<const WIDTH: usize>(bytes: &[u8], at: usize) -> Option<[u8; WIDTH]> {
        bytes.get(at..)?.first_chunk().copied()
    }
    match width {
        1 => bytes.get(at).map(|byte| u64::from(*byte)),
        2 => of(bytes, at).map(|bytes| u64::from(u16::from_le_bytes(bytes))),
        4 => of(bytes, at).map(|bytes| u64::from(u32::from_le_bytes(bytes))),
        _ => of(bytes, at).map(u64::from_le_bytes),
    }
    .unwrap_or_default()
}

impl<'a> CompositeQuery<'a> {
    /// A query of a block with `elements` rows and columns of these widths in bytes. `Corrupt` if the parts do not fit.
    pub fn new(samples: &'a [u8], starts: &'a [u8], payload: &'a dyn Payload, elements: u32, widths: &[usize]) -> Result<Self> {
        let (header, rest) = starts.split_at_checked(HEADER_BYTES).ok_or_else(bad)?;
        let stated = header.iter().skip(1).map(|width| usize::from(*width));
        let is_same = COLUMNS.contains(&widths.len()) && header.first().is_some_and(|count| usize::from(*count) == widths.len());
        if !is_same || !stated.take(widths.len()).eq(widths.iter().copied()) || !rest.len().is_multiple_of(START_BYTES) {
            return Err(bad());
        }
        let (mut places, mut stride) = ([(0, 0); MAX_COLUMNS], 0);
        for (place, width) in places.iter_mut().zip(widths) {
            *place = (stride, *width);
            stride += 2 * width;
        }
        let groups = rest.len() / START_BYTES;
        let entries = 1 + groups.div_ceil(GROUPS_TOGETHER) + groups;
        if groups > elements as usize || samples.len() != entries * stride {
            return Err(bad());
        }
        Ok(Self { samples, starts: rest, payload, elements, places, columns: widths.len(), stride, groups })
    }

    /// Number of groups.
    pub fn group_count(&self) -> usize {
        self.groups
    }

    /// A group by its number.
    pub fn group(&self, number: usize) -> Result<Group> {
        let bytes: &[u8; START_BYTES] = self.starts.get(number * START_BYTES..).and_then(<[u8]>::first_chunk).ok_or_else(bad)?;
        let [a, b, c, d, rows, mask] = *bytes;
        let start = usize::try_from(u32::from_le_bytes([a, b, c, d])).ok().and_then(|word| word.checked_mul(8)).ok_or_else(bad)?;
        let rows = usize::from(rows) + 1;
        if rows > GROUP_ROWS || mask == 0 || usize::from(mask) >= 1 << self.columns {
            return Err(bad());
        }
        Ok(Group { number, start, rows, mask })
    }

    /// The bounds of a column in an entry: the block, 32 groups, or a group.
    fn bounds(&self, entry: usize, column: usize) -> (u64, u64) {
        let (place, width) = self.places.get(column).copied().unwrap_or_default();
        let at = entry * self.stride + place;
        (key_at(self.samples, at, width), key_at(self.samples, at + width, width))
    }

    fn entry_of_group(&self, number: usize) -> usize {
        1 + self.groups.div_ceil(GROUPS_TOGETHER) + number
    }

    fn judge(&self, entry: usize, sides: &[Side<'_>]) -> Verdict {
        let mut all = true;
        for side in sides {
            let bounds = self.bounds(entry, side.column);
            if bounds.0 > side.hull.1 || bounds.1 < side.hull.0 {
                return Verdict::None;
            }
            all &= side.has_all(bounds);
        }
        if all { Verdict::All } else { Verdict::Some }
    }

    /// Whether no row can be in the box.
    pub fn is_outside(&self, sides: &[Side<'_>]) -> bool {
        self.groups == 0 || self.judge(0, sides) == Verdict::None
    }

    /// Whether all rows with numbers in the sides' columns are in the box.
    pub fn is_inside(&self, sides: &[Side<'_>]) -> bool {
        self.groups > 0 && self.judge(0, sides) == Verdict::All
    }

    /// Calls `visit` with each group that has rows in the box, one bit for each of its rows that is, and the query that it reads
    /// positions with. `with_positions` says whether it does so.
    pub fn each(
        &self,
        sides: &[Side<'_>],
        with_positions: bool,
        scratch: &mut Vec<u8>,
        visit: impl FnMut(Found<'_>, &mut Vec<u8>) -> Result<()>,
    ) -> Result<()> {
        if self.is_outside(sides) {
            return Ok(());
        }
        if self.groups_to_read(sides, with_positions) * MAX_SHARE_READ_BY_GROUP <= self.groups {
            return self.each_group(sides, scratch, visit);
        }
        // The buffer is kept for the next block; words in memory need none.
        let mut whole = std::mem::take(scratch);
        let bytes = self.payload.bytes(Part::Packed, 0..self.payload.length(Part::Packed), &mut whole)?;
        CompositeQuery { payload: &Loaded(bytes), ..*self }.each_group(sides, &mut Vec::new(), visit)?;
        *scratch = whole;
        Ok(())
    }

    /// About how many groups are read for a box.
    fn groups_to_read(&self, sides: &[Side<'_>], with_positions: bool) -> usize {
        let is_read = |verdict: Verdict| verdict == Verdict::Some || (with_positions && verdict == Verdict::All);
        let touched = (0..self.groups.div_ceil(GROUPS_TOGETHER)).filter(|together| self.judge(1 + together, sides) != Verdict::None).count();
        if touched * GROUPS_TOGETHER * MAX_SHARE_READ_BY_GROUP <= self.groups {
            return 0;
        }
        (0..self.groups).filter(|number| is_read(self.judge(self.entry_of_group(*number), sides))).count()
    }

    fn each_group(&self, sides: &[Side<'_>], scratch: &mut Vec<u8>, mut visit: impl FnMut(Found<'_>, &mut Vec<u8>) -> Result<()>) -> Result<()> {
        let needed = sides.iter().fold(0u8, |mask, side| mask | 1 << side.column);
        for together in 0..self.groups.div_ceil(GROUPS_TOGETHER) {
            let verdict = self.judge(1 + together, sides);
            if verdict == Verdict::None {
                continue;
            }
            for number in together * GROUPS_TOGETHER..((together + 1) * GROUPS_TOGETHER).min(self.groups) {
                let verdict = if verdict == Verdict::All { verdict } else { self.judge(self.entry_of_group(number), sides) };
                if verdict == Verdict::None {
                    continue;
                }
                let group = self.group(number)?;
                if group.mask & needed != needed {
                    continue;
                }
                let rows = if verdict == Verdict::All { group.all_rows() } else { self.rows_inside(&group, sides, scratch)? };
                if rows != 0 {
                    visit(Found { query: self, group, rows }, scratch)?;
                }
            }
        }
        Ok(())
    }

    /// Number of rows in the box.
    pub fn count(&self, sides: &[Side<'_>], scratch: &mut Vec<u8>) -> Result<u64> {
        let mut count = 0;
        self.each(sides, false, scratch, |found, _| {
            count += u64::from(found.rows.count_ones());
            Ok(())
        })?;
        if count > u64::from(self.elements) { Err(bad()) } else { Ok(count) }
    }

    /// The words of a group: where its bytes are in the packed words, and for each column where its keys are among these bytes.
    fn words_of(&self, group: &Group) -> Result<(Range<usize>, [Range<usize>; MAX_COLUMNS])> {
        let mut at = group.rows.div_ceil(4) * 8;
        let entry = self.entry_of_group(group.number);
        let places = std::array::from_fn(|column| {
            let bits = if column < self.columns && group.has_column(column) { bits_of(self.bounds(entry, column)) } else { 0 };
            let begin = at;
            at += bits * 8;
            begin..at
        });
        Ok((group.start..group.start.checked_add(at).ok_or_else(bad)?, places))
    }

    /// One bit for each row of a group that is in the box.
    fn rows_inside(&self, group: &Group, sides: &[Side<'_>], scratch: &mut Vec<u8>) -> Result<u64> {
        let (range, places) = self.words_of(group)?;
        let bytes = self.payload.bytes(Part::Packed, range, scratch)?;
        let entry = self.entry_of_group(group.number);
        let mut inside = group.all_rows();
        for side in sides {
            let bounds = self.bounds(entry, side.column);
            if side.has_all(bounds) {
                continue;
            }
            let words = places.get(side.column).and_then(|place| bytes.get(place.clone())).ok_or_else(bad)?;
            inside &= passing(words, bounds.0, side);
            if inside == 0 {
                break;
            }
        }
        Ok(inside)
    }

    /// Calls `visit` with the position of each row of a group whose bit is set. `Corrupt` if positions are outside of the block.
    pub fn positions(&self, group: &Group, mut bits: u64, scratch: &mut Vec<u8>, mut visit: impl FnMut(u16)) -> Result<()> {
        let bytes = self.payload.bytes(Part::Packed, group.start..group.start + group.rows * 2, scratch)?;
        let positions = bytes.as_chunks::<2>().0;
        let mut last = 0;
        let mut add = |position: &[u8; 2]| {
            let position = u16::from_le_bytes(*position);
            last = last.max(position);
            visit(position);
        };
        if bits == group.all_rows() {
            positions.iter().for_each(add);
        } else {
            while bits != 0 {
                add(positions.get(bits.trailing_zeros() as usize).ok_or_else(bad)?);
                bits &= bits - 1;
            }
        }
        if u32::from(last) < self.elements { Ok(()) } else { Err(bad()) }
    }

    /// What a box takes, and how many rows are in it, by bounds alone: as if keys were spread evenly in each group.
    pub fn outlook(&self, sides: &[Side<'_>]) -> Outlook {
        let (mut inside, mut touched, mut narrow) = (0.0, 0usize, vec![0.0; sides.len()]);
        for number in 0..self.groups {
            let entry = self.entry_of_group(number);
            let (mut all, mut is_partial) = (1.0, false);
            for (side, sum) in sides.iter().zip(&mut narrow) {
                let (min, max) = self.bounds(entry, side.column);
                let (first, last) = (min.max(side.hull.0), max.min(side.hull.1));
                let share = if first > last { 0.0 } else { ((last - first) as f64 + 1.0) / (max.saturating_sub(min) as f64 + 1.0) };
                is_partial |= share < 1.0;
                *sum += share;
                all *= share;
            }
            inside += all;
            touched += usize::from(is_partial && all > 0.0);
        }
        let of_all = |count: f64| count / (self.groups.max(1) as f64);
        Outlook { inside: of_all(inside), touched: of_all(touched as f64), narrowest: of_all(narrow.into_iter().fold(f64::INFINITY, f64::min)) }
    }

    /// The key of one row of a group in each column; `None` where it is NaN or null.
    pub fn keys_of(&self, group: &Group, row: usize, scratch: &mut Vec<u8>) -> Result<Vec<Option<u64>>> {
        let (range, places) = self.words_of(group)?;
        let bytes = self.payload.bytes(Part::Packed, range, scratch)?;
        let entry = self.entry_of_group(group.number);
        let keys = places.iter().enumerate().take(self.columns).map(|(column, place)| {
            if !group.has_column(column) {
                return Ok(None);
            }
            let mut keys = [0; GROUP_ROWS];
            unpack(bytes.get(place.clone()).ok_or_else(bad)?, &mut keys);
            let least = self.bounds(entry, column).0;
            Ok(keys.get(row).map(|key| least.wrapping_add(*key)))
        });
        keys.collect()
    }
}

/// Unpacks the differences of a group.
fn unpack(words: &[u8], keys: &mut [u64; GROUP_ROWS]) {
    let width = (words.len() / 8).min(64);
    let mut buffer = [0u64; 65];
    for (slot, word) in buffer.iter_mut().zip(words.as_chunks::<8>().0.iter().take(64)) {
        *slot = u64::from_le_bytes(*word);
    }
    let mask = if width >= 64 { u64::MAX } else { (1u64 << width) - 1 };
    for (index, slot) in keys.iter_mut().enumerate() {
        let bit = index * width;
        let (word, shift) = ((bit / 64).min(63), bit % 64);
        // Shifted twice, so that a shift of 0 leaves nothing of the next word.
        *slot = ((buffer[word] >> shift) | (buffer[word + 1] << (63 - shift) << 1)) & mask;
    }
}

/// One bit for each key that a side has; `least` is the least key of the group.
fn passing(words: &[u8], least: u64, side: &Side<'_>) -> u64 {
    let [(first, last)] = side.intervals else {
        let mut keys = [0; GROUP_ROWS];
        unpack(words, &mut keys);
        return keys.iter().rev().fold(0, |bits, key| bits << 1 | u64::from(side.has(least.wrapping_add(*key))));
    };
    let first = first.saturating_sub(least);
    // The group has keys that are wanted, or may have.
    let Some(span) = last.checked_sub(least).and_then(|last| last.checked_sub(first)) else { return 0 };
    let width = words.len() / 8;
    if width > MAX_LOADED_BITS {
        let mut keys = [0; GROUP_ROWS];
        unpack(words, &mut keys);
        return keys.iter().rev().fold(0, |bits, key| bits << 1 | u64::from(key.wrapping_sub(first) <= span));
    }
    // Each 8 keys begin with a byte, and each key is within 8 bytes.
    let mut bytes = [0u8; (MAX_LOADED_BITS + 1) * 8];
    if let Some(place) = bytes.get_mut(..words.len()) {
        place.copy_from_slice(words);
    }
    let mask = (1u64 << width) - 1;
    let places: [(usize, usize); 8] = std::array::from_fn(|key| (key * width / 8, key * width % 8));
    let mut bits = 0u64;
    for eight in 0..8 {
        let mut here = 0;
        for (key, (byte, shift)) in places.iter().enumerate() {
            let at = eight * width + byte;
            let word = bytes.get(at..).and_then(<[u8]>::first_chunk).map_or(0, |bytes| u64::from_le_bytes(*bytes));
            let key_at = word >> shift & mask;
            here |= u64::from(key_at.wrapping_sub(first) <= span) << key;
        }
        bits |= here << (8 * eight);
    }
    bits
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    use arrow_array::{ArrayRef, Float32Array, Float64Array, Int16Array, UInt64Array};
    use hyperslab_predicate::KeyType;
    use hyperslab_scan::pruner::Level;
    use proptest::prelude::*;

    use crate::block::block_builder::{Block, Builder};
    use crate::block::composite::{KeyColumn, build_block};

    fn fail(error: Error) -> TestCaseError {
        TestCaseError::fail(error.to_string())
    }

    fn widths(arrays: &[ArrayRef]) -> Vec<usize> {
        arrays.iter().filter_map(|array| KeyType::of(array.data_type())).map(KeyType::width).collect()
    }

    fn query<'a>(block: &'a Block, rows: usize, widths: &[usize]) -> Result<CompositeQuery<'a>> {
        CompositeQuery::new(&block.samples, &block.starts, block, rows as u32, widths)
    }

    /// The positions of a box, sorted.
    fn positions(query: &CompositeQuery<'_>, sides: &[Side<'_>]) -> Result<Vec<u16>> {
        let mut found = Vec::new();
        query.each(sides, true, &mut Vec::new(), |group, scratch| group.positions(scratch, |position| found.push(position)))?;
        found.sort_unstable();
        Ok(found)
    }

    /// Asks a box with these key intervals of each column (none for all), and compares with a look at every row.
    fn check(arrays: &[ArrayRef], boxes: &[Vec<Vec<(u64, u64)>>]) -> Result<()> {
        let block = build_block(&mut Builder::default(), arrays, Level::Composite)?;
        let rows = arrays.first().map_or(0, |array| array.len());
        let columns = arrays.iter().map(KeyColumn::of).collect::<Result<Vec<_>>>()?;
        let query = query(&block, rows, &widths(arrays))?;
        for wanted in boxes {
            let sides: Vec<Side<'_>> = wanted
                .iter()
                .enumerate()
                .filter_map(|(column, intervals)| Some(Side { column, intervals, hull: (intervals.first()?.0, intervals.last()?.1) }))
                .collect();
            let is_in = |row: usize| {
                sides.iter().all(|side| {
                    let key = columns.get(side.column).and_then(|column| column.keys.get(row).copied().flatten());
                    key.is_some_and(|key| side.intervals.iter().any(|(first, last)| *first <= key && key <= *last))
                })
            };
            let some = |row: usize| columns.iter().any(|column| column.keys.get(row).is_some_and(Option::is_some));
            let expected: Vec<u16> = (0..rows).filter(|row| is_in(*row) && (!sides.is_empty() || some(*row))).map(|row| row as u16).collect();
            let count = query.count(&sides, &mut Vec::new())?;
            if positions(&query, &sides)? != expected || count != expected.len() as u64 {
                return Err(Error::internal(format!("{wanted:?}: {count} instead of {}", expected.len())));
            }
        }
        Ok(())
    }

    /// Intervals around keys of a column, and some between.
    fn intervals(array: &ArrayRef, picks: &[prop::sample::Index], several: bool) -> Vec<(u64, u64)> {
        let Some(keys) = KeyColumn::of(array).ok().map(|column| column.keys.into_iter().flatten().collect::<Vec<u64>>()) else { return Vec::new() };
        if keys.is_empty() {
            return vec![(0, 10)];
        }
        let mut ends: Vec<u64> = picks.iter().map(|pick| *pick.get(&keys)).collect();
        ends.sort_unstable();
        ends.dedup();
        let pairs: Vec<(u64, u64)> = ends.chunks(2).filter_map(|pair| Some((*pair.first()?, *pair.last()?))).collect();
        if several { pairs } else { pairs.first().into_iter().zip(pairs.last()).map(|(first, last)| (first.0, last.1)).collect() }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn boxes_have_the_rows_of_a_look_at_each(
            rows in prop_oneof![0usize..70, 2000usize..2200],
            seed in any::<u64>(), bits in 0u32..60, shape in 0..4,
            picks in proptest::collection::vec(proptest::collection::vec(any::<prop::sample::Index>(), 0..5), 12),
            several: bool,
        ) {
            let mut state = seed | 1;
            let mut next = move || { state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407); state ^ state >> 29 };
            let special = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -0.0, 0.0];
            let floats: Vec<f32> = (0..rows).map(|_| { let n = next(); if n % 19 == 0 { special[(n / 19 % 5) as usize] } else { (n >> 40) as f32 / 1e4 } }).collect();
            let doubles: Vec<Option<f64>> = (0..rows).map(|_| { let n = next(); (n % 7 > 0).then_some((n >> 30) as f64 - 1e9) }).collect();
            let wide: Vec<u64> = (0..rows).map(|_| next() >> bits).collect();
            let short: Vec<i16> = (0..rows).map(|row| if shape == 0 { 3 } else { (row / 50) as i16 - 20 }).collect();
            let all: Vec<ArrayRef> = vec![Arc::new(Float32Array::from(floats)), Arc::new(Float64Array::from(doubles)), Arc::new(UInt64Array::from(wide)), Arc::new(Int16Array::from(short))];
            let arrays: Vec<ArrayRef> = all.into_iter().skip(usize::from(shape == 3)).take(2 + shape as usize % 3).collect();
            let boxes: Vec<Vec<Vec<(u64, u64)>>> = picks.chunks(4).map(|picks| arrays.iter().zip(picks).map(|(array, picks)| intervals(array, picks, several)).collect()).collect();
            check(&arrays, &boxes).map_err(fail)?;
        }

        /// Any bytes: an error, or some answer of positions in the block, and no panic.
        #[test]
        fn hostile_parts_do_no_harm(place in any::<prop::sample::Index>(), bytes in proptest::collection::vec(any::<u8>(), 1..9), part in 0..3, cut in any::<bool>()) {
            let x: ArrayRef = Arc::new(Float32Array::from_iter_values((0..5000).map(|n| (n * 7919 % 5000) as f32)));
            let y: ArrayRef = Arc::new(UInt64Array::from_iter_values((0..5000).map(|n| n * 104_729 % 5003 * 1_000_003)));
            let arrays = [x, y];
            let mut block = build_block(&mut Builder::default(), &arrays, Level::Composite).map_err(fail)?;
            let damage = |old: &[u8]| {
                let mut new = old.to_vec();
                let place = place.index(new.len());
                if cut { new.truncate(place) } else { new.iter_mut().skip(place).zip(&bytes).for_each(|(to, from)| *to = *from) }
                new
            };
            match part {
                0 => block.starts = damage(&block.starts),
                1 => block.samples = damage(&block.samples),
                _ => block.packed = damage(&block.packed).into(),
            }
            let Ok(query) = query(&block, 5000, &widths(&arrays)) else { return Ok(()) };
            for end in [0, 1 << 20, u64::MAX / 2, u64::MAX] {
                for first in [0, 1 << 31, 1 << 33] {
                    let (x, y) = ((first, end.max(first)), (0, end));
                    let sides = [Side::of_key(0, &x), Side::of_key(1, &y)];
                    if let Ok(found) = positions(&query, &sides) {
                        prop_assert!(found.iter().all(|position| *position < 5000));
                    }
                    let _ = query.count(&sides, &mut Vec::new());
                }
            }
            for number in 0..query.group_count() {
                if let Ok(group) = query.group(number) {
                    let _ = query.keys_of(&group, 63, &mut Vec::new());
                }
            }
        }
    }

    #[test]
    fn parts_of_other_columns_are_refused() -> Result<()> {
        let x: ArrayRef = Arc::new(Float32Array::from(vec![1.0, 2.0]));
        let y: ArrayRef = Arc::new(Float64Array::from(vec![1.0, 2.0]));
        let block = build_block(&mut Builder::default(), &[x.clone(), y.clone()], Level::Composite)?;
        assert!(query(&block, 2, &[4, 8]).is_ok());
        assert!(query(&block, 2, &[8, 4]).is_err() && query(&block, 2, &[4, 8, 8]).is_err() && query(&block, 0, &[4, 8]).is_err());
        assert!(build_block(&mut Builder::default(), &[x], Level::Composite).is_err());
        Ok(())
    }
}
