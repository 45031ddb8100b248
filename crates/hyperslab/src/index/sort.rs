//! Sort: the positions of a block's values in the order of the values.
//!
//! Two passes of radix sort put them in the order of the upper bits of the part of the keys that differs, insertion
//! does the rest: few keys of a block share so many bits. Where many do, radix passes over all bits follow. What is
//! moved is small, 32 bits in the first pass and 16 in the others, so that all of it stays in the second-level cache.

use super::keys::Key;

/// Bits of one pass, at most.
const DIGIT_BITS: u32 = 11;
const BUCKETS: usize = 1 << DIGIT_BITS;
/// Bits of a place among a block's keys.
const PLACE_BITS: u32 = 16;

/// Buffers of one thread, used again from block to block.
#[derive(Default)]
pub(super) struct Sorter {
    /// What the second pass sorts by, and the place.
    words: Vec<u32>,
    /// Places of keys.
    places: Vec<u16>,
    spare: Vec<u16>,
}

impl Sorter {
    /// Appends the positions of `keys` in order of the keys, equal ones in order of their positions, to
    /// `order`, and of the keys in order each `step`th, from the first on, to `sorted`. Key n belongs to position
    /// `positions[n]`, or n. `least` and `greatest` are the ends of the keys.
    pub fn sort<K: Key>(&mut self, keys: &[K], (least, greatest): (K, K), positions: Option<&[u16]>, order: &mut Vec<u16>, step: usize, sorted: &mut Vec<K>) {
        if keys.is_sorted() {
            match positions {
                Some(positions) => order.extend_from_slice(positions),
                None => order.extend((0..keys.len()).map(|place| place as u16)),
            }
            sorted.extend(keys.iter().step_by(step));
            return;
        }
        let least: u64 = least.into();
        let bits = u64::BITS - (Into::<u64>::into(greatest) - least).leading_zeros();
        let upper = bits.min(2 * DIGIT_BITS);
        self.by_two_digits(keys, least, bits - upper, upper);
        if bits > upper && !insert(keys, &mut self.places) {
            self.by_digits(keys, least, bits);
        }
        match positions {
            Some(positions) => order.extend(self.places.iter().map(|place| positions.get(usize::from(*place)).copied().unwrap_or_default())),
            None => order.extend_from_slice(&self.places),
        }
        sorted.extend(self.places.iter().step_by(step).map(|place| key(keys, *place)));
    }

    /// Sorts places by `bits` bits of their keys, from `low` on.
    fn by_two_digits<K: Key>(&mut self, keys: &[K], least: u64, low: u32, bits: u32) {
        let digit = bits.div_ceil(2).max(1);
        let mask = (1u64 << digit) - 1;
        let first = |key: u64| (key & mask) as usize & (BUCKETS - 1);
        let second = |key: u64| (key >> digit) as usize & (BUCKETS - 1);
        let keys = || keys.iter().map(|key| (Into::<u64>::into(*key) - least) >> low);
        let (mut firsts, mut seconds) = ([0u32; BUCKETS], [0u32; BUCKETS]);
        for key in keys() {
            firsts[first(key)] += 1;
            seconds[second(key)] += 1;
        }
        into_starts(&mut firsts);
        into_starts(&mut seconds);
        self.words.resize(keys().len(), 0);
        self.places.resize(keys().len(), 0);
        for (number, key) in keys().enumerate() {
            let place = &mut firsts[first(key)];
            if let Some(slot) = self.words.get_mut(*place as usize) {
                *slot = (second(key) as u32) << PLACE_BITS | number as u32;
            }
            *place += 1;
        }
        for word in &self.words {
            let place = &mut seconds[(word >> PLACE_BITS) as usize & (BUCKETS - 1)];
            if let Some(slot) = self.places.get_mut(*place as usize) {
                *slot = *word as u16;
            }
            *place += 1;
        }
    }

    /// Sorts the places by all bits of their keys; those of equal keys stay in their order.
    fn by_digits<K: Key>(&mut self, keys: &[K], least: u64, bits: u32) {
        let passes = bits.div_ceil(DIGIT_BITS).max(1);
        let digit = bits.div_ceil(passes);
        self.spare.resize(keys.len(), 0);
        for pass in 0..passes {
            let of = |place: u16| ((Into::<u64>::into(key(keys, place)) - least) >> (pass * digit)) as usize & ((1 << digit) - 1) & (BUCKETS - 1);
            let mut counts = [0u32; BUCKETS];
            self.places.iter().for_each(|place| counts[of(*place)] += 1);
            into_starts(&mut counts);
            for place in &self.places {
                let start = &mut counts[of(*place)];
                if let Some(slot) = self.spare.get_mut(*start as usize) {
                    *slot = *place;
                }
                *start += 1;
            }
            std::mem::swap(&mut self.places, &mut self.spare);
        }
    }
}

fn key<K: Key>(keys: &[K], place: u16) -> K {
    keys.get(usize::from(place)).copied().unwrap_or_default()
}

/// From how many there are in each bucket to where each begins.
fn into_starts(counts: &mut [u32; BUCKETS]) {
    let mut next = 0;
    for count in counts {
        let here = *count;
        *count = next;
        next += here;
    }
}

/// Sorts places that are nearly in the order of their keys, by insertion. `false` if that becomes long; those of equal
/// keys stay in their order in any case.
fn insert<K: Key>(keys: &[K], places: &mut [u16]) -> bool {
    let mut budget = places.len() / 2;
    let mut greatest = K::default();
    for end in 0..places.len() {
        let Some(&place) = places.get(end) else { return true };
        let here = key(keys, place);
        if greatest <= here {
            greatest = here;
            continue;
        }
        let mut to = end;
        while let Some(before) = to.checked_sub(1).and_then(|before| places.get(before)).copied().filter(|before| key(keys, *before) > here) {
            if let Some(slot) = places.get_mut(to) {
                *slot = before;
            }
            to -= 1;
        }
        if let Some(slot) = places.get_mut(to) {
            *slot = place;
        }
        match budget.checked_sub(end - to) {
            Some(left) => budget = left,
            None => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sort<K: Key>(keys: &[K], positions: Option<&[u16]>, order: &mut Vec<u16>, sorted: &mut Vec<K>) {
        let (Some(least), Some(greatest)) = (keys.iter().min(), keys.iter().max()) else { return };
        Sorter::default().sort(keys, (*least, *greatest), positions, order, 1, sorted);
    }

    fn check<K: Key + std::fmt::Debug>(keys: &[K]) -> Result<(), TestCaseError> {
        let (mut order, mut sorted) = (Vec::new(), Vec::new());
        sort(keys, None, &mut order, &mut sorted);
        let mut wanted: Vec<u16> = (0..keys.len()).map(|n| n as u16).collect();
        wanted.sort_by_key(|n| keys[usize::from(*n)]);
        prop_assert_eq!(&order, &wanted);
        let keys_in_order: Vec<K> = wanted.iter().map(|n| keys[usize::from(*n)]).collect();
        prop_assert_eq!(&sorted, &keys_in_order);
        // Every third position left out.
        let (places, some): (Vec<u16>, Vec<K>) = keys.iter().enumerate().filter(|(n, _)| n % 3 != 0).map(|(n, key)| (n as u16, *key)).unzip();
        let (mut order, mut sorted) = (Vec::new(), Vec::new());
        sort(&some, Some(&places), &mut order, &mut sorted);
        let wanted: Vec<u16> = wanted.into_iter().filter(|n| n % 3 != 0).collect();
        prop_assert_eq!(&order, &wanted);
        prop_assert!(sorted.is_sorted());
        Ok(())
    }

    proptest! {
        #[test]
        fn positions_come_in_the_order_of_their_keys(
            wide in proptest::collection::vec(any::<u64>(), 0..400),
            close in proptest::collection::vec(0u64..40, 0..400),
            apart in proptest::collection::vec((0u64..4, 0u64..9), 0..400),
            narrow in proptest::collection::vec(any::<u32>(), 0..400),
            small in proptest::collection::vec(any::<u8>(), 0..400),
            nearly in proptest::collection::vec((0u32..40, 0u32..3), 0..400),
        ) {
            check(&wide)?;
            check(&close)?;
            check(&apart.iter().map(|(high, low)| high << 62 | low).collect::<Vec<u64>>())?;
            check(&narrow)?;
            check(&small)?;
            // Few ties in the upper bits are put right by insertion, many by all digits.
            check(&nearly.iter().map(|(high, low)| high << 24 | low).collect::<Vec<u32>>())?;
            let spread = |(n, (high, low)): (usize, &(u32, u32))| (n as u32).wrapping_mul(2_654_435_761) & !7 | ((high + low) & 7);
            check(&nearly.iter().enumerate().map(spread).collect::<Vec<u32>>())?;
        }
    }
}
