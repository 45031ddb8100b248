//! Sort: the positions of a block's values in the order of the values.
//!
//! 1. Each key is mapped to a prefix of at most 22 bits in the same order (`prefix`).
//! 2. Two passes of radix sort order the keys by prefix (`radix`).
//! 3. Insertion sort orders keys that share a prefix (`ties`), which are few in most blocks.
//! 4. If they are many, step 3 stops early, and radix passes over all bits of the keys follow.
//!
//! While a block is sorted, `places` holds the indexes of its keys.

mod prefix;
mod radix;
mod ties;

use hyperslab_array::{Error, Result};

use prefix::{PREFIX_BITS, Prefixes, Shares, SpreadPrefixes};
use radix::{BUCKETS, CountDigits, DIGIT_BITS, Digits, MAX_KEYS, RadixPasses, Words};
use ties::SortTies;

use super::block_keys::{Key, key_at};

/// The buffers of one thread, reused from block to block.
pub(crate) struct Sorter {
    prefixes: Vec<u32>,
    halfway: Words,
    words: Words,
    places: Vec<u16>,
    spare: Vec<u16>,
    /// Selects the widest vector instructions of the processor at run time.
    arch: pulp::Arch,
}

impl Default for Sorter {
    fn default() -> Self {
        let words = || Box::new([0; MAX_KEYS]);
        Self { prefixes: Vec::new(), halfway: words(), words: words(), places: Vec::new(), spare: Vec::new(), arch: pulp::Arch::new() }
    }
}

impl Sorter {
    /// Sorts at most 65,536 keys. Appends their positions in the order of the keys to `order`, and every `step`th sorted
    /// key, starting with the first, to `sorted`. The sort is stable. Key n is at `positions[n]`, or at n if that is `None`.
    /// `min` and `max` are the smallest and the largest key.
    pub fn sort<K: Key>(
        &mut self,
        keys: &[K],
        (min, max): (K, K),
        positions: Option<&[u16]>,
        order: &mut Vec<u16>,
        step: usize,
        sorted: &mut Vec<K>,
    ) -> Result<()> {
        if keys.len() > MAX_KEYS || positions.is_some_and(|positions| positions.len() != keys.len()) {
            return Err(Error::internal("a block has too many keys to sort, or not one position for each"));
        }
        if keys.is_sorted() {
            match positions {
                Some(positions) => order.extend_from_slice(positions),
                None => order.extend((0..keys.len()).map(|place| place as u16)),
            }
            sorted.extend(keys.iter().step_by(step));
            return Ok(());
        }
        let min: u64 = min.into();
        let bits = u64::BITS - (Into::<u64>::into(max) - min).leading_zeros();
        self.sort_by_prefix(keys, min, bits);
        let words = self.words.get(..keys.len()).ok_or_else(|| Error::internal("a block has fewer prefixes than keys"))?;
        let untied = bits <= PREFIX_BITS || self.arch.dispatch(SortTies { keys, words, places: &mut self.places });
        if !untied {
            self.sort_by_digits(keys, min, bits);
        }
        // Below, each of these is an index into `keys` and `positions`.
        if self.places.len() != keys.len() || self.places.iter().any(|place| usize::from(*place) >= keys.len()) {
            return Err(Error::internal("the sorted positions of a block are not those of its keys"));
        }
        match positions {
            Some(positions) => order.extend(self.places.iter().filter_map(|place| positions.get(usize::from(*place)))),
            None => order.extend_from_slice(&self.places),
        }
        sorted.extend(self.places.iter().step_by(step).map(|place| key_at(keys, *place)));
        Ok(())
    }

    /// Sorts the indexes of the keys by prefix. The largest key minus `min` has `bits` bits.
    fn sort_by_prefix<K: Key>(&mut self, keys: &[K], min: u64, bits: u32) {
        let upper = bits.min(PREFIX_BITS);
        let first = upper.div_ceil(2);
        let Self { prefixes, halfway, words, places, arch, .. } = self;
        prefixes.resize(keys.len(), 0);
        arch.dispatch(Prefixes { keys, min, low: bits - upper, prefixes });
        let mut digits = Digits::new();
        arch.dispatch(CountDigits { prefixes, bits: first, digits: &mut digits });
        if bits > PREFIX_BITS && are_crowded(&digits.seconds, keys.len()) {
            arch.dispatch(SpreadPrefixes { keys, min, bits, shares: &Shares::of(&digits.seconds), prefixes });
            arch.dispatch(CountDigits { prefixes, bits: first, digits: &mut digits });
        }
        digits.turn_into_starts();
        arch.dispatch(RadixPasses { prefixes, bits: first, digits: &mut digits, halfway, words, places });
    }

    /// Sorts `places` by all bits of the keys. The sort is stable.
    fn sort_by_digits<K: Key>(&mut self, keys: &[K], min: u64, bits: u32) {
        let passes = bits.div_ceil(DIGIT_BITS).max(1);
        let digit = bits.div_ceil(passes);
        self.spare.resize(keys.len(), 0);
        for pass in 0..passes {
            let of = |place: u16| ((Into::<u64>::into(key_at(keys, place)) - min) >> (pass * digit)) as usize & ((1 << digit) - 1) & (BUCKETS - 1);
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

/// Whether more than about a quarter of the keys would share a prefix with another key, if the keys of each bucket were
/// spread evenly over its prefixes.
fn are_crowded(counts: &[u16; BUCKETS], keys: usize) -> bool {
    let pairs: u64 = counts.iter().map(|count| u64::from(*count) * u64::from(*count)).sum();
    pairs >> DIGIT_BITS > keys as u64 / 4
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sort<K: Key>(keys: &[K], positions: Option<&[u16]>, order: &mut Vec<u16>, sorted: &mut Vec<K>) {
        let (Some(min), Some(max)) = (keys.iter().min(), keys.iter().max()) else { return };
        assert!(Sorter::default().sort(keys, (*min, *max), positions, order, 1, sorted).is_ok());
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
        let mut numbers = |most: u64| (0..MAX_KEYS).map(|_| random() % most).collect::<Vec<u64>>();
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
