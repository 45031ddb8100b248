//! Block: the index of at most 65,536 values, built from an array, to be asked by ranks (`ranked`).
//!
//! In order of their values, a block's values are *ranked*: numbers first, then NaN, then null. The
//! `order` holds the position of each rank; samples and packed keys are of the numbers alone.

use arrow_array::{Array, ArrayRef};
use arrow_buffer::Buffer;
use hyperslab_array::{Error, Result};
use hyperslab_predicate::{KeyType, ValueSet};
use hyperslab_scan::pruner::Level;

use crate::query::rank_query::{Part, Payload, cut_short};
use crate::store::bitmaps;
use crate::store::packed_keys::{self, GROUP};
use super::block_keys::{Key, Keys};
use super::hash::hash;
use super::sort::Sorter;

/// What is always known of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Zone {
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

    /// The intervals of a set that may have numbers of the block.
    pub fn intervals_of<'a>(&self, set: &'a ValueSet) -> &'a [(u64, u64)] {
        let begin = set.intervals().partition_point(|(_, last)| *last < self.least);
        let end = set.intervals().partition_point(|(first, _)| *first <= self.greatest);
        if self.numbers == 0 { &[] } else { set.intervals().get(begin..end).unwrap_or_default() }
    }
}

/// A block's index as it is stored.
#[derive(Debug, Clone, Default)]
pub(crate) struct Block {
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
pub(crate) struct Builder {
    sorter: Sorter,
    keys: Keys,
    sorted: Keys,
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
        match self.keys.fill(array)? {
            1 => self.of_keys::<u8>(array, key_type, level),
            2 => self.of_keys::<u16>(array, key_type, level),
            4 => self.of_keys::<u32>(array, key_type, level),
            _ => self.of_keys::<u64>(array, key_type, level),
        }
    }

    /// As `build`, from the keys of all values.
    fn of_keys<K: Key>(&mut self, array: &ArrayRef, key_type: KeyType, level: Level) -> Result<Block> {
        let keys: &[K] = K::of(&mut self.keys);
        let (lowest, highest) = key_type.range();
        let (lowest, highest) = (K::from_u64(lowest), K::from_u64(highest));
        let hash = hash_array(array);
        let nulls = array.null_count();
        let mut ends = ends(keys);
        let plain = nulls == 0 && ends.is_none_or(|(least, greatest)| least >= lowest && greatest <= highest);
        let (mut some, mut places, mut after) = (Vec::new(), Vec::new(), Vec::new());
        let mut nans = 0;
        if !plain {
            let mut null_places = Vec::with_capacity(nulls);
            for (place, key) in keys.iter().enumerate() {
                if array.is_null(place) {
                    null_places.push(place as u16);
                } else if *key >= lowest && *key <= highest {
                    some.push(*key);
                    places.push(place as u16);
                } else {
                    after.push(place as u16);
                }
            }
            nans = after.len();
            after.extend(null_places);
            ends = self::ends(&some);
        }
        let (numbers, places): (&[K], Option<&[u16]>) = if plain { (keys, None) } else { (&some, Some(&places)) };
        let mut zone = Zone { numbers: numbers.len() as u32, nans: nans as u32, nulls: nulls as u32, hash, ..Zone::default() };
        if let Some((least, greatest)) = ends {
            (zone.least, zone.greatest) = (least.into(), greatest.into());
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
        block.level = Some(level);
        let mut order = Vec::with_capacity(array.len());
        let sorted = K::of(&mut self.sorted);
        sorted.clear();
        let step = if level >= Level::Exact { 1 } else { GROUP };
        self.sorter.sort(numbers, ends.unwrap_or_default(), places, &mut order, step, sorted);
        block.samples = packed_keys::samples(sorted, GROUP / step);
        if level >= Level::Positions {
            order.extend(after);
            order.iter_mut().for_each(|position| *position = position.to_le());
            block.order = Buffer::from_vec(order);
        }
        if level >= Level::Exact {
            (block.starts, block.packed) = packed_keys::pack(sorted);
        }
        Ok(block)
    }
}

/// Least and greatest.
fn ends<K: Key>(keys: &[K]) -> Option<(K, K)> {
    let first = *keys.first()?;
    let (mut least, mut greatest) = (first, first);
    // One comparison after the other is what the compiler turns into vectors of them.
    for key in keys {
        least = if *key < least { *key } else { least };
        greatest = if *key > greatest { *key } else { greatest };
    }
    Some((least, greatest))
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
