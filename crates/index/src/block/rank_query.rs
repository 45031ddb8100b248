//! Rank query: searches the sorted keys of one block.
//!
//! Input: a key, or a set of keys. Output: the number of keys below it (its rank), exactly or as a lower and an upper bound,
//! and the positions or keys of a range of ranks. Cost: `Zone` needs no search; `Keys` and above search the samples, one
//! for 64 keys; `Exact` then unpacks one group of 64 keys; `Positions` reads single values
//! of the data instead, found by interpolation search.
//!
//! Example: a block with the numbers 10, 20, 20, 30 has rank 1 for key 20 and rank 3 for key 21, so that the ranks 1 and 2
//! have the value 20.

use std::collections::VecDeque;
use std::sync::Mutex;

use hyperslab_array::{Error, Result};
use hyperslab_predicate::{KeyType, ValueSet};
use hyperslab_scan::pruner::{Edge, Level, after};

use super::packed_keys::{self, GROUP_KEYS};
use super::zone::Zone;

/// Maximum number of interpolation steps of a search before it continues with binary search.
const MAX_INTERPOLATION_STEPS: u32 = 6;

/// Maximum number of keys per block whose ranks are cached.
const MAX_CACHED_RANKS: usize = 16;

/// Cache of the latest ranks that were searched for in the data: a caller that has counted rows often asks for the rows next.
#[derive(Default)]
pub(crate) struct RankCache(Mutex<VecDeque<(u64, u32)>>);

impl RankCache {
    fn rank(&self, key: u64) -> Option<u32> {
        // A forked child must not wait for a lock that a thread of its parent holds.
        let known = self.0.try_lock().ok()?;
        known.iter().find(|(cached, _)| *cached == key).map(|(_, rank)| *rank)
    }
    fn keep(&self, key: u64, rank: u32) {
        if let Ok(mut known) = self.0.try_lock() {
            known.truncate(MAX_CACHED_RANKS - 1);
            known.push_front((key, rank));
        }
    }
}

/// The large parts of a block's index, which are read on demand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    Order,
    Packed,
}

/// Access to the large parts of a block's index.
pub(crate) trait Payload {
    /// Length of a part in bytes.
    fn length(&self, part: Part) -> usize;
    /// A range of a part's bytes, read into `scratch` if they are not in memory. `Corrupt` if a checksum does not match.
    fn bytes<'a>(&'a self, part: Part, range: std::ops::Range<usize>, scratch: &'a mut Vec<u8>) -> Result<&'a [u8]>;
}

/// The error for a stored block that is shorter than its row says.
pub(crate) fn truncated() -> Error {
    Error::corrupt("a block of the index is truncated")
}

/// Lower and upper bound of the number of keys below a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Rank {
    pub lower: u32,
    pub upper: u32,
}

/// Ranks of an interval of keys: from `first` (inclusive) to `end` (exclusive).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ranks {
    pub first: Rank,
    pub end: Rank,
}

impl Ranks {
    /// Whether the lower and the upper bound of both ends are equal.
    pub fn is_exact(&self) -> bool {
        self.first.lower == self.first.upper && self.end.lower == self.end.upper
    }
}

/// The parts of a block's index that a query needs.
#[derive(Clone, Copy)]
pub(crate) struct RankQuery<'a> {
    pub level: Level,
    pub key_type: KeyType,
    pub zone: &'a Zone,
    pub samples: &'a [u8],
    pub starts: &'a [u8],
    pub payload: &'a dyn Payload,
    /// Reads the key at a position from the data; makes ranks exact at level `Positions`.
    pub data: Option<&'a dyn Fn(u16) -> Result<u64>>,
    /// Ranks that were found this way before.
    pub known_ranks: Option<&'a RankCache>,
}

/// The key of a sample, which is stored little endian.
fn wide<const WIDTH: usize>(sample: &[u8; WIDTH]) -> u64 {
    let mut bytes = [0; 8];
    bytes.iter_mut().zip(sample).for_each(|(to, from)| *to = *from);
    u64::from_le_bytes(bytes)
}

impl RankQuery<'_> {
    /// The sample of a group. `Corrupt` if there are fewer samples.
    fn sample(&self, group: usize) -> Result<u64> {
        fn of<const WIDTH: usize>(samples: &[u8], group: usize) -> Result<u64> {
            samples.as_chunks::<WIDTH>().0.get(group).map(wide).ok_or_else(truncated)
        }
        match self.key_type.width() {
            1 => of::<1>(self.samples, group),
            2 => of::<2>(self.samples, group),
            4 => of::<4>(self.samples, group),
            _ => of::<8>(self.samples, group),
        }
    }

    /// The number of samples below `key`.
    fn samples_below(&self, key: u64) -> usize {
        fn of<const WIDTH: usize>(samples: &[u8], key: u64) -> usize {
            samples.as_chunks::<WIDTH>().0.partition_point(|sample| wide(sample) < key)
        }
        match self.key_type.width() {
            1 => of::<1>(self.samples, key),
            2 => of::<2>(self.samples, key),
            4 => of::<4>(self.samples, key),
            _ => of::<8>(self.samples, key),
        }
    }

    fn groups(&self) -> usize {
        self.samples.len() / self.key_type.width()
    }

    /// The number of keys below an edge; `None` is an edge above all keys.
    pub fn below_edge(&self, edge: Edge, scratch: &mut Vec<u8>) -> Result<Rank> {
        match edge {
            Some(key) => self.below(key, scratch),
            None => Ok(Rank { lower: self.zone.numbers, upper: self.zone.numbers }),
        }
    }

    /// The number of keys below `key`. `scratch` is a buffer for stored bytes.
    pub fn below(&self, key: u64, scratch: &mut Vec<u8>) -> Result<Rank> {
        self.below_near(key, &mut None, scratch)
    }

    /// As `below`; `near` caches the group of keys that was unpacked last.
    fn below_near(&self, key: u64, near: &mut Option<(usize, [u64; GROUP_KEYS])>, scratch: &mut Vec<u8>) -> Result<Rank> {
        let exactly = |rank: u32| Rank { lower: rank, upper: rank };
        let zone = self.zone;
        if zone.numbers == 0 || key <= zone.min {
            return Ok(exactly(0));
        }
        if key > zone.max {
            return Ok(exactly(zone.numbers));
        }
        if self.level < Level::Keys {
            // The minimum is below the key and the maximum is not.
            return Ok(Rank { lower: 1, upper: zone.numbers - 1 });
        }
        if self.level == Level::Positions
            && self.data.is_some()
            && let Some(known) = self.known_ranks.and_then(|ranks| ranks.rank(key))
        {
            return Ok(exactly(known));
        }
        let Some(group) = self.samples_below(key).checked_sub(1) else { return Ok(exactly(0)) };
        let first = (group * GROUP_KEYS) as u32;
        let upper = zone.numbers.min(first + GROUP_KEYS as u32);
        if self.level < Level::Exact {
            // The sample itself is below the key.
            let rank = Rank { lower: first + 1, upper };
            return match self.data {
                Some(data) if self.level == Level::Positions => {
                    let after = if group + 1 < self.groups() { self.sample(group + 1)? } else { zone.max };
                    let found = self.search_data(key, rank, (self.sample(group)?, after), data, scratch)?;
                    if let Some(ranks) = self.known_ranks {
                        ranks.keep(key, found);
                    }
                    Ok(exactly(found))
                }
                _ => Ok(rank),
            };
        }
        let keys = match near {
            Some((known, keys)) if *known == group => keys,
            near => {
                let mut keys = [0; GROUP_KEYS];
                self.group(group, &mut keys, scratch)?;
                &mut near.insert((group, keys)).1
            }
        };
        let here = keys.iter().take((upper - first) as usize).filter(|k| **k < key).count() as u32;
        Ok(exactly(first + here))
    }

    /// As `below_near`. With `is_simple`, exact ranks of packed keys are cached: a count of the rows is often followed by a question for them.
    fn remembered(&self, key: u64, is_simple: bool, near: &mut Option<(usize, [u64; GROUP_KEYS])>, scratch: &mut Vec<u8>) -> Result<Rank> {
        let Some(ranks) = self.known_ranks.filter(|_| is_simple && self.level == Level::Exact) else { return self.below_near(key, near, scratch) };
        if let Some(rank) = ranks.rank(key) {
            return Ok(Rank { lower: rank, upper: rank });
        }
        let found = self.below_near(key, near, scratch)?;
        ranks.keep(key, found.lower);
        Ok(found)
    }

    /// The number of keys below `key`, searched for in the data within the bounds `rank`. `ends` are the keys before and at
    /// the end of this range. Interpolation search needs fewer reads than binary search if keys are spread evenly; after
    /// some steps binary search takes over.
    fn search_data(&self, key: u64, rank: Rank, ends: (u64, u64), data: &dyn Fn(u16) -> Result<u64>, scratch: &mut Vec<u8>) -> Result<u32> {
        let positions = self.positions(rank.lower..rank.upper, scratch)?;
        let (mut low, mut high) = (0, positions.len());
        let (mut before, mut after) = ends;
        let mut steps = 0;
        while low < high {
            let middle = if steps < MAX_INTERPOLATION_STEPS && before < key && key <= after && before < after {
                let share = u128::from(key - before) * (high - low + 1) as u128 / u128::from(after - before);
                low.saturating_add(usize::try_from(share).unwrap_or(usize::MAX)).clamp(low + 1, high) - 1
            } else {
                low + (high - low) / 2
            };
            steps += 1;
            let found = data(u16::from_le_bytes(*positions.get(middle).ok_or_else(truncated)?))?;
            if found < key {
                (low, before) = (middle + 1, found);
            } else {
                (high, after) = (middle, found);
            }
        }
        Ok(rank.lower + low as u32)
    }

    /// Unpacks the keys of a group. The last group may have fewer keys: the rest of `keys` is then arbitrary.
    pub fn group(&self, group: usize, keys: &mut [u64; GROUP_KEYS], scratch: &mut Vec<u8>) -> Result<()> {
        let words = packed_keys::group_range(self.starts, group, self.payload.length(Part::Packed)).ok_or_else(truncated)?;
        packed_keys::unpack(self.sample(group)?, self.payload.bytes(Part::Packed, words, scratch)?, keys);
        Ok(())
    }

    /// Calls `visit` with the keys of a range of ranks in order, at most 64 at a time. Needs level `Exact`.
    pub fn keys_of(&self, ranks: std::ops::Range<u32>, scratch: &mut Vec<u8>, mut visit: impl FnMut(&[u64])) -> Result<()> {
        let (start, end) = (ranks.start as usize, ranks.end as usize);
        if start >= end {
            return Ok(());
        }
        let all = self.payload.length(Part::Packed);
        let place = |group: usize| packed_keys::group_range(self.starts, group, all).ok_or_else(truncated);
        let (first, last) = (start / GROUP_KEYS, (end - 1) / GROUP_KEYS);
        let base = place(first)?.start;
        let bytes = self.payload.bytes(Part::Packed, base..place(last)?.end.max(base), scratch)?;
        let mut keys = [0; GROUP_KEYS];
        for group in first..=last {
            let words = place(group)?;
            let words = words.start.checked_sub(base).and_then(|start| bytes.get(start..words.end - base)).ok_or_else(truncated)?;
            packed_keys::unpack(self.sample(group)?, words, &mut keys);
            let here = start.max(group * GROUP_KEYS) - group * GROUP_KEYS..end.min((group + 1) * GROUP_KEYS) - group * GROUP_KEYS;
            visit(keys.get(here).ok_or_else(|| Error::internal("ranks are outside their group"))?);
        }
        Ok(())
    }

    /// All keys in order. Needs level `Exact`.
    #[cfg(test)]
    pub fn keys(&self, scratch: &mut Vec<u8>) -> Result<Vec<u64>> {
        let groups = self.groups();
        let bytes = self.payload.bytes(Part::Packed, 0..self.payload.length(Part::Packed), scratch)?;
        let mut all = Vec::with_capacity(groups * GROUP_KEYS);
        let mut keys = [0; GROUP_KEYS];
        for group in 0..groups {
            let words = packed_keys::group_range(self.starts, group, bytes.len()).and_then(|words| bytes.get(words)).ok_or_else(truncated)?;
            packed_keys::unpack(self.sample(group)?, words, &mut keys);
            all.extend_from_slice(&keys);
        }
        all.truncate(self.zone.numbers as usize);
        Ok(all)
    }

    /// The ranks of each interval of `set` that may contain keys of the block.
    pub fn ranks(&self, set: &ValueSet, scratch: &mut Vec<u8>) -> Result<Vec<Ranks>> {
        let zone = self.zone;
        let mut found = Vec::new();
        if zone.numbers == 0 {
            return Ok(found);
        }
        let mut near = None;
        let is_simple = set.intervals().len() <= MAX_CACHED_RANKS / 4;
        for (first, last) in zone.intervals_of(set) {
            let key = *first;
            let first = self.remembered(key, is_simple, &mut near, scratch)?;
            let end = match after(*last) {
                Some(_) if key == *last && self.is_absent(key, first, scratch)? => first,
                Some(end) => self.remembered(end, is_simple, &mut near, scratch)?,
                None => self.below_edge(None, scratch)?,
            };
            if first.lower < end.upper {
                found.push(Ranks { first, end });
            }
        }
        Ok(found)
    }

    /// Whether the data show that no value has `key`, which has `rank` keys below it. One read instead of a second search.
    fn is_absent(&self, key: u64, rank: Rank, scratch: &mut Vec<u8>) -> Result<bool> {
        let Some(data) = self.data.filter(|_| self.level == Level::Positions && rank.lower == rank.upper) else { return Ok(false) };
        if rank.lower >= self.zone.numbers {
            return Ok(true);
        }
        let [position] = self.positions(rank.lower..rank.lower + 1, scratch)? else { return Err(truncated()) };
        Ok(data(u16::from_le_bytes(*position))? != key)
    }

    /// The positions of a range of ranks, little endian.
    pub fn positions<'b>(&'b self, ranks: std::ops::Range<u32>, scratch: &'b mut Vec<u8>) -> Result<&'b [[u8; 2]]> {
        if ranks.is_empty() {
            return Ok(&[]);
        }
        Ok(self.payload.bytes(Part::Order, ranks.start as usize * 2..ranks.end as usize * 2, scratch)?.as_chunks::<2>().0)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::block::block_builder::{Block, Builder};
    use arrow_array::{Array, ArrayRef};
    use arrow_array::{Float32Array, Int64Array, UInt8Array};
    use proptest::prelude::*;

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
            bytes.get(range).ok_or_else(truncated)
        }
    }

    fn check(array: &ArrayRef) -> std::result::Result<(), TestCaseError> {
        let fail = |e: Error| TestCaseError::fail(e.to_string());
        let key_type = KeyType::of(array.data_type()).ok_or_else(|| TestCaseError::fail("type"))?;
        let keys: Vec<Option<u64>> = key_type.keys(array).map_err(fail)?.into_iter().enumerate().map(|(n, k)| k.filter(|_| array.is_valid(n))).collect();
        let mut numbers: Vec<u64> = keys.iter().copied().flatten().collect();
        numbers.sort_unstable();
        let mut scratch = Vec::new();
        for level in [Level::Zone, Level::Keys, Level::Positions, Level::Exact] {
            let block = Builder::default().build(array, level).map_err(fail)?;
            let query = RankQuery {
                level,
                key_type,
                zone: &block.zone,
                samples: &block.samples,
                starts: &block.starts,
                payload: &block,
                data: None,
                known_ranks: None,
            };
            prop_assert_eq!(block.zone.numbers as usize, numbers.len());
            prop_assert_eq!(block.zone.elements() as usize, array.len());
            let edges = numbers.iter().flat_map(|key| [key.saturating_sub(1), *key, key.saturating_add(1)]);
            for key in edges.chain([0, u64::MAX, 1 << 31, 1 << 63]) {
                let wanted = numbers.partition_point(|k| *k < key) as u32;
                let rank = query.below(key, &mut scratch).map_err(fail)?;
                prop_assert!(rank.lower <= wanted && wanted <= rank.upper, "{:?} {:?} {}", level, rank, wanted);
                if level == Level::Exact {
                    prop_assert_eq!(rank.lower, rank.upper);
                }
                if level >= Level::Keys {
                    prop_assert!(rank.upper - rank.lower < 64);
                }
            }
            if level >= Level::Positions {
                let positions = query.positions(0..block.zone.elements(), &mut scratch).map_err(fail)?;
                let mut order: Vec<u16> = positions.iter().map(|position| u16::from_le_bytes(*position)).collect();
                let found: Vec<u64> = order.iter().take(numbers.len()).filter_map(|p| keys[usize::from(*p)]).collect();
                prop_assert_eq!(&found, &numbers);
                order.sort_unstable();
                prop_assert!(order.iter().enumerate().all(|(n, p)| n == usize::from(*p)));
            }
            if level == Level::Exact {
                prop_assert_eq!(&query.keys(&mut scratch).map_err(fail)?, &numbers);
                for (start, end) in [(0, numbers.len()), (numbers.len() / 3, numbers.len() / 2), (numbers.len() / 2, numbers.len())] {
                    let mut found = Vec::new();
                    query.keys_of(start as u32..end as u32, &mut scratch, |keys| found.extend_from_slice(keys)).map_err(fail)?;
                    prop_assert_eq!(&found, &numbers[start..end]);
                }
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
    fn a_full_block_is_sorted() {
        let values = (0..65_536u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 8) as f32 / 7.0);
        assert!(check(&(Arc::new(Float32Array::from_iter_values(values)) as ArrayRef)).is_ok());
    }
}
