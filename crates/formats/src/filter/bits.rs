//! Bits of a stream, the most significant of each byte first: what nbit, scaleoffset and szip read.

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

    /// The number of zeros before the next one, which is taken too, or `None` if there is no one left.
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
