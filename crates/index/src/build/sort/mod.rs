//! Sort: the positions of a block's values in the order of the values.
//!
//! Two passes of radix sort (`place`) put them in the order of numbers of 22 bits (`near`), insertion does the rest
//! (`ties`): few keys of a block share a number. Where many do, radix passes over all bits follow.

mod near;
mod place;
mod ties;

use near::{BITS, Near, Shares, Spread};
use place::{BUCKETS, Count, DIGIT_BITS, Digits, MOST_KEYS, Place, Words};
use ties::Untie;

use super::block_keys::Key;

/// Buffers of one thread, used again from block to block.
pub(crate) struct Sorter {
    near: Vec<u32>,
    halfway: Words,
    words: Words,
    places: Vec<u16>,
    spare: Vec<u16>,
    /// The widest instructions that the processor has, not only those that all have.
    arch: pulp::Arch,
}

impl Default for Sorter {
    fn default() -> Self {
        let words = || Box::new([0; MOST_KEYS]);
        Self { near: Vec::new(), halfway: words(), words: words(), places: Vec::new(), spare: Vec::new(), arch: pulp::Arch::new() }
    }
}

impl Sorter {
    /// Appends the positions of `keys`, at most 65,536, in order of the keys, equal ones in order of their positions, to
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
        self.place(keys, least, bits);
        let untied = bits <= BITS || self.arch.dispatch(Untie { keys, words: self.words.get(..keys.len()).unwrap_or_default(), places: &mut self.places });
        if !untied {
            self.by_digits(keys, least, bits);
        }
        match positions {
            Some(positions) => order.extend(self.places.iter().map(|place| positions.get(usize::from(*place)).copied().unwrap_or_default())),
            None => order.extend_from_slice(&self.places),
        }
        sorted.extend(self.places.iter().step_by(step).map(|place| key(keys, *place)));
    }

    /// Sorts places by numbers that stand for their keys, of which the greatest has `bits` bits beyond `least`.
    fn place<K: Key>(&mut self, keys: &[K], least: u64, bits: u32) {
        let upper = bits.min(BITS);
        let first = upper.div_ceil(2);
        let Self { near, halfway, words, places, arch, .. } = self;
        near.resize(keys.len(), 0);
        arch.dispatch(Near { keys, least, low: bits - upper, near });
        let mut digits = Digits::new();
        arch.dispatch(Count { near, bits: first, digits: &mut digits });
        if bits > BITS && are_crowded(&digits.seconds, keys.len()) {
            arch.dispatch(Spread { keys, least, bits, shares: &Shares::of(&digits.seconds), near });
            arch.dispatch(Count { near, bits: first, digits: &mut digits });
        }
        digits.begin();
        arch.dispatch(Place { near, bits: first, digits: &mut digits, halfway, words, places });
    }

    /// Sorts the places by all bits of their keys; those of equal keys stay in their order.
    fn by_digits<K: Key>(&mut self, keys: &[K], least: u64, bits: u32) {
        let passes = bits.div_ceil(DIGIT_BITS).max(1);
        let digit = bits.div_ceil(passes);
        self.spare.resize(keys.len(), 0);
        for pass in 0..passes {
            let of = |place: u16| ((Into::<u64>::into(key(keys, place)) - least) >> (pass * digit)) as usize & ((1 << digit) - 1) & (BUCKETS - 1);
            let mut starts = [0u32; BUCKETS];
            self.places.iter().for_each(|place| starts[of(*place)] += 1);
            let mut next = 0;
            for start in &mut starts {
                let here = *start;
                *start = next;
                next += here;
            }
            for place in &self.places {
                let start = &mut starts[of(*place)];
                if let Some(slot) = self.spare.get_mut(*start as usize) {
                    *slot = *place;
                }
                *start += 1;
            }
            std::mem::swap(&mut self.places, &mut self.spare);
        }
    }
}

/// Whether more than about a quarter of the keys would share a number with another, were those of a bucket spread evenly
/// over its numbers.
fn are_crowded(counts: &[u16; BUCKETS], keys: usize) -> bool {
    let pairs: u64 = counts.iter().map(|count| u64::from(*count) * u64::from(*count)).sum();
    pairs >> DIGIT_BITS > keys as u64 / 4
}

fn key<K: Key>(keys: &[K], place: u16) -> K {
    keys.get(usize::from(place)).copied().unwrap_or_default()
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
            floats in proptest::collection::vec(prop_oneof![-4f64..4.0, Just(1e20), Just(0.0), Just(-0.0), 1e-300..1e-299], 0..400),
        ) {
            check(&wide)?;
            check(&close)?;
            check(&apart.iter().map(|(high, low)| high << 62 | low).collect::<Vec<u64>>())?;
            check(&narrow)?;
            check(&small)?;
            // On both sides of zero, with fill values far away: most buckets of the upper bits are empty.
            check(&floats.iter().map(|value| hyperslab_predicate::order_key::float64(*value)).collect::<Vec<u64>>())?;
            check(&floats.iter().map(|value| hyperslab_predicate::order_key::float32(*value as f32)).collect::<Vec<u32>>())?;
            // Few ties in the upper bits are put right by insertion, many by all digits.
            check(&nearly.iter().map(|(high, low)| high << 24 | low).collect::<Vec<u32>>())?;
            let spread = |(n, (high, low)): (usize, &(u32, u32))| (n as u32).wrapping_mul(2_654_435_761) & !7 | ((high + low) & 7);
            check(&nearly.iter().enumerate().map(spread).collect::<Vec<u32>>())?;
        }
    }

    /// Blocks as large as they may be, where counts reach their ends.
    #[test]
    fn whole_blocks_are_sorted() -> Result<(), TestCaseError> {
        let mut state = 1u64;
        let mut random = move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state >> 20
        };
        let mut numbers = |most: u64| (0..MOST_KEYS).map(|_| random() % most).collect::<Vec<u64>>();
        let (wide, one, few) = (numbers(1 << 44), numbers(2), numbers(700));
        check(&wide)?;
        check(&one)?;
        check(&one.iter().map(|bit| bit << 63).collect::<Vec<u64>>())?;
        check(&few.iter().map(|number| ((number % 5) << 60) | (number * number)).collect::<Vec<u64>>())?;
        let normal = |number: &u64| (*number as f64 / f64::from(1 << 22) - 2097152.0 / 1e6).powi(3) / 1e9;
        check(&wide.iter().map(|number| hyperslab_predicate::order_key::float64(normal(number))).collect::<Vec<u64>>())?;
        check(&wide.iter().map(|number| hyperslab_predicate::order_key::float32(normal(number) as f32)).collect::<Vec<u32>>())
    }
}
