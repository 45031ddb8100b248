//! Ties: insertion sort of keys that share a prefix.

use super::radix::may_tie;
use crate::block::block_keys::{Key, key_at};

/// Pairs of words that are compared in one vectorized round.
const PAIRS_PER_ROUND: usize = 64;

/// Sorts `places`, which are in the order of their keys' prefixes, by key. Returns `false` if it gives up because there are
/// too many ties. The sort is stable in either case.
pub(crate) struct SortTies<'a, K> {
    pub keys: &'a [K],
    /// The words of the places, in the same order.
    pub words: &'a [u32],
    pub places: &'a mut [u16],
}

impl<K: Key> pulp::NullaryFnOnce for SortTies<'_, K> {
    type Output = bool;
    #[inline(always)]
    fn call(self) -> bool {
        let Self { keys, words, places } = self;
        // Radix passes over all bits cost about as much as this number of insertion steps.
        let mut steps = 2 * places.len();
        let mut ties = [0u8; PAIRS_PER_ROUND];
        for start in (0..words.len()).step_by(PAIRS_PER_ROUND) {
            let words = words.get(start..words.len().min(start + PAIRS_PER_ROUND + 1)).unwrap_or_default();
            ties.fill(0);
            for (tie, (one, next)) in ties.iter_mut().zip(words.iter().zip(words.iter().skip(1))) {
                *tie = u8::from(may_tie(*one, *next));
            }
            let (eights, _) = ties.as_chunks::<8>();
            for (index, eight) in eights.iter().enumerate() {
                let mut left = u64::from_le_bytes(*eight);
                while left != 0 {
                    let second = start + 8 * index + (left.trailing_zeros() / 8) as usize + 1;
                    left &= left - 1;
                    match steps.checked_sub(insert(keys, places, second)) {
                        Some(rest) => steps = rest,
                        None => return false,
                    }
                }
            }
        }
        true
    }
}

/// Moves the place at index `from` before the places of greater keys. Returns the distance.
#[inline(always)]
fn insert<K: Key>(keys: &[K], places: &mut [u16], from: usize) -> usize {
    let Some(&place) = places.get(from) else { return 0 };
    let here = key_at(keys, place);
    let mut to = from;
    while let Some(before) = to.checked_sub(1).and_then(|before| places.get(before)).copied().filter(|before| key_at(keys, *before) > here) {
        if let Some(slot) = places.get_mut(to) {
            *slot = before;
        }
        to -= 1;
    }
    if let Some(slot) = places.get_mut(to) {
        *slot = place;
    }
    from - to
}
