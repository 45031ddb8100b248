//! Prefixes: maps keys to integers of at most 22 bits. The order is kept, but several keys may share a prefix.

use super::radix::{BUCKETS, DIGIT_BITS};
use crate::block::block_keys::Key;

/// Maximum number of bits of a prefix: one for each pass of the radix sort, times the bits of a pass. With evenly spread
/// keys, about 1 key in 64 shares its prefix with another one of a full block.
pub(crate) const PREFIX_BITS: u32 = 2 * DIGIT_BITS;
/// Bits of a prefix beyond those needed to count the keys of a full block: there are 2^6 prefixes per key.
const SPARE_BITS: u32 = PREFIX_BITS - 16;

/// Sets each prefix to the uppermost bits of the key minus `min`: the bits from `low` on.
pub(crate) struct Prefixes<'a, K> {
    pub keys: &'a [K],
    pub min: u64,
    pub low: u32,
    pub prefixes: &'a mut [u32],
}

impl<K: Key> pulp::NullaryFnOnce for Prefixes<'_, K> {
    type Output = ();
    #[inline(always)]
    fn call(self) {
        let Self { keys, min, low, prefixes } = self;
        for (prefixes, key) in prefixes.iter_mut().zip(keys) {
            *prefixes = ((Into::<u64>::into(*key) - min) >> low) as u32;
        }
    }
}

/// For each bucket of keys with equal uppermost bits: its first prefix, and the number of its prefixes.
pub(crate) struct Shares([(u32, u32); BUCKETS]);

impl Shares {
    /// Distributes the prefixes in proportion to the keys in each bucket: floats on both sides of zero, and fill values far
    /// away from other values, leave most buckets empty.
    pub fn of(counts: &[u16; BUCKETS]) -> Self {
        let (mut shares, mut first) = ([(0, 0); BUCKETS], 0);
        for (share, count) in shares.iter_mut().zip(counts) {
            let numbers = u32::from(*count) << SPARE_BITS;
            *share = (first, numbers);
            first += numbers;
        }
        Self(shares)
    }
}

/// Sets each prefix from the share of the key's bucket, spread evenly within the bucket.
pub(crate) struct SpreadPrefixes<'a, K> {
    pub keys: &'a [K],
    pub min: u64,
    /// Bits of the largest key minus `min`; at least the bits of a digit.
    pub bits: u32,
    pub shares: &'a Shares,
    pub prefixes: &'a mut [u32],
}

impl<K: Key> pulp::NullaryFnOnce for SpreadPrefixes<'_, K> {
    type Output = ();
    #[inline(always)]
    fn call(self) {
        let Self { keys, min, bits, shares, prefixes } = self;
        let unused = u64::BITS - bits;
        for (prefixes, key) in prefixes.iter_mut().zip(keys) {
            let beyond = (Into::<u64>::into(*key) - min) << unused;
            let (first, numbers) = shares.0[(beyond >> (u64::BITS - DIGIT_BITS)) as usize];
            let within = (beyond << DIGIT_BITS) >> 32;
            *prefixes = first + ((within * u64::from(numbers)) >> 32) as u32;
        }
    }
}
