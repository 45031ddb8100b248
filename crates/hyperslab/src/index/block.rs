//! Block: the index of at most 65,536 values, built from an array and asked by ranks.
//!
//! In order of their values, a block's values are *ranked*: numbers first, then NaN, then null. The
//! `order` holds the position of each rank; samples and packed keys are of the numbers alone.

use arrow_array::{Array, ArrayRef};
use arrow_buffer::Buffer;
use hyperslab_array::{Error, Result};

use super::bitmaps;
use super::hash::hash;
use super::keys::{Buffers, Key, Keys};
use super::packed::{self, GROUP};
use super::sort::Sorter;
use crate::scan::pruner::{KeyType, Level, ValueSet};

/// What is always known of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Zone {
    /// Values that are neither null nor NaN.
    pub numbers: u32,
    pub nans: u32,
    pub nulls: u32,
    /// Least and greatest key; 0 where there are no numbers or no keys.
    pub least: u64,
    pub greatest: u64,
    /// Of all values (null as whatever lies there), to tell whether they have changed.
    pub hash: u64,
}

impl Zone {
    pub fn elements(&self) -> u32 {
        self.numbers + self.nans + self.nulls
    }
}

/// A block's index as it is stored.
#[derive(Debug, Clone, Default)]
pub(super) struct Block {
    pub level: Option<Level>,
    pub zone: Zone,
    /// Every 64th key in order, little endian, as wide as the values.
    pub samples: Vec<u8>,
    /// Positions in order, 16 bits each, little endian.
    pub order: Buffer,
    /// Where the groups of `packed` begin; see [`packed`].
    pub starts: Vec<u8>,
    /// See [`packed`].
    pub packed: Buffer,
    /// See [`bitmaps`].
    pub bitmaps: Vec<u8>,
}

/// A thread's buffers.
#[derive(Default)]
pub(super) struct Builder {
    sorter: Sorter,
    sorted: Buffers,
}

impl Builder {
    /// The index of `array` at `level`. Where bitmaps are asked for and the values are too many different
    /// ones, numbers get `Exact` instead, and text has none (a `Zone` without extremes).
    pub fn build(&mut self, array: &ArrayRef, level: Level) -> Result<Block> {
        if array.len() > 1 << 16 {
            return Err(Error::internal("a block of more than 65,536 values"));
        }
        let array = &bitmaps::plain(array)?;
        let Some(key_type) = KeyType::of(array.data_type()) else {
            let zone = Zone { numbers: (array.len() - array.null_count()) as u32, nulls: array.null_count() as u32, hash: hash_array(array), ..Zone::default() };
            return Ok(match bitmaps::of_text(array)? {
                Some(bitmaps) if level == Level::Bitmaps => Block { level: Some(Level::Bitmaps), zone, bitmaps, ..Block::default() },
                _ => Block { level: Some(Level::Zone), zone, ..Block::default() },
            });
        };
        match Keys::of(array)? {
            Keys::One(keys) => self.of_keys(array, key_type, keys, level),
            Keys::Two(keys) => self.of_keys(array, key_type, keys, level),
            Keys::Four(keys) => self.of_keys(array, key_type, keys, level),
            Keys::Eight(keys) => self.of_keys(array, key_type, keys, level),
        }
    }

    fn of_keys<K: Key>(&mut self, array: &ArrayRef, key_type: KeyType, keys: Vec<K>, level: Level) -> Result<Block> {
        let (lowest, highest) = key_type.range();
        let (lowest, highest) = (K::from_u64(lowest), K::from_u64(highest));
        let is_number = |key: K| key >= lowest && key <= highest;
        let hash = hash_array(array);
        let nulls = array.null_count();
        let plain = nulls == 0 && keys.iter().filter(|key| !is_number(**key)).count() == 0;
        let (mut some, mut places, mut after) = (Vec::new(), Vec::new(), Vec::new());
        let mut nans = 0;
        if !plain {
            let mut null_places = Vec::with_capacity(nulls);
            for (place, key) in keys.iter().enumerate() {
                if array.is_null(place) {
                    null_places.push(place as u16);
                } else if is_number(*key) {
                    some.push(*key);
                    places.push(place as u16);
                } else {
                    after.push(place as u16);
                }
            }
            nans = after.len();
            after.extend(null_places);
        }
        let (numbers, places): (&[K], Option<&[u16]>) = if plain { (&keys, None) } else { (&some, Some(&places)) };
        let mut zone = Zone { numbers: numbers.len() as u32, nans: nans as u32, nulls: nulls as u32, hash, ..Zone::default() };
        if let (Some(least), Some(greatest)) = (numbers.iter().min(), numbers.iter().max()) {
            (zone.least, zone.greatest) = ((*least).into(), (*greatest).into());
        }
        let mut block = Block { level: Some(Level::Zone), zone, ..Block::default() };
        if level == Level::Zone {
            return Ok(block);
        }
        let level = match level {
            Level::Bitmaps => match bitmaps::of_keys(numbers, places, after.split_at(nans)) {
                Some(bitmaps) => {
                    block.level = Some(Level::Bitmaps);
                    block.bitmaps = bitmaps?;
                    return Ok(block);
                }
                None => Level::Exact,
            },
            level => level,
        };
        let mut order = Vec::with_capacity(array.len());
        let sorted = K::of(&mut self.sorted);
        sorted.clear();
        self.sorter.sort(numbers, places, &mut order, sorted);
        order.extend(after);
        block.level = Some(level);
        block.samples = packed::samples(sorted);
        if level >= Level::Positions {
            order.iter_mut().for_each(|position| *position = position.to_le());
            block.order = Buffer::from_vec(order);
        }
        if level >= Level::Exact {
            (block.starts, block.packed) = packed::pack(sorted);
        }
        Ok(block)
    }
}

/// A hash of the values' bytes and of what is null.
fn hash_array(array: &ArrayRef) -> u64 {
    let data = array.to_data();
    let offset = data.offset();
    let mut all = array.len() as u64;
    match data.data_type().primitive_width() {
        Some(width) => {
            let bytes = data.buffers().first().and_then(|buffer| buffer.as_slice().get(offset * width..(offset + array.len()) * width));
            all = hash(all, bytes.unwrap_or_default());
        }
        None => {
            use arrow_array::cast::AsArray;
            if let Some(texts) = array.as_string_opt::<i32>() {
                all = texts.iter().fold(all, |all, text| hash(all ^ u64::from(text.is_some()), text.unwrap_or_default().as_bytes()));
            } else if let Some(flags) = array.as_boolean_opt() {
                all = flags.values().iter().fold(all, |all, flag| hash(all, &[u8::from(flag)]));
            }
        }
    }
    match array.nulls().filter(|nulls| nulls.null_count() > 0) {
        Some(nulls) => nulls.inner().set_slices().fold(all, |all, (start, end)| hash(hash(all, &start.to_le_bytes()), &end.to_le_bytes())),
        None => all,
    }
}

/// Large parts of a block's index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Order,
    Packed,
}

/// Where a block's large parts come from.
pub(super) trait Payload {
    /// Bytes of a part.
    fn length(&self, part: Part) -> usize;
    /// A range of a part's bytes, in `scratch` where they are not in memory. `Corrupt` where the checksum does not fit.
    fn bytes<'a>(&'a self, part: Part, range: std::ops::Range<usize>, scratch: &'a mut Vec<u8>) -> Result<&'a [u8]>;
}

impl Payload for Block {
    fn length(&self, part: Part) -> usize {
        match part {
            Part::Order => self.order.len(),
            Part::Packed => self.packed.len(),
        }
    }
    fn bytes<'a>(&'a self, part: Part, range: std::ops::Range<usize>, _: &'a mut Vec<u8>) -> Result<&'a [u8]> {
        let bytes = match part {
            Part::Order => &self.order,
            Part::Packed => &self.packed,
        };
        bytes.get(range).ok_or_else(cut_short)
    }
}

fn cut_short() -> Error {
    Error::corrupt("a block of the index is shorter than it says")
}

/// At least and at most so many of a block's numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Rank {
    pub least: u32,
    pub most: u32,
}

/// Ranks of an interval of keys: from `first` on, before `end`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ranks {
    pub first: Rank,
    pub end: Rank,
}

/// A block that is asked.
#[derive(Clone, Copy)]
pub(super) struct Ranked<'a> {
    pub level: Level,
    pub key_type: KeyType,
    pub zone: &'a Zone,
    pub samples: &'a [u8],
    pub starts: &'a [u8],
    pub payload: &'a dyn Payload,
    /// The keys of the data by position: what tells ranks exactly at level `Positions`.
    pub data: Option<&'a dyn Fn(u16) -> Result<u64>>,
}

impl Ranked<'_> {
    /// The sample with this number.
    fn sample(&self, number: usize) -> u64 {
        let width = self.key_type.width();
        let bytes = self.samples.get(number * width..(number + 1) * width).unwrap_or_default();
        let mut wide = [0; 8];
        wide.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
        u64::from_le_bytes(wide)
    }

    fn groups(&self) -> usize {
        self.samples.len() / self.key_type.width()
    }

    /// How many numbers have keys below `key`. `scratch` is for bytes.
    pub fn below(&self, key: u64, scratch: &mut Vec<u8>) -> Result<Rank> {
        let exactly = |rank: u32| Rank { least: rank, most: rank };
        let zone = self.zone;
        if zone.numbers == 0 || key <= zone.least {
            return Ok(exactly(0));
        }
        if key > zone.greatest {
            return Ok(exactly(zone.numbers));
        }
        if self.level < Level::Keys {
            // The least is below and the greatest is not.
            return Ok(Rank { least: 1, most: zone.numbers - 1 });
        }
        let (mut low, mut high) = (0, self.groups());
        while low < high {
            let middle = low + (high - low) / 2;
            if self.sample(middle) < key {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        let Some(group) = low.checked_sub(1) else { return Ok(exactly(0)) };
        let first = (group * GROUP) as u32;
        let most = zone.numbers.min(first + GROUP as u32);
        if self.level < Level::Exact {
            // The sample itself is below.
            let rank = Rank { least: first + 1, most };
            return match self.data {
                Some(data) if self.level == Level::Positions => self.by_data(key, rank, data, scratch).map(exactly),
                _ => Ok(rank),
            };
        }
        let mut keys = [0; GROUP];
        self.group(group, &mut keys, scratch)?;
        let here = keys.iter().take((most - first) as usize).filter(|k| **k < key).count() as u32;
        Ok(exactly(first + here))
    }

    /// How many numbers have keys below `key`, from the data at the positions in question.
    fn by_data(&self, key: u64, rank: Rank, data: &dyn Fn(u16) -> Result<u64>, scratch: &mut Vec<u8>) -> Result<u32> {
        let mut positions = [0u16; GROUP];
        let mut slots = positions.iter_mut();
        self.positions(rank.least..rank.most, scratch, &mut |position| {
            if let Some(slot) = slots.next() {
                *slot = position;
            }
        })?;
        let (mut low, mut high) = (rank.least, rank.most);
        while low < high {
            let middle = low + (high - low) / 2;
            let position = positions.get((middle - rank.least) as usize).ok_or_else(cut_short)?;
            if data(*position)? < key {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        Ok(low)
    }

    /// The keys of a group; of the last one, the first of them count.
    pub fn group(&self, group: usize, keys: &mut [u64; GROUP], scratch: &mut Vec<u8>) -> Result<()> {
        let words = packed::group_range(self.starts, group, self.payload.length(Part::Packed)).ok_or_else(cut_short)?;
        packed::unpack(self.sample(group), self.payload.bytes(Part::Packed, words, scratch)?, keys);
        Ok(())
    }

    /// All keys in order. `Exact` only.
    pub fn keys(&self, scratch: &mut Vec<u8>) -> Result<Vec<u64>> {
        let groups = self.groups();
        let bytes = self.payload.bytes(Part::Packed, 0..self.payload.length(Part::Packed), scratch)?;
        let mut all = Vec::with_capacity(groups * GROUP);
        let mut keys = [0; GROUP];
        for group in 0..groups {
            let words = packed::group_range(self.starts, group, bytes.len()).and_then(|words| bytes.get(words)).ok_or_else(cut_short)?;
            packed::unpack(self.sample(group), words, &mut keys);
            all.extend_from_slice(&keys);
        }
        all.truncate(self.zone.numbers as usize);
        Ok(all)
    }

    /// The ranks of a set's intervals that may have values here.
    pub fn ranks(&self, set: &ValueSet, scratch: &mut Vec<u8>) -> Result<Vec<Ranks>> {
        let zone = self.zone;
        let mut found = Vec::new();
        if zone.numbers == 0 {
            return Ok(found);
        }
        let begin = set.intervals().partition_point(|(_, last)| *last < zone.least);
        for (first, last) in set.intervals().iter().skip(begin).take_while(|(first, _)| *first <= zone.greatest) {
            let first = self.below(*first, scratch)?;
            let end = match last.checked_add(1) {
                Some(key) => self.below(key, scratch)?,
                None => Rank { least: zone.numbers, most: zone.numbers },
            };
            if first.least < end.most {
                found.push(Ranks { first, end });
            }
        }
        Ok(found)
    }

    /// The positions of ranks.
    pub fn positions(&self, ranks: std::ops::Range<u32>, scratch: &mut Vec<u8>, visit: &mut impl FnMut(u16)) -> Result<()> {
        if ranks.is_empty() {
            return Ok(());
        }
        let (pairs, _) = self.payload.bytes(Part::Order, ranks.start as usize * 2..ranks.end as usize * 2, scratch)?.as_chunks::<2>();
        pairs.iter().for_each(|pair| visit(u16::from_le_bytes(*pair)));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use arrow_array::{Float32Array, Int64Array, UInt8Array};
    use proptest::prelude::*;

    fn check(array: &ArrayRef) -> std::result::Result<(), TestCaseError> {
        let fail = |e: Error| TestCaseError::fail(e.to_string());
        let key_type = KeyType::of(array.data_type()).ok_or_else(|| TestCaseError::fail("type"))?;
        let keys: Vec<Option<u64>> = key_type.keys(array).map_err(fail)?.into_iter().enumerate().map(|(n, k)| k.filter(|_| array.is_valid(n))).collect();
        let mut numbers: Vec<u64> = keys.iter().copied().flatten().collect();
        numbers.sort_unstable();
        let mut scratch = Vec::new();
        for level in [Level::Zone, Level::Keys, Level::Positions, Level::Exact] {
            let block = Builder::default().build(array, level).map_err(fail)?;
            let ranked = Ranked { level, key_type, zone: &block.zone, samples: &block.samples, starts: &block.starts, payload: &block, data: None };
            prop_assert_eq!(block.zone.numbers as usize, numbers.len());
            prop_assert_eq!(block.zone.elements() as usize, array.len());
            let edges = numbers.iter().flat_map(|key| [key.saturating_sub(1), *key, key.saturating_add(1)]);
            for key in edges.chain([0, u64::MAX, 1 << 31, 1 << 63]) {
                let wanted = numbers.partition_point(|k| *k < key) as u32;
                let rank = ranked.below(key, &mut scratch).map_err(fail)?;
                prop_assert!(rank.least <= wanted && wanted <= rank.most, "{:?} {:?} {}", level, rank, wanted);
                if level == Level::Exact {
                    prop_assert_eq!(rank.least, rank.most);
                }
                if level >= Level::Keys {
                    prop_assert!(rank.most - rank.least < 64);
                }
            }
            if level >= Level::Positions {
                let mut order = Vec::new();
                ranked.positions(0..block.zone.elements(), &mut scratch, &mut |position| order.push(position)).map_err(fail)?;
                let found: Vec<u64> = order.iter().take(numbers.len()).filter_map(|p| keys[usize::from(*p)]).collect();
                prop_assert_eq!(&found, &numbers);
                order.sort_unstable();
                prop_assert!(order.iter().enumerate().all(|(n, p)| n == usize::from(*p)));
            }
            if level == Level::Exact {
                prop_assert_eq!(&ranked.keys(&mut scratch).map_err(fail)?, &numbers);
            }
        }
        Ok(())
    }

    proptest! {
        #[test]
        fn ranks_are_those_of_the_sorted_values(
            floats in proptest::collection::vec(proptest::option::weighted(0.9, any::<f32>()), 0..500),
            integers in proptest::collection::vec(any::<i64>(), 0..500),
            few in proptest::collection::vec(0u8..5, 0..500),
        ) {
            check(&(Arc::new(Float32Array::from(floats)) as ArrayRef))?;
            check(&(Arc::new(Int64Array::from(integers)) as ArrayRef))?;
            check(&(Arc::new(UInt8Array::from(few)) as ArrayRef))?;
            check(&(Arc::new(Float32Array::from(vec![f32::NAN, -0.0, 0.0, f32::INFINITY, f32::NEG_INFINITY, -f32::NAN])) as ArrayRef))?;
        }
    }

    #[test]
    fn a_full_block_is_ranked() {
        let values = (0..65_536u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 8) as f32 / 7.0);
        assert!(check(&(Arc::new(Float32Array::from_iter_values(values)) as ArrayRef)).is_ok());
    }
}
