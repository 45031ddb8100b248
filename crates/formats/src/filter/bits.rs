//! Bits of a stream, the most significant of each byte first: what nbit, scaleoffset and szip read and write.

/// Reads bits from the front of bytes.
pub(super) struct BitReader<'a> {
    bytes: &'a [u8],
    /// The next bits, at the top. What lies below the first `count` bits repeats `bytes`.
    next: u64,
    count: u32,
}

impl<'a> BitReader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, next: 0, count: 0 }
    }

    /// The next `count` bits as a number, at most 64, or `None` if fewer are left.
    #[inline]
    pub(super) fn take(&mut self, count: u32) -> Option<u64> {
        if count > 32 {
            let high = self.take_few(count - 32)?;
            return Some(high << 32 | self.take_few(32)?);
        }
        self.take_few(count)
    }

    /// The number of zeros before the next one, which is taken too, or `None` if no one bit is left.
    #[inline]
    pub(super) fn take_zeros(&mut self) -> Option<u64> {
        let mut zeros = 0;
        loop {
            let run = self.next.leading_zeros();
            if run < self.count {
                self.next = self.next.checked_shl(run + 1).unwrap_or(0);
                self.count -= run + 1;
                return Some(zeros + u64::from(run));
            }
            zeros += u64::from(self.count);
            (self.next, self.count) = (0, 0);
            self.refill();
            if self.count == 0 {
                return None;
            }
        }
    }

    #[inline]
    fn take_few(&mut self, count: u32) -> Option<u64> {
        if count == 0 {
            return Some(0);
        }
        if self.count < count {
            self.refill();
            if self.count < count {
                return None;
            }
        }
        let taken = self.next >> (64 - count);
        self.next <<= count;
        self.count -= count;
        Some(taken)
    }

    /// At least 56 bits, or all that is left.
    fn refill(&mut self) {
        if let Some(word) = self.bytes.first_chunk::<8>() {
            self.next |= u64::from_be_bytes(*word).checked_shr(self.count).unwrap_or(0);
            let whole_bytes = (63 - self.count.min(63)) / 8;
            self.count += whole_bytes * 8;
            self.bytes = self.bytes.get(usize::try_from(whole_bytes).unwrap_or(0)..).unwrap_or_default();
            return;
        }
        while self.count <= 56 {
            let Some((byte, rest)) = self.bytes.split_first() else { return };
            self.next |= u64::from(*byte) << (56 - self.count);
            self.count += 8;
            self.bytes = rest;
        }
    }
}

/// Fills `out`, numbers of `N` bytes, with what `restore` makes of numbers of `bits` bits that lie side by side
/// in `bytes`. `None` if those are too few.
pub(super) fn unpack<const N: usize>(bytes: &[u8], bits: u32, big_endian: bool, out: &mut [u8], restore: impl Fn(u64) -> u64) -> Option<()> {
    let put = |number: &mut [u8; N], value: u64| -> Option<()> {
        *number = *restore(value).to_le_bytes().first_chunk()?;
        if big_endian {
            number.reverse();
        }
        Some(())
    };
    let (numbers, _) = out.as_chunks_mut::<N>();
    let width = usize::try_from(bits).ok()?;
    // A number that begins anywhere in a byte is in the eight bytes from there on: no state to wait for.
    let words = bytes.len().checked_sub(8).filter(|_| (1..=57).contains(&bits));
    let count = words.map_or(0, |last| last.saturating_mul(8) / width + 1).min(numbers.len());
    let (fast, rest) = numbers.split_at_mut_checked(count)?;
    let mut at = 0;
    for number in fast {
        let word = u64::from_be_bytes(*bytes.get(at / 8..)?.first_chunk()?);
        put(number, word << (at % 8) >> (64 - bits))?;
        at += width;
    }
    let mut reader = BitReader::new(bytes.get(at / 8..)?);
    reader.take(u32::try_from(at % 8).ok()?)?;
    for number in rest {
        put(number, reader.take(bits)?)?;
    }
    Some(())
}

/// Concatenates bits, the most significant of each byte first.
#[derive(Default)]
pub(super) struct BitWriter {
    bytes: Vec<u8>,
    /// The bits of a byte that is not full yet, lowest last, and how many they are.
    open: u8,
    count: u32,
}

impl BitWriter {
    /// The lowest `width` bits of `value`, at most 64.
    pub(super) fn put(&mut self, value: u64, width: u32) {
        let mut left = width;
        while left > 0 {
            let room = (8 - self.count).min(left);
            let part = value.checked_shr(left - room).unwrap_or(0) & ((1 << room) - 1);
            self.open = self.open.checked_shl(room).unwrap_or(0) | u8::try_from(part).unwrap_or(0);
            self.count += room;
            left -= room;
            if self.count == 8 {
                self.bytes.push(self.open);
                (self.open, self.count) = (0, 0);
            }
        }
    }

    /// All bytes, the last of them filled up with zeros, and whether there was nothing to fill up.
    pub(super) fn finish(mut self) -> (Vec<u8>, bool) {
        if self.count > 0 {
            self.bytes.push(self.open << (8 - self.count));
        }
        (self.bytes, self.count == 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn bits_come_in_order(
            bytes in proptest::collection::vec(any::<u8>(), 0..40),
            counts in proptest::collection::vec(0u32..=64, 0..30),
        ) {
            let mut bits = bytes.iter().flat_map(|byte| (0..8).rev().map(move |bit| byte >> bit & 1));
            let mut reader = BitReader::new(&bytes);
            for count in counts {
                let expected = (0..count).try_fold(0u64, |number, _| Some(number << 1 | u64::from(bits.next()?)));
                prop_assert_eq!(reader.take(count), expected);
                if expected.is_none() {
                    break;
                }
            }
        }

        #[test]
        fn unpacked_numbers_are_those_that_are_read_one_by_one(
            bytes in proptest::collection::vec(any::<u8>(), 0..80),
            bits in 0u32..=64,
            count in 0usize..40,
            big_endian in any::<bool>(),
        ) {
            let mut reader = BitReader::new(&bytes);
            let expected: Option<Vec<u64>> = (0..count).map(|_| Some(reader.take(bits)?.wrapping_add(3))).collect();
            let mut out = vec![9; count * 8];
            let unpacked = unpack::<8>(&bytes, bits, big_endian, &mut out, |number| number.wrapping_add(3));
            prop_assert_eq!(unpacked.is_some(), expected.is_some());
            let number = if big_endian { u64::from_be_bytes } else { u64::from_le_bytes };
            if let Some(expected) = expected {
                prop_assert_eq!(out.as_chunks().0.iter().map(|bytes| number(*bytes)).collect::<Vec<_>>(), expected);
            }
        }

        #[test]
        fn zeros_are_counted(runs in proptest::collection::vec(0usize..200, 0..20)) {
            let bits: Vec<bool> = runs.iter().flat_map(|run| std::iter::repeat_n(false, *run).chain([true])).collect();
            let bytes: Vec<u8> =
                bits.chunks(8).map(|byte| byte.iter().enumerate().map(|(n, bit)| u8::from(*bit) << (7 - n)).sum()).collect();
            let mut reader = BitReader::new(&bytes);
            for run in runs {
                prop_assert_eq!(reader.take_zeros(), u64::try_from(run).ok());
            }
            prop_assert_eq!(reader.take_zeros(), None);
        }
    }
}
