//! Sort: the positions of a block's values in the order of the values.
//!
//! Radix sort of the part of the keys that differs, 33 bits at most, with the position in the
//! lowest 16 bits of the same word; what is left of longer keys is compared where that part ties.

use super::keys::Key;

/// Bits of a position in a block.
const POSITION_BITS: u32 = 16;
/// Bits of a key that are sorted by radix, at most: three passes.
const RADIX_BITS: u32 = 33;
/// Bits of one pass, at most.
const DIGIT_BITS: u32 = 11;

/// Buffers of one thread, used again from block to block.
#[derive(Default)]
pub(super) struct Sorter {
    words: Vec<u64>,
    spare: Vec<u64>,
}

impl Sorter {
    /// Appends the positions of `keys` in order of the keys, equal ones in order of their positions, to
    /// `order`, and the keys in order to `sorted`. Key n belongs to position `positions[n]`, or n.
    pub fn sort<K: Key>(&mut self, keys: &[K], positions: Option<&[u16]>, order: &mut Vec<u16>, sorted: &mut Vec<K>) {
        let Some(&first) = keys.first() else { return };
        let (mut least, mut greatest) = (first, first);
        for key in keys {
            least = least.min(*key);
            greatest = greatest.max(*key);
        }
        if keys.is_sorted() {
            match positions {
                Some(positions) => order.extend_from_slice(positions),
                None => order.extend((0..keys.len()).map(|position| position as u16)),
            }
            sorted.extend_from_slice(keys);
            return;
        }
        let least: u64 = least.into();
        let bits = u64::BITS - (Into::<u64>::into(greatest) - least).leading_zeros();
        let shift = bits.saturating_sub(RADIX_BITS);
        let word = |position: u64, key: &K| ((Into::<u64>::into(*key) - least) >> shift) << POSITION_BITS | position;
        self.words.clear();
        match positions {
            Some(positions) => self.words.extend(positions.iter().zip(keys).map(|(position, key)| word((*position).into(), key))),
            None => self.words.extend((0..).zip(keys).map(|(position, key)| word(position, key))),
        }
        self.spare.resize(keys.len(), 0);
        self.radix(bits - shift);
        if shift == 0 {
            order.extend(self.words.iter().map(|word| *word as u16));
            let key = |word: &u64| K::from_u64(least + (word >> POSITION_BITS));
            sorted.extend(self.words.iter().map(key));
            return;
        }
        // Places of positions among the keys, where positions are not places.
        let place = |position: u16| match positions {
            Some(positions) => positions.partition_point(|p| *p < position),
            None => position.into(),
        };
        let key = |word: &u64| keys.get(place(*word as u16)).copied().unwrap_or(first);
        let mut full: Vec<(K, u16)> = self.words.iter().map(|word| (key(word), *word as u16)).collect();
        // Equal in their upper bits, and in order of their positions so far.
        full.chunk_by_mut(|a, b| (Into::<u64>::into(a.0) - least) >> shift == (Into::<u64>::into(b.0) - least) >> shift).for_each(|tied| {
            if !tied.is_sorted() {
                tied.sort_unstable();
            }
        });
        order.extend(full.iter().map(|(_, position)| *position));
        sorted.extend(full.iter().map(|(key, _)| *key));
    }

    /// Sorts `words` by the `bits` above their positions.
    fn radix(&mut self, bits: u32) {
        let passes = bits.div_ceil(DIGIT_BITS).max(1);
        let digit = bits.div_ceil(passes);
        let mask = (1u64 << digit) - 1;
        let mut counts = [[0u32; 1 << DIGIT_BITS]; 3];
        let [first, second, third] = &mut counts;
        let of = |word: u64, pass: u32| ((word >> (POSITION_BITS + pass * digit)) & mask) as usize & ((1 << DIGIT_BITS) - 1);
        match passes {
            1 => self.words.iter().for_each(|word| first[of(*word, 0)] += 1),
            2 => self.words.iter().for_each(|word| {
                first[of(*word, 0)] += 1;
                second[of(*word, 1)] += 1;
            }),
            _ => self.words.iter().for_each(|word| {
                first[of(*word, 0)] += 1;
                second[of(*word, 1)] += 1;
                third[of(*word, 2)] += 1;
            }),
        }
        for (pass, counts) in (0..passes).zip(&mut counts) {
            let mut next = 0u32;
            for count in counts.iter_mut() {
                let here = *count;
                *count = next;
                next += here;
            }
            for word in &self.words {
                let place = &mut counts[of(*word, pass)];
                if let Some(slot) = self.spare.get_mut(*place as usize) {
                    *slot = *word;
                }
                *place += 1;
            }
            std::mem::swap(&mut self.words, &mut self.spare);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check<K: Key + std::fmt::Debug>(keys: &[K]) -> Result<(), TestCaseError> {
        let (mut order, mut sorted) = (Vec::new(), Vec::new());
        Sorter::default().sort(keys, None, &mut order, &mut sorted);
        let mut wanted: Vec<u16> = (0..keys.len()).map(|n| n as u16).collect();
        wanted.sort_by_key(|n| keys[usize::from(*n)]);
        prop_assert_eq!(&order, &wanted);
        let keys_in_order: Vec<K> = wanted.iter().map(|n| keys[usize::from(*n)]).collect();
        prop_assert_eq!(&sorted, &keys_in_order);
        // Every third position left out.
        let (places, some): (Vec<u16>, Vec<K>) = keys.iter().enumerate().filter(|(n, _)| n % 3 != 0).map(|(n, key)| (n as u16, *key)).unzip();
        let (mut order, mut sorted) = (Vec::new(), Vec::new());
        Sorter::default().sort(&some, Some(&places), &mut order, &mut sorted);
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
        ) {
            check(&wide)?;
            check(&close)?;
            check(&apart.iter().map(|(high, low)| high << 62 | low).collect::<Vec<u64>>())?;
            check(&narrow)?;
            check(&small)?;
        }
    }
}
