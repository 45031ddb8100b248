//! Sets of row numbers, in chunks of 65,536 rows. Each chunk is full, a list, or a bitmap.

use arrow_array::BooleanArray;
use arrow_buffer::{BooleanBuffer, Buffer};
use hyperslab_array::{Error, Result};
use hyperslab_reader::{PooledBuffer, Session};
use rayon::prelude::*;

/// Words of a chunk's bitmap.
pub const CHUNK_WORDS: usize = 1024;
/// Row numbers that a chunk covers.
pub const CHUNK_ROWS: u64 = 1 << 16;
/// Maximum number of rows in a chunk that are stored as a list; more are stored as a bitmap.
pub const MAX_LISTED_ROWS: usize = 512;

/// A non-empty set of the 65,536 rows of a chunk. The variant depends on the number of rows alone.
#[derive(Debug, Clone, PartialEq)]
enum Chunk {
    All,
    /// In increasing order; from 1 to [`MAX_LISTED_ROWS`].
    Listed(Vec<u16>),
    /// The bitmap, and the number of set bits.
    Bits(Box<[u64; CHUNK_WORDS]>, u32),
}

fn too_many() -> Error {
    Error::limit_exceeded("the rows exceed memory")
}

impl Chunk {
    /// The rows whose bits are set; `None` if there are none.
    fn of_bits(bits: Box<[u64; CHUNK_WORDS]>) -> Option<Self> {
        let count: u32 = bits.iter().map(|word| word.count_ones()).sum();
        Some(match count {
            0 => return None,
            65_536 => Self::All,
            count if count as usize <= MAX_LISTED_ROWS => Self::Listed(ones(&bits, 0).collect()),
            _ => Self::Bits(bits, count),
        })
    }
    fn len(&self) -> usize {
        match self {
            Self::All => CHUNK_ROWS as usize,
            Self::Listed(rows) => rows.len(),
            Self::Bits(_, count) => *count as usize,
        }
    }
    fn bits(&self) -> Box<[u64; CHUNK_WORDS]> {
        let mut bits = Box::new([0; CHUNK_WORDS]);
        match self {
            Self::All => bits.fill(u64::MAX),
            Self::Listed(rows) => rows.iter().for_each(|row| bits[usize::from(row >> 6)] |= 1 << (row & 63)),
            Self::Bits(mine, _) => return mine.clone(),
        }
        bits
    }
    fn contains(&self, row: u16) -> bool {
        match self {
            Self::All => true,
            Self::Listed(rows) => rows.binary_search(&row).is_ok(),
            Self::Bits(bits, _) => bits[usize::from(row >> 6)] >> (row & 63) & 1 == 1,
        }
    }
    /// Combines the bitmaps word by word.
    fn with(&self, other: &Self, of: impl Fn(u64, u64) -> u64) -> Option<Self> {
        let mut bits = self.bits();
        bits.iter_mut().zip(other.bits().iter()).for_each(|(mine, other)| *mine = of(*mine, *other));
        Self::of_bits(bits)
    }
    fn kept(rows: &[u16], keep: impl Fn(u16) -> bool) -> Option<Self> {
        let rows: Vec<u16> = rows.iter().copied().filter(|row| keep(*row)).collect();
        (!rows.is_empty()).then_some(Self::Listed(rows))
    }
    fn and(&self, other: &Self) -> Option<Self> {
        match (self, other) {
            (Self::All, any) | (any, Self::All) => Some(any.clone()),
            (Self::Listed(rows), other) | (other, Self::Listed(rows)) => Self::kept(rows, |row| other.contains(row)),
            _ => self.with(other, |a, b| a & b),
        }
    }
    fn and_not(&self, other: &Self) -> Option<Self> {
        match self {
            Self::Listed(rows) => Self::kept(rows, |row| !other.contains(row)),
            _ => self.with(other, |a, b| a & !b),
        }
    }
    fn or(&self, other: &Self) -> Option<Self> {
        match (self, other) {
            (Self::All, _) | (_, Self::All) => Some(Self::All),
            _ => self.with(other, |a, b| a | b),
        }
    }
    /// The row numbers in the set from `from` on, in increasing order; this is the chunk at `index`.
    fn iter(&self, index: u64, from: u64) -> Box<dyn Iterator<Item = u64> + '_> {
        let first = index * CHUNK_ROWS;
        let skipped = from.saturating_sub(first).min(CHUNK_ROWS);
        match self {
            Self::All => Box::new(first + skipped..first + CHUNK_ROWS),
            Self::Listed(rows) => {
                let begin = rows.partition_point(|row| u64::from(*row) < skipped);
                Box::new(rows.iter().skip(begin).map(move |row| first + u64::from(*row)))
            }
            Self::Bits(bits, _) => Box::new(ones(bits, (skipped / 64) as usize).map(move |row| first + u64::from(row)).skip_while(move |row| *row < from)),
        }
    }
    /// Writes `of(row)` for each row in increasing order; there are as many slots as rows. `None` if not.
    fn write<T>(&self, index: u64, slots: &mut [T], of: impl Fn(u64) -> T) -> Option<()> {
        let mut first = index * CHUNK_ROWS;
        match self {
            Self::All => slots.iter_mut().zip(first..).for_each(|(slot, row)| *slot = of(row)),
            Self::Listed(rows) => slots.iter_mut().zip(rows).for_each(|(slot, row)| *slot = of(first + u64::from(*row))),
            Self::Bits(bits, _) => {
                let mut next = 0;
                for word in bits.iter() {
                    if *word == 0 {
                        first += 64;
                        continue;
                    }
                    let (mut left, count) = (*word, word.count_ones() as usize);
                    let slots = slots.get_mut(next..next + count)?;
                    if count == 64 {
                        slots.iter_mut().zip(first..).for_each(|(slot, row)| *slot = of(row));
                    } else {
                        for slot in slots {
                            *slot = of(first + u64::from(left.trailing_zeros()));
                            left &= left.wrapping_sub(1);
                        }
                    }
                    next += count;
                    first += 64;
                }
                (next == slots.len()).then_some(())?;
            }
        }
        Some(())
    }
}

/// Positions of the bits that are set, from word `from` on.
fn ones(bits: &[u64; CHUNK_WORDS], from: usize) -> impl Iterator<Item = u16> + '_ {
    bits.iter().zip(0u16..).skip(from).flat_map(|(word, index)| {
        let mut left = *word;
        std::iter::from_fn(move || {
            let bit = (left != 0).then(|| left.trailing_zeros() as u16)?;
            left &= left - 1;
            Some(index * 64 + bit)
        })
    })
}

/// The rows of a set within one chunk of 65,536 rows.
pub struct Piece<'a> {
    /// First row number of the chunk.
    pub first: u64,
    /// Number of rows; at least one.
    pub count: usize,
    /// The rows.
    pub rows: PieceRows<'a>,
}

impl Piece<'_> {
    /// The row numbers, in increasing order.
    pub fn row_numbers(&self) -> Box<dyn Iterator<Item = u64> + '_> {
        match self.rows {
            PieceRows::All => Box::new(self.first..self.first + CHUNK_ROWS),
            PieceRows::Listed(rows) => Box::new(rows.iter().map(|row| self.first + u64::from(*row))),
            PieceRows::Bits(bits) => Box::new(ones(bits, 0).map(|row| self.first + u64::from(row))),
        }
    }
}

/// The rows of a piece, relative to the chunk's first row.
#[expect(clippy::exhaustive_enums, reason = "readers copy each form in a way of its own")]
pub enum PieceRows<'a> {
    /// Every row.
    All,
    /// These rows, in increasing order.
    Listed(&'a [u16]),
    /// The rows whose bits are set, from the lowest bit of the first word.
    Bits(&'a [u64; CHUNK_WORDS]),
}

/// A set of row numbers.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RowSelection {
    /// Chunk indexes and chunks, in increasing order.
    chunks: Vec<(u64, Chunk)>,
}

impl RowSelection {
    /// No rows.
    pub fn new() -> Self {
        Self::default()
    }
    /// The rows of a half-open range.
    pub fn range(rows: std::ops::Range<u64>) -> Self {
        let mut set = Self::new();
        set.insert_range(rows);
        set
    }
    /// The rows of an iterator; `None` if they are not in strictly increasing order.
    pub fn from_sorted(rows: impl IntoIterator<Item = u64>) -> Option<Self> {
        let mut set = Self::new();
        let (mut here, mut index, mut before): (Vec<u16>, u64, Option<u64>) = (Vec::new(), 0, None);
        for row in rows {
            if before.is_some_and(|before| before >= row) {
                return None;
            }
            before = Some(row);
            if row / CHUNK_ROWS != index {
                set.insert_listed(index, std::mem::take(&mut here));
                index = row / CHUNK_ROWS;
            }
            here.push((row % CHUNK_ROWS) as u16);
        }
        set.insert_listed(index, here);
        Some(set)
    }
    /// The rows whose bits are set; the first bit is row `first`.
    pub fn from_mask(mask: &BooleanArray, first: u64) -> Self {
        let mut set = Self::new();
        for (start, end) in mask.values().set_slices() {
            set.insert_range(first + start as u64..first + end as u64);
        }
        set
    }
    /// Adds one chunk's rows.
    fn insert_chunk(&mut self, index: u64, chunk: Option<Chunk>) {
        let Some(chunk) = chunk else { return };
        match self.chunks.last().map_or(std::cmp::Ordering::Less, |(last, _)| last.cmp(&index)) {
            std::cmp::Ordering::Less => self.chunks.push((index, chunk)),
            _ => match self.chunks.binary_search_by_key(&index, |(index, _)| *index) {
                Ok(place) => {
                    if let Some((_, mine)) = self.chunks.get_mut(place)
                        && let Some(both) = mine.or(&chunk)
                    {
                        *mine = both;
                    }
                }
                Err(place) => self.chunks.insert(place, (index, chunk)),
            },
        }
    }
    /// Adds rows of one chunk, in increasing order.
    fn insert_listed(&mut self, index: u64, rows: Vec<u16>) {
        let chunk = match rows.len() {
            0 => return,
            count if count <= MAX_LISTED_ROWS => Some(Chunk::Listed(rows)),
            _ => {
                let mut bits = Box::new([0u64; CHUNK_WORDS]);
                rows.iter().for_each(|row| bits[usize::from(row >> 6)] |= 1 << (row & 63));
                Chunk::of_bits(bits)
            }
        };
        self.insert_chunk(index, chunk);
    }
    /// Adds the rows of a half-open range.
    pub fn insert_range(&mut self, rows: std::ops::Range<u64>) {
        let mut start = rows.start;
        while start < rows.end {
            let index = start / CHUNK_ROWS;
            let end = rows.end.min((index + 1).saturating_mul(CHUNK_ROWS));
            if end - start == CHUNK_ROWS {
                self.insert_chunk(index, Some(Chunk::All));
            } else {
                let (low, high) = (start % CHUNK_ROWS, end - index * CHUNK_ROWS);
                let mut bits = Box::new([0u64; CHUNK_WORDS]);
                for (word, base) in bits.iter_mut().zip((0..).step_by(64)) {
                    let (from, to) = (low.clamp(base, base + 64) - base, high.clamp(base, base + 64) - base);
                    if from < to {
                        *word = (u64::MAX >> (64 - (to - from))) << from;
                    }
                }
                self.insert_chunk(index, Chunk::of_bits(bits));
            }
            start = end;
        }
    }
    /// Adds the rows `first + n` for each n of `rows`, which are in strictly increasing order.
    ///
    /// # Errors
    /// As [`RowSelection::insert_sorted`].
    pub fn insert_list(&mut self, first: u64, rows: Vec<u16>) -> Result<()> {
        if !first.is_multiple_of(CHUNK_ROWS) || !rows.is_sorted_by(|before, after| before < after) {
            return self.insert_sorted(rows.into_iter().map(|row| first + u64::from(row)));
        }
        self.insert_listed(first / CHUNK_ROWS, rows);
        Ok(())
    }
    /// Adds rows in strictly increasing order.
    ///
    /// # Errors
    /// `Corrupt` if they are in another order, or one is there twice: indexes say which rows match.
    pub fn insert_sorted(&mut self, rows: impl IntoIterator<Item = u64>) -> Result<()> {
        self.append(
            Self::from_sorted(rows)
                .ok_or_else(|| Error::corrupt("an index names rows twice or in another order; rebuild it, or do without (indexes=\"none\")"))?,
        );
        Ok(())
    }
    /// Adds the rows whose bits are set; the first bit is row `first`.
    pub fn insert_bits(&mut self, first: u64, bits: Box<[u64; CHUNK_WORDS]>) {
        let (index, shift) = (first / CHUNK_ROWS, (first % CHUNK_ROWS) as usize);
        if shift == 0 {
            self.insert_chunk(index, Chunk::of_bits(bits));
            return;
        }
        let (words, bit) = (shift / 64, shift % 64);
        let mut moved = Box::new([0u64; 2 * CHUNK_WORDS]);
        for (place, word) in bits.iter().enumerate() {
            if let Some(low) = moved.get_mut(place + words) {
                *low |= word << bit;
            }
            if bit > 0
                && let Some(high) = moved.get_mut(place + words + 1)
            {
                *high |= word >> (64 - bit);
            }
        }
        for (half, index) in moved.chunks_exact(CHUNK_WORDS).zip(index..) {
            let mut bits = Box::new([0u64; CHUNK_WORDS]);
            bits.copy_from_slice(half);
            self.insert_chunk(index, Chunk::of_bits(bits));
        }
    }
    /// Adds the rows of another set.
    pub fn append(&mut self, other: Self) {
        self.chunks.reserve(other.chunks.len());
        other.chunks.into_iter().for_each(|(index, chunk)| self.insert_chunk(index, Some(chunk)));
    }
    /// Number of rows.
    pub fn len(&self) -> u64 {
        self.chunks.iter().map(|(_, chunk)| chunk.len() as u64).sum()
    }
    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.chunks.is_empty()
    }
    /// The rows, in increasing order.
    pub fn iter(&self) -> impl Iterator<Item = u64> + '_ {
        self.chunks.iter().flat_map(|(index, chunk)| chunk.iter(*index, 0))
    }
    /// The rows from `first` on.
    pub fn iter_from(&self, first: u64) -> impl Iterator<Item = u64> + '_ {
        let begin = self.chunks.partition_point(|(index, _)| *index < first / CHUNK_ROWS);
        self.chunks.iter().skip(begin).flat_map(move |(index, chunk)| chunk.iter(*index, first))
    }
    /// Whether any row is in a half-open range.
    pub fn touches(&self, range: &std::ops::Range<u64>) -> bool {
        self.iter_from(range.start).next().is_some_and(|row| row < range.end)
    }
    /// The rows of a half-open range.
    pub(crate) fn within(&self, range: &std::ops::Range<u64>) -> Self {
        let begin = self.chunks.partition_point(|(index, _)| index.saturating_add(1).saturating_mul(CHUNK_ROWS) <= range.start);
        let here = self.chunks.iter().skip(begin).take_while(|(index, _)| *index * CHUNK_ROWS < range.end);
        let cut = here.filter_map(|(index, chunk)| {
            let first = *index * CHUNK_ROWS;
            if first >= range.start && range.end - first >= CHUNK_ROWS {
                return Some((*index, chunk.clone()));
            }
            let part = Self::range(range.start.max(first)..range.end.min(first + CHUNK_ROWS));
            Some((*index, chunk.and(part.chunk(*index)?)?))
        });
        Self { chunks: cut.collect() }
    }
    /// The rows chunk by chunk, in increasing order.
    pub(crate) fn pieces(&self) -> impl Iterator<Item = Piece<'_>> {
        self.chunks.iter().map(|(index, chunk)| {
            let rows = match chunk {
                Chunk::All => PieceRows::All,
                Chunk::Listed(rows) => PieceRows::Listed(rows),
                Chunk::Bits(bits, _) => PieceRows::Bits(bits),
            };
            Piece { first: index * CHUNK_ROWS, count: chunk.len(), rows }
        })
    }
    /// All rows in increasing order, written by the threads of the current pool.
    ///
    /// # Errors
    /// `LimitExceeded` if they exceed memory.
    pub fn to_vec(&self) -> Result<Vec<u64>> {
        let mut rows = vec![0; usize::try_from(self.len()).map_err(|_| too_many())?];
        self.write(&mut rows, |row| row)?;
        Ok(rows)
    }
    /// As [`RowSelection::to_vec`], in a pooled buffer: eight bytes per row, in native byte order.
    ///
    /// # Errors
    /// `LimitExceeded` if they exceed memory.
    pub fn to_values(&self, session: &Session) -> Result<PooledBuffer> {
        let length = usize::try_from(self.len()).ok().and_then(|count| count.checked_mul(8));
        let mut rows = session.values().take(length.ok_or_else(too_many)?)?;
        session.compute(|| self.write(rows.as_chunks_mut::<8>().0, u64::to_ne_bytes))?;
        Ok(rows)
    }
    /// Writes `of(row)` for all rows in increasing order; there are as many slots as rows.
    fn write<T: Send>(&self, rows: &mut [T], of: impl Fn(u64) -> T + Sync) -> Result<()> {
        let miscounted = || Error::internal("a row selection has another number of rows than it says");
        let (mut pieces, mut rest) = (Vec::with_capacity(self.chunks.len()), rows);
        for (index, chunk) in &self.chunks {
            let (mine, others) = std::mem::take(&mut rest).split_at_mut_checked(chunk.len()).ok_or_else(miscounted)?;
            rest = others;
            pieces.push((*index, chunk, mine));
        }
        pieces.into_par_iter().try_for_each(|(index, chunk, slots)| chunk.write(index, slots, &of)).ok_or_else(miscounted)
    }
    /// As [`RowSelection::to_vec`], in the threads of a session.
    ///
    /// # Errors
    /// `LimitExceeded` if they exceed memory.
    pub fn to_vec_in(&self, session: &Session) -> Result<Vec<u64>> {
        session.compute(|| self.to_vec())
    }
    /// Whether `row` is in the set.
    pub fn contains(&self, row: u64) -> bool {
        let place = self.chunks.binary_search_by_key(&(row / CHUNK_ROWS), |(index, _)| *index);
        place.ok().and_then(|place| self.chunks.get(place)).is_some_and(|(_, chunk)| chunk.contains((row % CHUNK_ROWS) as u16))
    }
    /// Intersection.
    pub fn and(&self, other: &Self) -> Self {
        let both = self.chunks.iter().filter_map(|(index, chunk)| Some((*index, chunk.and(other.chunk(*index)?)?)));
        Self { chunks: both.collect() }
    }
    /// Union.
    pub fn or(&self, other: &Self) -> Self {
        let mut both = self.clone();
        both.append(other.clone());
        both
    }
    /// Difference: rows that are not in `other`.
    pub fn and_not(&self, other: &Self) -> Self {
        let left = self.chunks.iter().filter_map(|(index, chunk)| {
            Some((
                *index,
                match other.chunk(*index) {
                    Some(other) => chunk.and_not(other)?,
                    None => chunk.clone(),
                },
            ))
        });
        Self { chunks: left.collect() }
    }
    /// The rows of the chunk of 65,536 rows that begins with row `index * 65,536`; `None` if there are none.
    pub fn rows_of_chunk(&self, index: u64) -> Option<PieceRows<'_>> {
        Some(match self.chunk(index)? {
            Chunk::All => PieceRows::All,
            Chunk::Listed(rows) => PieceRows::Listed(rows),
            Chunk::Bits(bits, _) => PieceRows::Bits(bits),
        })
    }
    fn chunk(&self, index: u64) -> Option<&Chunk> {
        let place = self.chunks.binary_search_by_key(&index, |(index, _)| *index).ok()?;
        self.chunks.get(place).map(|(_, chunk)| chunk)
    }
    /// Bitmap of `count` rows: bit n is set if row `first + n` is in the set.
    pub fn mask(&self, first: u64, count: usize) -> BooleanBuffer {
        let mut words = vec![0u64; count.div_ceil(64)];
        let end = first.saturating_add(count as u64);
        let begin = self.chunks.partition_point(|(index, _)| *index < first / CHUNK_ROWS);
        for (index, chunk) in self.chunks.iter().skip(begin).take_while(|(index, _)| *index * CHUNK_ROWS < end) {
            let start = *index * CHUNK_ROWS;
            if first.is_multiple_of(64) && start >= first && end - start >= CHUNK_ROWS && chunk.len() > MAX_LISTED_ROWS {
                let place = ((start - first) / 64) as usize;
                if let Some(target) = words.get_mut(place..place + CHUNK_WORDS) {
                    target.copy_from_slice(&*chunk.bits());
                    continue;
                }
            }
            for row in chunk.iter(*index, first).take_while(|row| *row < end) {
                let bit = (row - first) as usize;
                if let Some(word) = words.get_mut(bit / 64) {
                    *word |= 1 << (bit % 64);
                }
            }
        }
        words.iter_mut().for_each(|word| *word = word.to_le());
        BooleanBuffer::new(Buffer::from_vec(words), 0, count)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_mask_and_a_set_are_the_same_rows() {
        let rows = [0u64, 3, 64, 65, 127, 128, 70_000];
        let set = RowSelection::from_sorted(rows).unwrap_or_default();
        assert_eq!(set.len(), 7);
        let mask = BooleanArray::new(set.mask(3, 70_000), None);
        assert_eq!(mask.true_count(), 6);
        assert_eq!(RowSelection::from_mask(&mask, 3), set.and_not(&RowSelection::range(0..1)));
        assert!(RowSelection::from_sorted([2, 1]).is_none());
        let far = [0, 65_535, 65_536, u64::from(u32::MAX), 1 << 32, (1 << 40) + 5];
        assert_eq!(RowSelection::from_sorted(far).unwrap_or_default().to_vec().ok(), Some(far.to_vec()));
        assert!(RowSelection::new().insert_sorted([1, 1]).is_err());
        for first in [0, 65_536, 100] {
            assert!(RowSelection::new().insert_list(first, vec![1, 1]).is_err());
            assert!(RowSelection::new().insert_list(first, vec![2, 1]).is_err());
        }
    }

    /// Ranges, so that chunks are full, empty and in between.
    fn rows() -> impl Strategy<Value = BTreeSet<u64>> {
        proptest::collection::vec((0u64..300_000, prop_oneof![Just(1u64), 1u64..700, 60_000u64..140_000]), 0..8)
            .prop_map(|ranges| ranges.into_iter().flat_map(|(start, count)| start..start + count).collect())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]
        #[test]
        fn sets_are_those_of_the_standard_library(a in rows(), b in rows(), first in 0u64..300_000, last in prop_oneof![0u64..300_000, Just(131_072)], bits in proptest::collection::vec(0usize..65_536, 0..900)) {
            let set = |rows: &BTreeSet<u64>| RowSelection::from_sorted(rows.iter().copied()).unwrap_or_default();
            let list = |set: RowSelection| set.iter().collect::<Vec<u64>>();
            let (x, y) = (set(&a), set(&b));
            prop_assert_eq!(x.len(), a.len() as u64);
            prop_assert_eq!(x.to_vec().unwrap_or_default(), a.iter().copied().collect::<Vec<u64>>());
            prop_assert_eq!(list(x.and(&y)), a.intersection(&b).copied().collect::<Vec<u64>>());
            prop_assert_eq!(list(x.or(&y)), a.union(&b).copied().collect::<Vec<u64>>());
            prop_assert_eq!(list(x.and_not(&y)), a.difference(&b).copied().collect::<Vec<u64>>());
            prop_assert_eq!(x.iter_from(first).collect::<Vec<u64>>(), a.range(first..).copied().collect::<Vec<u64>>());
            prop_assert_eq!(x.contains(first), a.contains(&first));
            let (low, high) = (first.min(last), first.max(last));
            let part = x.within(&(low..high));
            prop_assert_eq!(&part, &x.and(&RowSelection::range(low..high)));
            prop_assert_eq!(part.pieces().flat_map(|piece| piece.row_numbers().collect::<Vec<u64>>()).collect::<Vec<u64>>(), a.range(low..high).copied().collect::<Vec<u64>>());
            let mask = x.mask(first, 150_000);
            prop_assert_eq!(mask.set_indices().map(|n| first + n as u64).collect::<Vec<u64>>(), a.range(first..first + 150_000).copied().collect::<Vec<u64>>());
            let even = first & !63;
            prop_assert_eq!(x.mask(even, 150_000).set_indices().map(|n| even + n as u64).collect::<Vec<u64>>(), a.range(even..even + 150_000).copied().collect::<Vec<u64>>());
            let mut words = Box::new([0u64; CHUNK_WORDS]);
            bits.iter().for_each(|bit| words[bit / 64] |= 1 << (bit % 64));
            let mut more = x.clone();
            more.insert_bits(first, words);
            let both: BTreeSet<u64> = a.iter().copied().chain(bits.iter().map(|bit| first + *bit as u64)).collect();
            prop_assert_eq!(&more, &set(&both));
            let listed: BTreeSet<u16> = bits.iter().map(|bit| *bit as u16).collect();
            for first in [first, first - first % CHUNK_ROWS] {
                let mut more = x.clone();
                prop_assert!(more.insert_list(first, listed.iter().copied().collect()).is_ok());
                let both: BTreeSet<u64> = a.iter().copied().chain(listed.iter().map(|row| first + u64::from(*row))).collect();
                prop_assert_eq!(more, set(&both));
            }
        }
    }
}
