//! Quantiles: the value at a rank among the values of each group, found in a few passes over the data.
//!
//! Each pass counts the values of each group by the next bits of their keys, which are in the order of the values, among those whose
//! bits before are already known to be those of the value sought (radix selection). What is kept does not grow with the data.

use std::sync::Arc;

use hyperslab_array::{Error, Result};

use super::elements::beyond;
use super::fold::Number;
use super::request::Quantile;
use super::spans::{At, is_kept};

/// Bits of a key that a pass tells apart: with few groups, counts of long digits stay in the processor's caches.
const DIGIT: u32 = 11;
const LONG_DIGIT: u32 = 16;
const FEW_GROUPS: usize = 8;
/// Groups beyond which rows are better sorted.
const MAX_GROUPS: usize = 2048;

/// The bits of a key that one pass tells apart.
fn digit_bits(groups: usize) -> u32 {
    if groups > FEW_GROUPS { DIGIT } else { LONG_DIGIT }
}

/// Bytes of the counts of one group.
///
/// # Errors
/// `LimitExceeded` for too many groups.
pub(super) fn bytes_per_group(groups: usize) -> Result<usize> {
    if groups > MAX_GROUPS {
        return Err(Error::limit_exceeded(format!("quantiles of {groups} groups")));
    }
    Ok(size_of::<u64>() << digit_bits(groups))
}

/// What is known of a quantile of each group.
#[derive(Debug, Clone)]
pub(super) struct Search {
    quantile: Quantile,
    /// Bits of a key.
    bits: u32,
    /// The first `known` bits of the key sought.
    prefixes: Vec<u64>,
    known: u32,
    /// Its rank among the keys that begin with them.
    ranks: Vec<u64>,
    /// The share of the next key in a value between two.
    shares: Vec<f64>,
    /// Keys of the values at the next ranks, after the last pass.
    next: Vec<u64>,
    digit: u32,
}

impl Search {
    pub fn new(quantile: Quantile, bits: u32, groups: usize) -> Self {
        let (digit, known) = (digit_bits(groups), 0);
        Self { quantile, bits, prefixes: vec![0; groups], known, ranks: vec![0; groups], shares: Vec::new(), next: Vec::new(), digit }
    }

    pub fn is_done(&self) -> bool {
        self.known == self.bits
    }

    /// Whether it may lie between two values.
    pub fn is_between(&self) -> bool {
        self.quantile.is_between
    }

    /// The keys of a group's value at the rank, and at the next one, and the share of the latter.
    pub fn found(&self, group: usize) -> (u64, u64, f64) {
        let at = |keys: &[u64]| keys.get(group).copied().unwrap_or(0);
        (at(&self.prefixes), at(&self.next), self.shares.get(group).copied().unwrap_or(0.0))
    }

    /// The bits that the next pass tells apart, and those after them.
    fn digits(&self) -> (u32, u32) {
        let digit = self.digit.min(self.bits - self.known);
        (digit, self.bits - self.known - digit)
    }

    /// Goes on with what a pass has counted.
    pub fn advance(&mut self, counted: &Digits) -> Result<()> {
        let (digit, rest) = self.digits();
        if self.known == 0 {
            let totals: Vec<u64> = counted.counts.chunks(1 << digit).map(|counts| counts.iter().sum()).collect();
            let places: Vec<(u64, f64)> = totals.iter().map(|total| self.quantile.place(*total)).collect();
            self.ranks = places.iter().map(|(rank, _)| *rank).collect();
            self.shares = places.into_iter().map(|(_, share)| share).collect();
            // Bits that all keys have need no pass of their own.
            let common = (counted.least ^ counted.most).leading_zeros().saturating_sub(u64::BITS - self.bits).min(self.bits - 1);
            if common >= digit && counted.least <= counted.most {
                self.known = common;
                self.prefixes.fill(shifted(counted.least, self.bits - common));
                return Ok(());
            }
        }
        let is_last = rest == 0;
        for (group, counts) in counted.counts.chunks(1 << digit).enumerate() {
            let (Some(prefix), Some(rank)) = (self.prefixes.get_mut(group), self.ranks.get_mut(group)) else { return Err(beyond()) };
            let mut found = 0;
            for (place, count) in counts.iter().enumerate() {
                found = place;
                if *rank < *count {
                    break;
                }
                *rank -= count;
            }
            let upper = *prefix << digit;
            *prefix = upper | found as u64;
            if is_last {
                let equal = counts.get(found).copied().unwrap_or(0);
                let later = counts.iter().enumerate().skip(found + 1).find(|(_, count)| **count > 0).map(|(place, _)| upper | place as u64);
                let above = counted.above.get(group).copied().ok_or_else(beyond)?;
                self.next.push(if *rank + 1 < equal { *prefix } else { later.unwrap_or(above) });
            }
        }
        self.known += digit;
        Ok(())
    }
}

impl Quantile {
    /// Among `count` values, the rank of the value, and the share of the next one.
    fn place(self, count: u64) -> (u64, f64) {
        let last = count.saturating_sub(1);
        if self.is_between {
            let place = last as f64 * self.fraction;
            let rank = (place.floor() as u64).min(last);
            (rank, place - rank as f64)
        } else {
            (((count as f64 * self.fraction).ceil() as u64).saturating_sub(1).min(last), 0.0)
        }
    }
}

/// A key without its last bits.
fn shifted(key: u64, bits: u32) -> u64 {
    key.checked_shr(bits).unwrap_or(0)
}

/// What one task counts in a pass.
pub(super) struct Digits {
    search: Arc<Search>,
    /// By group, values by the next digit of their keys.
    counts: Vec<u64>,
    /// By group, the least key beyond those that begin as the one sought; only the last pass asks.
    above: Vec<u64>,
    /// The least and the greatest key; only the first pass asks.
    least: u64,
    most: u64,
}

impl Digits {
    pub fn new(search: Arc<Search>, groups: usize) -> Self {
        let (digit, rest) = search.digits();
        let above = vec![u64::MAX; if rest == 0 { groups } else { 0 }];
        Self { counts: vec![0; groups << digit], above, least: u64::MAX, most: 0, search }
    }

    pub fn add<T: Number>(&mut self, values: &[T], mask: Option<&[u8]>, at: At<'_>) -> Result<()> {
        match (at, mask) {
            (At::One(group), None) => {
                let mut counts = self.of_group(group)?;
                values.iter().for_each(|value| counts.add(value.key()));
            }
            (At::One(group), Some(mask)) => {
                let mut counts = self.of_group(group)?;
                values.iter().zip(mask).filter(|(_, kept)| **kept == 1).for_each(|(value, _)| counts.add(value.key()));
            }
            (At::Following(group), _) => {
                for (place, value) in values.iter().enumerate().filter(|(place, _)| is_kept(mask, *place)) {
                    self.of_group(group + place)?.add(value.key());
                }
            }
            (At::Each(offset, groups), _) => {
                for (_, (value, group)) in values.iter().zip(groups).enumerate().filter(|(place, _)| is_kept(mask, *place)) {
                    self.of_group(offset + *group as usize)?.add(value.key());
                }
            }
        }
        Ok(())
    }

    #[inline]
    fn of_group(&mut self, group: usize) -> Result<OfGroup<'_>> {
        let (digit, rest) = self.search.digits();
        let counts = self.counts.get_mut(group << digit..(group + 1) << digit).ok_or_else(beyond)?;
        let ends = if self.search.known == 0 { Some((&mut self.least, &mut self.most)) } else { None };
        let prefix = *self.search.prefixes.get(group).ok_or_else(beyond)?;
        Ok(OfGroup { counts, above: self.above.get_mut(group), ends, prefix, digit, rest })
    }

    pub fn merge(&mut self, other: &Self) {
        self.counts.iter_mut().zip(&other.counts).for_each(|(mine, other)| *mine += other);
        self.above.iter_mut().zip(&other.above).for_each(|(mine, other)| *mine = (*mine).min(*other));
        (self.least, self.most) = (self.least.min(other.least), self.most.max(other.most));
    }
}

/// The counts of one group.
struct OfGroup<'a> {
    counts: &'a mut [u64],
    above: Option<&'a mut u64>,
    ends: Option<(&'a mut u64, &'a mut u64)>,
    prefix: u64,
    digit: u32,
    rest: u32,
}

impl OfGroup<'_> {
    #[inline(always)]
    fn add(&mut self, key: u64) {
        let upper = if let Some((least, most)) = &mut self.ends {
            (**least, **most) = (key.min(**least), key.max(**most));
            self.prefix
        } else {
            shifted(key, self.digit + self.rest)
        };
        if upper == self.prefix {
            let place = (key >> self.rest) as usize & (self.counts.len() - 1);
            self.counts.get_mut(place).into_iter().for_each(|count| *count += 1);
        } else if upper > self.prefix
            && let Some(above) = &mut self.above
        {
            **above = key.min(**above);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A value between two, with its share of the second one, by sorting.
    fn naive(quantile: Quantile, values: &[f32]) -> (f32, f32, f64) {
        let mut sorted = values.to_vec();
        sorted.sort_by(|a, b| a.partial_cmp(b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan())));
        let (rank, share) = quantile.place(values.len() as u64);
        let at = |rank: usize| sorted.get(rank).copied().unwrap_or(f32::NAN);
        (at(rank as usize), at(rank as usize + 1), share)
    }

    fn same(key: u64, value: f32) -> bool {
        let found = f32::of_key(key);
        found == value || (found.is_nan() && value.is_nan())
    }

    proptest! {
        #[test]
        fn quantiles_are_those_of_sorted_values(
            values in proptest::collection::vec(prop_oneof![any::<f32>(), Just(1.0), Just(f32::NAN), Just(-0.0), -2.0f32..2.0], 1..200),
            fraction in 0.0f64..=1.0,
            is_between in any::<bool>(),
            digit in 4u32..=11,
            groups in 1usize..4,
        ) {
            let quantile = Quantile { fraction, is_between };
            let mut search = Search { digit, ..Search::new(quantile, u32::BITS, groups) };
            let of_groups: Vec<u32> = (0..values.len()).map(|place| (place % groups) as u32).collect();
            while !search.is_done() {
                let shared = Arc::new(search.clone());
                let (mut digits, mut more) = (Digits::new(shared.clone(), groups), Digits::new(shared, groups));
                let (first, second) = values.split_at(values.len() / 2);
                let (of_first, of_second) = of_groups.split_at(first.len());
                prop_assert!(digits.add(first, None, At::Each(0, of_first)).is_ok());
                prop_assert!(more.add(second, None, At::Each(0, of_second)).is_ok());
                digits.merge(&more);
                prop_assert!(search.advance(&digits).is_ok());
            }
            for group in 0..groups {
                let own: Vec<f32> = values.iter().enumerate().filter(|(place, _)| place % groups == group).map(|(_, value)| *value).collect();
                if own.is_empty() {
                    continue;
                }
                let ((low, high, share), (wanted_low, wanted_high, wanted_share)) = (search.found(group), naive(quantile, &own));
                prop_assert!(same(low, wanted_low), "{own:?}");
                prop_assert_eq!(share, wanted_share);
                prop_assert!(share == 0.0 || same(high, wanted_high), "{own:?}");
            }
        }
    }
}
