//! Order statistics: the values at given places of the sorted values, exactly and in bounded memory.
//!
//! Values are taken as keys, unsigned numbers in their order. As long as all of them fit into memory they are
//! kept and selected from. Where they do not, one pass counts them by the first 16 bits that are not known
//! yet; the next ones look only at those that share the bits of a wanted value.

use std::collections::BTreeMap;

use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;
use hyperslab_array::{Error, Result};
use hyperslab_predicate::KeyType;

/// Keys that are kept at once: 256 MiB.
const MAX_KEPT_KEYS: usize = 1 << 25;
/// Bits that one pass tells more.
const DIGIT_BITS: u32 = 16;

/// Values by their place in the order; nulls and NaN have none.
pub struct OrderStatistics {
    /// How many values there are.
    pub count: u64,
    /// The values, in the order of the places that were asked for.
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
    KeyType::of(data_type).ok_or_else(|| Error::unsupported(format!("extremes and quantiles of {data_type}: only numbers, truth values and times have them")))
}

/// Gives every window's keys, filtered by what a pass wants of them, to a visitor; may be called again.
pub(super) type Pass<'a> = dyn FnMut(&(dyn Fn(Vec<u64>) -> Found + Sync), &mut (dyn FnMut(Found) + Send)) -> Result<()> + 'a;

/// What a pass keeps of a window.
#[derive(Default)]
pub(super) struct Found {
    /// Keys that are kept.
    keys: Vec<u64>,
    /// How many keys have been seen.
    all: u64,
    /// First bits of keys, and how many keys have them.
    counts: Vec<(u64, u64)>,
}

/// The keys at `places(count)` of the sorted keys, of `width` bits, and how many keys there are.
pub(super) fn select(width: u32, max_kept: usize, places: impl Fn(u64) -> Vec<u64>, pass: &mut Pass<'_>) -> Result<(u64, Vec<u64>)> {
    // First all is kept, until it is too much.
    let (mut kept, mut count) = (Vec::new(), 0u64);
    pass(&|keys| Found { all: keys.len() as u64, keys, ..Found::default() }, &mut |found| {
        count += found.all;
        if count <= max_kept as u64 { kept.extend(found.keys) } else { kept = Vec::new() }
    })?;
    let places = places(count);
    if places.iter().any(|place| *place >= count) {
        return Ok((count, Vec::new()));
    }
    if count <= max_kept as u64 {
        kept.sort_unstable();
        return Ok((count, places.iter().filter_map(|place| kept.get(usize::try_from(*place).ok()?).copied()).collect()));
    }
    // For each wanted value: the bits that are known of it, and its place among the keys that share them.
    let mut wanted: Vec<(u64, u64)> = places.iter().map(|place| (0, *place)).collect();
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
        for (prefix, place) in &mut wanted {
            (*prefix, *place) = narrowed(&counts, *prefix << digit, digit, *place)?;
        }
        known += digit;
    }
    Ok((count, wanted.into_iter().map(|(key, _)| key).collect()))
}

/// The first bits, from `from` on with other last `digit` bits, that the value at `place` has, and its place among
/// those that share them.
fn narrowed(counts: &BTreeMap<u64, u64>, from: u64, digit: u32, mut place: u64) -> Result<(u64, u64)> {
    for (bits, count) in counts.range(from..=from | ((1 << digit) - 1)) {
        if place < *count {
            return Ok((*bits, place));
        }
        place -= count;
    }
    // Each pass sees the same values.
    Err(Error::internal("values that are not there any more"))
}

/// As [`select`], with the memory that a quantile may take.
pub(super) fn select_values(
    data_type: &DataType,
    places: impl Fn(u64) -> Vec<u64>,
    pass: &mut Pass<'_>,
) -> Result<OrderStatistics> {
    let key_type = key_type(data_type)?;
    let (count, keys) = select(key_type.width() as u32 * 8, MAX_KEPT_KEYS, places, pass)?;
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
