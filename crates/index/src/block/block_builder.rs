//! Block builder: builds the index of one block, at most 65,536 values, from an array.
//!
//! Ranks number the values in sorted order from 0: numbers first, then NaN, then null. `order` holds the position of each
//! rank. Samples and packed keys exist for numbers only.
//!
//! Example: the values 7, NaN, 2 at positions 0, 1, 2 have the order 2, 0, 1.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_buffer::Buffer;
use hyperslab_array::{Error, Result};
use hyperslab_predicate::KeyType;
use hyperslab_scan::pruner::Level;

use super::bitmaps;
use super::block_keys::{Key, KeyBuffers};
use super::hash::hash;
use super::packed_keys::{self, GROUP_KEYS};
use super::sort::Sorter;
use super::words::{self, WordParts};
use super::zone::Zone;

/// The index of one block as it is stored. Parts that its level does not have are empty.
#[derive(Debug, Clone, Default)]
pub(crate) struct Block {
    /// `None` means `Zone`.
    pub level: Option<Level>,
    pub zone: Zone,
    /// Every 64th key in sorted order, little endian, as wide as the values.
    pub samples: Vec<u8>,
    /// The position of each rank, 16 bits each, little endian.
    pub order: Buffer,
    /// Where each group of `packed` begins; see [`packed_keys`].
    pub starts: Vec<u8>,
    /// See [`packed_keys`].
    pub packed: Buffer,
    /// See [`bitmaps`].
    pub bitmaps: Vec<u8>,
}

impl Block {
    /// Size of its parts in bytes.
    pub fn bytes(&self) -> usize {
        [self.samples.len(), self.order.len(), self.starts.len(), self.packed.len(), self.bitmaps.len()].iter().sum()
    }
}

/// Builds blocks one after the other; each thread has one and reuses its buffers.
#[derive(Default)]
pub(crate) struct Builder {
    sorter: Sorter,
    keys: KeyBuffers,
    sorted: KeyBuffers,
}

impl Builder {
    /// Builds the index of `array` at `level`. If `Bitmaps` is requested and the block has too many distinct values, numbers
    /// get `Exact` instead, and text gets a `Zone` without minimum and maximum, or `Words` if that is requested.
    pub fn build(&mut self, array: &ArrayRef, level: Level) -> Result<Block> {
        if array.len() > 1 << 16 {
            return Err(Error::internal("a block has more than 65,536 values"));
        }
        let array = &bitmaps::plain(array)?;
        let Some(key_type) = KeyType::of(array.data_type()) else {
            let zone =
                Zone { numbers: (array.len() - array.null_count()) as u32, nulls: array.null_count() as u32, hash: hash_array(array)?, ..Zone::default() };
            return of_text(array, zone, level);
        };
        match self.keys.fill(array)? {
            1 => self.of_keys::<u8>(array, key_type, level),
            2 => self.of_keys::<u16>(array, key_type, level),
            4 => self.of_keys::<u32>(array, key_type, level),
            _ => self.of_keys::<u64>(array, key_type, level),
        }
    }

    /// As `build`, after `self.keys` was filled with the keys of all values.
    fn of_keys<K: Key>(&mut self, array: &ArrayRef, key_type: KeyType, level: Level) -> Result<Block> {
        let keys: &[K] = K::of(&mut self.keys);
        let (lowest, highest) = key_type.range();
        let (lowest, highest) = (K::from_u64(lowest), K::from_u64(highest));
        let hash = hash_array(array)?;
        let nulls = array.null_count();
        let mut extremes = extremes(keys);
        let is_plain = nulls == 0 && extremes.is_none_or(|(min, max)| min >= lowest && max <= highest);
        let divided = if is_plain { Divided::default() } else { Divided::of(array, keys, (lowest, highest)) };
        let Divided { numbers: some, positions, after, nans } = &divided;
        if !is_plain {
            extremes = self::extremes(some);
        }
        let (numbers, positions): (&[K], Option<&[u16]>) = if is_plain { (keys, None) } else { (some, Some(positions)) };
        let mut zone = Zone { numbers: numbers.len() as u32, nans: *nans as u32, nulls: nulls as u32, hash, ..Zone::default() };
        if let Some((min, max)) = extremes {
            (zone.min, zone.max) = (min.into(), max.into());
        }
        let mut block = Block { level: Some(Level::Zone), zone, ..Block::default() };
        if level == Level::Zone {
            return Ok(block);
        }
        let level = match level {
            Level::Bitmaps | Level::Words => match bitmaps::of_keys(numbers, positions, after.split_at(*nans)) {
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
        let step = if level >= Level::Exact { 1 } else { GROUP_KEYS };
        if let Some(extremes) = extremes {
            self.sorter.sort(numbers, extremes, positions, &mut order, step, sorted)?;
        }
        block.samples = packed_keys::samples(sorted, GROUP_KEYS / step);
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

/// The index of a block of text.
fn of_text(array: &ArrayRef, zone: Zone, level: Level) -> Result<Block> {
    let with_bitmaps = if level >= Level::Bitmaps { bitmaps::of_text(array)? } else { None };
    if let Some(bitmaps) = with_bitmaps {
        return Ok(Block { level: Some(Level::Bitmaps), zone, bitmaps, ..Block::default() });
    }
    let texts = array.as_string_opt::<i32>().filter(|_| level == Level::Words);
    Ok(match texts.map(words::of_text).transpose()?.flatten() {
        Some(WordParts { starts, samples, packed, order, bitmaps }) => Block { level: Some(Level::Words), zone, samples, order, starts, packed, bitmaps },
        None => Block { level: Some(Level::Zone), zone, ..Block::default() },
    })
}

/// Smallest and largest key; `None` if there are none.
/// The values of a block with NaN or nulls.
#[derive(Default)]
struct Divided<K> {
    /// Keys and positions of the numbers.
    numbers: Vec<K>,
    positions: Vec<u16>,
    /// Positions of NaN, then positions of nulls.
    after: Vec<u16>,
    nans: usize,
}

impl<K: Key> Divided<K> {
    /// Divides values whose keys belong to numbers from `lowest` to `highest`.
    fn of(array: &ArrayRef, keys: &[K], (lowest, highest): (K, K)) -> Self {
        let (mut numbers, mut positions, mut after) = (Vec::new(), Vec::new(), Vec::new());
        let mut null_positions = Vec::with_capacity(array.null_count());
        for (position, key) in keys.iter().enumerate() {
            if array.is_null(position) {
                null_positions.push(position as u16);
            } else if *key >= lowest && *key <= highest {
                numbers.push(*key);
                positions.push(position as u16);
            } else {
                after.push(position as u16);
            }
        }
        let nans = after.len();
        after.extend(null_positions);
        Self { numbers, positions, after, nans }
    }
}

fn extremes<K: Key>(keys: &[K]) -> Option<(K, K)> {
    let first = *keys.first()?;
    let (mut min, mut max) = (first, first);
    // Written as two comparisons so that the compiler vectorizes the loop.
    for key in keys {
        min = if *key < min { *key } else { min };
        max = if *key > max { *key } else { max };
    }
    Some((min, max))
}

/// A hash of the values' bytes and of the positions of nulls.
fn hash_array(array: &ArrayRef) -> Result<u64> {
    let data = array.to_data();
    let offset = data.offset();
    let mut all = array.len() as u64;
    match data.data_type().primitive_width() {
        Some(width) => {
            let bytes = data.buffers().first().and_then(|buffer| buffer.as_slice().get(offset * width..(offset + array.len()) * width));
            all = hash(all, bytes.ok_or_else(|| Error::internal("an array has fewer bytes than values"))?);
        }
        None => {
            if let Some(texts) = array.as_string_opt::<i32>() {
                all = texts.iter().fold(all, |all, text| hash(all ^ u64::from(text.is_some()), text.unwrap_or_default().as_bytes()));
            } else if let Some(flags) = array.as_boolean_opt() {
                all = flags.values().iter().fold(all, |all, flag| hash(all, &[u8::from(flag)]));
            } else {
                return Err(Error::internal(format!("cannot hash values of type {}", array.data_type())));
            }
        }
    }
    Ok(match array.nulls().filter(|nulls| nulls.null_count() > 0) {
        Some(nulls) => nulls.inner().set_slices().fold(all, |all, (start, end)| hash(hash(all, &start.to_le_bytes()), &end.to_le_bytes())),
        None => all,
    })
}
