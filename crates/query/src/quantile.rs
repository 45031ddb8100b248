//! Order statistics: the values with given ranks, exactly and in bounded memory.
//!
//! Values are compared by their keys, unsigned integers in the order of the values. If all keys fit into memory, they are
//! sorted there. Otherwise a pass counts keys by their first 16 bits, which determines these bits of the wanted keys; each
//! further pass determines 16 more bits, counting only keys that share the known bits of a wanted key.

use std::collections::BTreeMap;

use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;
use hyperslab_array::{Error, Result};
use hyperslab_predicate::KeyType;

/// Maximum number of keys in memory: 256 MiB.
const MAX_KEPT_KEYS: usize = 1 << 25;
/// Bits that one pass determines.
const DIGIT_BITS: u32 = 16;

/// Values by rank; nulls and NaN have no rank.
#[non_exhaustive]
pub struct OrderStatistics {
    /// Number of values.
    pub count: u64,
    /// The values, in the order of the requested ranks.
    pub values: ArrayRef,
}

/// The keys of a column's values that are neither null nor NaN.
pub(super) fn keys(array: &ArrayRef) -> Result<Vec<u64>> {
    let key_type = key_type(array.data_type())?;
    let keys = key_type.keys(array)?;
    Ok(match array.nulls() {
        None => keys.into_iter().flatten().collect(),
        Some(nulls) => keys.into_iter().zip(nulls).filter_map(|(key, valid)| key.filter(|_| valid)).collect(),
    })
}

pub(super) fn key_type(data_type: &DataType) -> Result<KeyType> {
    KeyType::of(data_type).ok_or_else(|| Error::unsupported(format!("extremes and quantiles of {data_type}: only numbers, booleans and times have them")))
}

/// Runs one pass: maps every window's keys by the first function, and calls the second with the results. Can be run again.
pub(super) type Pass<'a> = dyn FnMut(&(dyn Fn(Vec<u64>) -> Found + Sync), &mut (dyn FnMut(Found) + Send)) -> Result<()> + 'a;

/// The result of a pass for one window.
#[derive(Default)]
pub(super) struct Found {
    /// Keys that are kept.
    keys: Vec<u64>,
    /// Number of keys in the window.
    all: u64,
    /// First bits of keys, and the number of keys with them.
    counts: Vec<(u64, u64)>,
}

/// The number of keys, and the keys with the ranks `ranks(count)`; keys have `width` bits.
pub(super) fn select(width: u32, max_kept: usize, ranks: impl Fn(u64) -> Vec<u64>, pass: &mut Pass<'_>) -> Result<(u64, Vec<u64>)> {
    // Keep all keys, until there are too many.
    let (mut kept, mut count) = (Vec::new(), 0u64);
    pass(&|keys| Found { all: keys.len() as u64, keys, ..Found::default() }, &mut |found| {
        count += found.all;
        if count <= max_kept as u64 { kept.extend(found.keys) } else { kept = Vec::new() }
    })?;
    let ranks = ranks(count);
    if ranks.iter().any(|rank| *rank >= count) {
        return Ok((count, Vec::new()));
    }
    if count <= max_kept as u64 {
        kept.sort_unstable();
        return Ok((count, ranks.iter().filter_map(|rank| kept.get(usize::try_from(*rank).ok()?).copied()).collect()));
    }
    // For each wanted key: its known first bits, and its rank among the keys that share them.
    let mut wanted: Vec<(u64, u64)> = ranks.iter().map(|rank| (0, *rank)).collect();
    let mut known = 0;
    while known < width {
        let digit = DIGIT_BITS.min(width - known);
        let below = width - known - digit;
        let mut prefixes: Vec<u64> = wanted.iter().map(|(prefix, _)| *prefix).collect();
        prefixes.sort_unstable();
        prefixes.dedup();
        let mut counts: BTreeMap<u64, u64> = BTreeMap::new();
        let count_window = |keys: Vec<u64>| {
            let first = |key: u64| key.checked_shr(below).unwrap_or(0);
            let mut firsts: Vec<u64> = keys.into_iter().map(first).filter(|bits| prefixes.binary_search(&(bits >> digit)).is_ok()).collect();
            firsts.sort_unstable();
            let counts = firsts.chunk_by(|a, b| a == b).filter_map(|run| Some((*run.first()?, run.len() as u64)));
            Found { counts: counts.collect(), ..Found::default() }
        };
        pass(&count_window, &mut |found| found.counts.into_iter().for_each(|(bits, n)| *counts.entry(bits).or_insert(0) += n))?;
        for (prefix, rank) in &mut wanted {
            (*prefix, *rank) = narrowed(&counts, *prefix << digit, digit, *rank)?;
        }
        known += digit;
    }
    Ok((count, wanted.into_iter().map(|(key, _)| key).collect()))
}

/// Given the counts of keys by first bits, the first bits of the key with rank `rank` among those that share all but the last
/// `digit` bits of `from`, and its rank among the keys that share these.
fn narrowed(counts: &BTreeMap<u64, u64>, from: u64, digit: u32, mut rank: u64) -> Result<(u64, u64)> {
    for (bits, count) in counts.range(from..=from | ((1 << digit) - 1)) {
        if rank < *count {
            return Ok((*bits, rank));
        }
        rank -= count;
    }
    // Each pass reads the same values.
    Err(Error::internal("values changed between two passes"))
}

/// As [`select`] for values, with at most [`MAX_KEPT_KEYS`] keys in memory.
pub(super) fn select_values(data_type: &DataType, ranks: impl Fn(u64) -> Vec<u64>, pass: &mut Pass<'_>) -> Result<OrderStatistics> {
    let key_type = key_type(data_type)?;
    let (count, keys) = select(key_type.width() as u32 * 8, MAX_KEPT_KEYS, ranks, pass)?;
    let keys: Vec<Option<u64>> = keys.into_iter().map(Some).collect();
    Ok(OrderStatistics { count, values: key_type.array(&keys, data_type)? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_values_at_places_are_those_of_the_sorted_ones(
            mut keys in proptest::collection::vec(prop_oneof![any::<u64>(), 0u64..5, 70_000u64..70_010], 1..200),
            places in proptest::collection::vec(any::<prop::sample::Index>(), 1..6),
            kept in prop_oneof![Just(0usize), Just(50), Just(1000)],
            width in prop_oneof![Just(8u32), Just(16), Just(32), Just(64)],
        ) {
            keys.iter_mut().for_each(|key| *key >>= 64 - width);
            let wanted: Vec<u64> = places.iter().map(|place| place.index(keys.len()) as u64).collect();
            let windows: Vec<Vec<u64>> = keys.chunks(7).map(<[u64]>::to_vec).collect();
            let (count, found) = select(width, kept, |_| wanted.clone(), &mut |of, take| {
                windows.iter().for_each(|window| take(of(window.clone())));
                Ok(())
            }).map_err(|e| TestCaseError::fail(e.to_string()))?;
            keys.sort_unstable();
            prop_assert_eq!(count, keys.len() as u64);
            prop_assert_eq!(found, wanted.iter().map(|place| keys[*place as usize]).collect::<Vec<_>>());
        }
    }
}
