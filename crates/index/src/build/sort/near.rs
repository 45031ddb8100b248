//! Near: keys as numbers of at most 22 bits that are in the order of the keys, though several keys may have one number.

use super::place::{BUCKETS, DIGIT_BITS};
use crate::build::block_keys::Key;

/// Numbers that differ, as a power of two: those of one key in so many share their number with another, where keys are
/// spread evenly.
pub(crate) const BITS: u32 = 2 * DIGIT_BITS;
/// Bits of the numbers that each key of a block has for itself, so to speak.
const SPARE_BITS: u32 = BITS - 16;

/// The uppermost bits of what the keys are beyond the least: those from `low` on.
pub(crate) struct Near<'a, K> {
    pub keys: &'a [K],
    pub least: u64,
    pub low: u32,
    pub near: &'a mut [u32],
}

impl<K: Key> pulp::NullaryFnOnce for Near<'_, K> {
    type Output = ();
    #[inline(always)]
    fn call(self) {
        let Self { keys, least, low, near } = self;
        for (near, key) in near.iter_mut().zip(keys) {
            *near = ((Into::<u64>::into(*key) - least) >> low) as u32;
        }
    }
}

/// Which numbers the keys with equal uppermost bits have: the first of them, and how many.
pub(crate) struct Shares([(u32, u32); BUCKETS]);

impl Shares {
    /// As many for each bucket as keys are in it: floats on both sides of zero, and fill values far from all else, leave
    /// most buckets empty.
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

/// The number of a key by the share of its bucket, evenly within.
pub(crate) struct Spread<'a, K> {
    pub keys: &'a [K],
    pub least: u64,
    /// Of the greatest key beyond the least: at least those of a digit.
    pub bits: u32,
    pub shares: &'a Shares,
    pub near: &'a mut [u32],
}

impl<K: Key> pulp::NullaryFnOnce for Spread<'_, K> {
    type Output = ();
    #[inline(always)]
    fn call(self) {
        let Self { keys, least, bits, shares, near } = self;
        let unused = u64::BITS - bits;
        for (near, key) in near.iter_mut().zip(keys) {
            let beyond = (Into::<u64>::into(*key) - least) << unused;
            let (first, numbers) = shares.0[(beyond >> (u64::BITS - DIGIT_BITS)) as usize];
            let within = (beyond << DIGIT_BITS) >> 32;
            *near = first + ((within * u64::from(numbers)) >> 32) as u32;
        }
    }
}
