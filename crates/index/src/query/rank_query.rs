//! Ranked: a block's index that is asked where keys are in the order, and what is there.

use std::collections::VecDeque;
use std::sync::Mutex;

use hyperslab_array::{Error, Result};
use hyperslab_predicate::{KeyType, ValueSet};
use hyperslab_scan::pruner::{Edge, Level, after};

use crate::build::block::Zone;
use crate::store::packed_keys::{self, GROUP};

/// Look-ups where a key would be if keys were spread evenly, before halving goes on.
const EVEN_TRIES: u32 = 6;

/// Keys of a block whose ranks are kept, at most.
const MOST_EDGES: usize = 16;

/// Ranks that were looked up in the data, the last ones: who has asked how many rows there are asks next where they are.
#[derive(Default)]
pub(crate) struct Edges(Mutex<VecDeque<(u64, u32)>>);

impl Edges {
    fn rank(&self, key: u64) -> Option<u32> {
        // A forked child must not wait for a thread that it does not have.
        let known = self.0.try_lock().ok()?;
        known.iter().find(|(edge, _)| *edge == key).map(|(_, rank)| *rank)
    }
    fn keep(&self, key: u64, rank: u32) {
        if let Ok(mut known) = self.0.try_lock() {
            known.truncate(MOST_EDGES - 1);
            known.push_front((key, rank));
        }
    }
}

/// Large parts of a block's index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    Order,
    Packed,
}

/// Where a block's large parts come from.
pub(crate) trait Payload {
    /// Bytes of a part.
    fn length(&self, part: Part) -> usize;
    /// A range of a part's bytes, in `scratch` where they are not in memory. `Corrupt` where the checksum does not fit.
    fn bytes<'a>(&'a self, part: Part, range: std::ops::Range<usize>, scratch: &'a mut Vec<u8>) -> Result<&'a [u8]>;
}

pub(crate) fn cut_short() -> Error {
    Error::corrupt("a block of the index is shorter than it says")
}

/// At least and at most so many of a block's numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Rank {
    pub least: u32,
    pub most: u32,
}

/// Ranks of an interval of keys: from `first` on, before `end`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ranks {
    pub first: Rank,
    pub end: Rank,
}

/// A block that is asked.
#[derive(Clone, Copy)]
pub(crate) struct Ranked<'a> {
    pub level: Level,
    pub key_type: KeyType,
    pub zone: &'a Zone,
    pub samples: &'a [u8],
    pub starts: &'a [u8],
    pub payload: &'a dyn Payload,
    /// The keys of the data by position: what tells ranks exactly at level `Positions`.
    pub data: Option<&'a dyn Fn(u16) -> Result<u64>>,
    /// What they have told before.
    pub edges: Option<&'a Edges>,
}

/// A sample, whose bytes are little endian.
fn wide<const WIDTH: usize>(sample: &[u8; WIDTH]) -> u64 {
    let mut bytes = [0; 8];
    bytes.iter_mut().zip(sample).for_each(|(to, from)| *to = *from);
    u64::from_le_bytes(bytes)
}

impl Ranked<'_> {
    /// The sample with this number.
    fn sample(&self, number: usize) -> u64 {
        fn of<const WIDTH: usize>(samples: &[u8], number: usize) -> u64 {
            samples.as_chunks::<WIDTH>().0.get(number).map_or(0, wide)
        }
        match self.key_type.width() {
            1 => of::<1>(self.samples, number),
            2 => of::<2>(self.samples, number),
            4 => of::<4>(self.samples, number),
            _ => of::<8>(self.samples, number),
        }
    }

    /// How many samples are below `key`.
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

    /// How many numbers lie below an edge.
    pub fn below_edge(&self, edge: Edge, scratch: &mut Vec<u8>) -> Result<Rank> {
        match edge {
            Some(key) => self.below(key, scratch),
            None => Ok(Rank { least: self.zone.numbers, most: self.zone.numbers }),
        }
    }

    /// How many numbers have keys below `key`. `scratch` is for bytes.
    pub fn below(&self, key: u64, scratch: &mut Vec<u8>) -> Result<Rank> {
        self.below_near(key, &mut None, scratch)
    }

    /// As `below`; `near` is the group of keys that was unpacked last.
    fn below_near(&self, key: u64, near: &mut Option<(usize, [u64; GROUP])>, scratch: &mut Vec<u8>) -> Result<Rank> {
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
        let Some(group) = self.samples_below(key).checked_sub(1) else { return Ok(exactly(0)) };
        let first = (group * GROUP) as u32;
        let most = zone.numbers.min(first + GROUP as u32);
        if self.level < Level::Exact {
            // The sample itself is below.
            let rank = Rank { least: first + 1, most };
            return match self.data {
                Some(data) if self.level == Level::Positions => {
                    if let Some(known) = self.edges.and_then(|edges| edges.rank(key)) {
                        return Ok(exactly(known));
                    }
                    let behind = if group + 1 < self.groups() { self.sample(group + 1) } else { zone.greatest };
                    let found = self.by_data(key, rank, (self.sample(group), behind), data, scratch)?;
                    if let Some(edges) = self.edges {
                        edges.keep(key, found);
                    }
                    Ok(exactly(found))
                }
                _ => Ok(rank),
            };
        }
        let keys = match near {
            Some((known, keys)) if *known == group => keys,
            near => {
                let mut keys = [0; GROUP];
                self.group(group, &mut keys, scratch)?;
                &mut near.insert((group, keys)).1
            }
        };
        let here = keys.iter().take((most - first) as usize).filter(|k| **k < key).count() as u32;
        Ok(exactly(first + here))
    }

    /// How many numbers have keys below `key`, from the data at the positions in question. `ends` are the keys before
    /// and at the end of these. Keys are looked for where they would be if they were spread evenly: fewer look-ups than
    /// halving needs; halving goes on where they are not.
    fn by_data(&self, key: u64, rank: Rank, ends: (u64, u64), data: &dyn Fn(u16) -> Result<u64>, scratch: &mut Vec<u8>) -> Result<u32> {
        let positions = self.positions(rank.least..rank.most, scratch)?;
        let (mut low, mut high) = (0, positions.len());
        let (mut before, mut behind) = ends;
        let mut tries = 0;
        while low < high {
            let middle = if tries < EVEN_TRIES && before < key && key <= behind && before < behind {
                let share = u128::from(key - before) * (high - low + 1) as u128 / u128::from(behind - before);
                (low + usize::try_from(share).unwrap_or_default()).clamp(low + 1, high) - 1
            } else {
                low + (high - low) / 2
            };
            tries += 1;
            let found = data(u16::from_le_bytes(*positions.get(middle).ok_or_else(cut_short)?))?;
            if found < key {
                (low, before) = (middle + 1, found);
            } else {
                (high, behind) = (middle, found);
            }
        }
        Ok(rank.least + low as u32)
    }

    /// The keys of a group; of the last one, the first of them count.
    pub fn group(&self, group: usize, keys: &mut [u64; GROUP], scratch: &mut Vec<u8>) -> Result<()> {
        let words = packed_keys::group_range(self.starts, group, self.payload.length(Part::Packed)).ok_or_else(cut_short)?;
        packed_keys::unpack(self.sample(group), self.payload.bytes(Part::Packed, words, scratch)?, keys);
        Ok(())
    }

    /// Calls `visit` with the keys of ranks in order, some at a time. `Exact` only.
    pub fn keys_of(&self, ranks: std::ops::Range<u32>, scratch: &mut Vec<u8>, mut visit: impl FnMut(&[u64])) -> Result<()> {
        let (start, end) = (ranks.start as usize, ranks.end as usize);
        if start >= end {
            return Ok(());
        }
        let all = self.payload.length(Part::Packed);
        let place = |group: usize| packed_keys::group_range(self.starts, group, all).ok_or_else(cut_short);
        let (first, last) = (start / GROUP, (end - 1) / GROUP);
        let base = place(first)?.start;
        let bytes = self.payload.bytes(Part::Packed, base..place(last)?.end.max(base), scratch)?;
        let mut keys = [0; GROUP];
        for group in first..=last {
            let words = place(group)?;
            let words = words.start.checked_sub(base).and_then(|start| bytes.get(start..words.end - base)).ok_or_else(cut_short)?;
            packed_keys::unpack(self.sample(group), words, &mut keys);
            let here = start.max(group * GROUP) - group * GROUP..end.min((group + 1) * GROUP) - group * GROUP;
            visit(keys.get(here).unwrap_or_default());
        }
        Ok(())
    }

    /// All keys in order. `Exact` only.
    #[cfg(test)]
    pub fn keys(&self, scratch: &mut Vec<u8>) -> Result<Vec<u64>> {
        let groups = self.groups();
        let bytes = self.payload.bytes(Part::Packed, 0..self.payload.length(Part::Packed), scratch)?;
        let mut all = Vec::with_capacity(groups * GROUP);
        let mut keys = [0; GROUP];
        for group in 0..groups {
            let words = packed_keys::group_range(self.starts, group, bytes.len()).and_then(|words| bytes.get(words)).ok_or_else(cut_short)?;
            packed_keys::unpack(self.sample(group), words, &mut keys);
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
        let mut near = None;
        for (first, last) in zone.intervals_of(set) {
            let key = *first;
            let first = self.below_near(key, &mut near, scratch)?;
            let end = match after(*last) {
                Some(_) if key == *last && self.is_absent(key, first, scratch)? => first,
                Some(end) => self.below_near(end, &mut near, scratch)?,
                None => self.below_edge(None, scratch)?,
            };
            if first.least < end.most {
                found.push(Ranks { first, end });
            }
        }
        Ok(found)
    }

    /// Whether the data tell that no number has `key`, which has `rank` keys below it: one look-up rather than a second search.
    fn is_absent(&self, key: u64, rank: Rank, scratch: &mut Vec<u8>) -> Result<bool> {
        let Some(data) = self.data.filter(|_| self.level == Level::Positions && rank.least == rank.most) else { return Ok(false) };
        if rank.least >= self.zone.numbers {
            return Ok(true);
        }
        let [position] = self.positions(rank.least..rank.least + 1, scratch)? else { return Err(cut_short()) };
        Ok(data(u16::from_le_bytes(*position))? != key)
    }

    /// The positions of ranks, little endian.
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

    use crate::build::block::Builder;
    use super::*;
    use arrow_array::{Array, ArrayRef};
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
            let ranked = Ranked { level, key_type, zone: &block.zone, samples: &block.samples, starts: &block.starts, payload: &block, data: None, edges: None };
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
                let positions = ranked.positions(0..block.zone.elements(), &mut scratch).map_err(fail)?;
                let mut order: Vec<u16> = positions.iter().map(|position| u16::from_le_bytes(*position)).collect();
                let found: Vec<u64> = order.iter().take(numbers.len()).filter_map(|p| keys[usize::from(*p)]).collect();
                prop_assert_eq!(&found, &numbers);
                order.sort_unstable();
                prop_assert!(order.iter().enumerate().all(|(n, p)| n == usize::from(*p)));
            }
            if level == Level::Exact {
                prop_assert_eq!(&ranked.keys(&mut scratch).map_err(fail)?, &numbers);
                for (start, end) in [(0, numbers.len()), (numbers.len() / 3, numbers.len() / 2), (numbers.len() / 2, numbers.len())] {
                    let mut found = Vec::new();
                    ranked.keys_of(start as u32..end as u32, &mut scratch, |keys| found.extend_from_slice(keys)).map_err(fail)?;
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
    fn a_full_block_is_ranked() {
        let values = (0..65_536u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 8) as f32 / 7.0);
        assert!(check(&(Arc::new(Float32Array::from_iter_values(values)) as ArrayRef)).is_ok());
    }
}
