//! Lookup of a column's numbers in a set, in time that hardly depends on the size of the set.

use arrow_buffer::BooleanBuffer;

use super::bits::bits;

/// Maximum number of numbers in a set that is searched linearly.
const MAX_LINEAR_NUMBERS: usize = 8;
/// Maximum bytes of a bitmap that is used for any set.
const MAX_BITMAP_BYTES: u64 = 32 << 10;
/// Minimum number of filter bits, and of table slots, per number.
const FILTER_BITS: usize = 16;
const TABLE_SLOTS: usize = 2;

/// A set of 64-bit numbers: integers, or the bits of floats.
#[derive(Debug)]
pub(super) enum Lookup {
    Empty,
    /// Few numbers, padded with the last one.
    Few([u64; MAX_LINEAR_NUMBERS]),
    /// A bit for each number from `first` on.
    Dense {
        first: u64,
        words: Vec<u64>,
    },
    Hashed(Hashed),
}

/// A hash table with linear probing, preceded by a bit filter that fits into the cache.
#[derive(Debug)]
pub(super) struct Hashed {
    filter: Vec<u64>,
    filter_shift: u32,
    slots: Vec<u64>,
    slots_shift: u32,
    /// Marks empty slots; not in the set.
    empty: u64,
}

fn hash(number: u64) -> u64 {
    (number ^ (number >> 32)).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

impl Lookup {
    /// The set of `numbers`, which must be distinct.
    pub fn new(numbers: &[u64]) -> Self {
        let (Some(first), Some(last)) = (numbers.first(), numbers.last()) else { return Self::Empty };
        if numbers.len() <= MAX_LINEAR_NUMBERS {
            let mut few = [*last; MAX_LINEAR_NUMBERS];
            few.iter_mut().zip(numbers).for_each(|(slot, number)| *slot = *number);
            return Self::Few(few);
        }
        // Numbers of both signs wrap around at the end.
        let span = numbers.iter().map(|number| number.wrapping_sub(*first)).max().unwrap_or(0);
        if span / 8 < MAX_BITMAP_BYTES.max(8 * numbers.len() as u64) {
            let mut words = vec![0u64; (span / 64 + 1) as usize];
            for number in numbers {
                let place = number.wrapping_sub(*first);
                if let Some(word) = words.get_mut((place / 64) as usize) {
                    *word |= 1 << (place % 64);
                }
            }
            return Self::Dense { first: *first, words };
        }
        Self::Hashed(Hashed::new(numbers))
    }

    /// Bit n is whether the number of value n is in the set.
    pub fn test<T: Copy>(&self, values: &[T], number: impl Fn(T) -> u64) -> BooleanBuffer {
        match self {
            Self::Empty => BooleanBuffer::new_unset(values.len()),
            Self::Few(few) => bits(values, |value| {
                let value = number(value);
                few.iter().fold(false, |found, one| found | (*one == value))
            }),
            Self::Dense { first, words } => bits(values, |value| {
                let place = number(value).wrapping_sub(*first);
                usize::try_from(place / 64).ok().and_then(|word| words.get(word)).is_some_and(|word| word >> (place % 64) & 1 == 1)
            }),
            Self::Hashed(hashed) => bits(values, |value| hashed.contains(number(value))),
        }
    }
}

impl Hashed {
    fn new(numbers: &[u64]) -> Self {
        let bits = (numbers.len() * FILTER_BITS).next_power_of_two().max(64);
        let slots = (numbers.len() * TABLE_SLOTS).next_power_of_two();
        let known: std::collections::HashSet<u64> = (0..=numbers.len() as u64).collect();
        let taken: std::collections::HashSet<u64> = numbers.iter().copied().filter(|number| known.contains(number)).collect();
        // Among more numbers than the set has, at least one is not in it.
        let empty = (0..=numbers.len() as u64).find(|number| !taken.contains(number)).unwrap_or(0);
        let mut hashed = Self {
            filter: vec![0; bits / 64],
            filter_shift: 64 - bits.trailing_zeros(),
            slots: vec![empty; slots],
            slots_shift: 64 - slots.trailing_zeros(),
            empty,
        };
        for number in numbers {
            let bit = hash(*number) >> hashed.filter_shift;
            if let Some(word) = hashed.filter.get_mut((bit / 64) as usize) {
                *word |= 1 << (bit % 64);
            }
            let free = hashed.probes(*number).find(|place| hashed.slots.get(*place) == Some(&empty));
            if let Some(slot) = free.and_then(|place| hashed.slots.get_mut(place)) {
                *slot = *number;
            }
        }
        hashed
    }

    /// The slots of a number in probing order.
    fn probes(&self, number: u64) -> impl Iterator<Item = usize> + use<> {
        let (count, start) = (self.slots.len(), (hash(number) >> self.slots_shift) as usize);
        (start..count).chain(0..start)
    }

    fn contains(&self, number: u64) -> bool {
        let bit = hash(number) >> self.filter_shift;
        self.filter.get((bit / 64) as usize).is_some_and(|word| word >> (bit % 64) & 1 == 1) && self.is_in_table(number)
    }

    fn is_in_table(&self, number: u64) -> bool {
        let found = self.probes(number).filter_map(|place| self.slots.get(place)).find(|slot| **slot == number || **slot == self.empty);
        found.is_some_and(|slot| *slot == number) && number != self.empty
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashSet;

    fn check(numbers: &[u64], values: &[u64]) -> Result<(), TestCaseError> {
        let set: HashSet<u64> = numbers.iter().copied().collect();
        let distinct: Vec<u64> = set.iter().copied().collect();
        let lookup = Lookup::new(&distinct);
        let near = distinct.iter().flat_map(|number| [*number, number.wrapping_add(1), number.wrapping_sub(1)]);
        let values: Vec<u64> = values.iter().copied().chain(near).chain([0, 1, u64::MAX, 1 << 63]).collect();
        let found: Vec<bool> = lookup.test(&values, |value| value).iter().collect();
        let wanted: Vec<bool> = values.iter().map(|value| set.contains(value)).collect();
        prop_assert_eq!(found, wanted);
        Ok(())
    }

    proptest! {
        #[test]
        fn lookups_find_what_sets_have(
            wide in proptest::collection::vec(any::<u64>(), 0..300),
            close in proptest::collection::vec(0u64..1000, 0..300),
            round_zero in proptest::collection::vec(-100i64..100, 0..100),
            floats in proptest::collection::vec(any::<i16>(), 0..300),
            few in proptest::collection::vec(any::<u64>(), 0..9),
        ) {
            check(&wide, &close)?;
            check(&close, &wide)?;
            check(&few, &wide)?;
            check(&round_zero.iter().map(|n| n.cast_unsigned()).collect::<Vec<_>>(), &wide)?;
            check(&floats.iter().map(|n| f64::from(*n).to_bits()).collect::<Vec<_>>(), &wide)?;
            check(&close.iter().map(|n| n << 40).collect::<Vec<_>>(), &close)?;
        }
    }

    #[test]
    fn numbers_in_a_pattern_stay_quick_to_find() -> Result<(), &'static str> {
        for numbers in [
            (0..50_000u64).map(|n| n << 20).collect::<Vec<_>>(),
            (0..50_000).map(|n| n * 1_000_003).collect(),
            (0..50_000).map(|n| (n as f64).to_bits()).collect(),
        ] {
            let Lookup::Hashed(hashed) = Lookup::new(&numbers) else { return Err("not hashed") };
            let steps = |number: &u64| hashed.probes(*number).take_while(|place| hashed.slots.get(*place).is_some_and(|slot| slot != number)).count();
            let worst = numbers.iter().map(steps).max().unwrap_or(0);
            assert!(worst < 200, "{worst}");
        }
        Ok(())
    }
}
