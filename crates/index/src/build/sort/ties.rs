//! Ties: keys that share their number are put in order by insertion.

use super::key;
use super::place::may_tie;
use crate::build::block_keys::Key;

/// Pairs of words that are looked at together.
const TOGETHER: usize = 64;

/// Sorts places that are in the order of their keys' numbers. `false` if that becomes long; places of equal keys stay in
/// their order in any case.
pub(crate) struct Untie<'a, K> {
    pub keys: &'a [K],
    /// Of the places, as they are.
    pub words: &'a [u32],
    pub places: &'a mut [u16],
}

impl<K: Key> pulp::NullaryFnOnce for Untie<'_, K> {
    type Output = bool;
    #[inline(always)]
    fn call(self) -> bool {
        let Self { keys, words, places } = self;
        // A round of radix passes over all bits costs as much as so many steps.
        let mut steps = 2 * places.len();
        let mut ties = [0u8; TOGETHER];
        for start in (0..words.len()).step_by(TOGETHER) {
            let words = words.get(start..words.len().min(start + TOGETHER + 1)).unwrap_or_default();
            ties.fill(0);
            for (tie, (one, next)) in ties.iter_mut().zip(words.iter().zip(words.iter().skip(1))) {
                *tie = u8::from(may_tie(*one, *next));
            }
            let (eights, _) = ties.as_chunks::<8>();
            for (number, eight) in eights.iter().enumerate() {
                let mut left = u64::from_le_bytes(*eight);
                while left != 0 {
                    let second = start + 8 * number + (left.trailing_zeros() / 8) as usize + 1;
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

/// Moves the place numbered `from` before those of greater keys; how far.
#[inline(always)]
fn insert<K: Key>(keys: &[K], places: &mut [u16], from: usize) -> usize {
    let Some(&place) = places.get(from) else { return 0 };
    let here = key(keys, place);
    let mut to = from;
    while let Some(before) = to.checked_sub(1).and_then(|before| places.get(before)).copied().filter(|before| key(keys, *before) > here) {
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
