//! Sums and extremes of a block, in as many lanes as the processor has instructions for.

use hyperslab_predicate::{KeyType, order_key};

/// A type in which values are reduced.
pub(super) trait Number: Copy + PartialOrd + Send + Sync + 'static {
    /// The type of sums.
    type Total: Copy + Default + Send + Sync + std::ops::AddAssign + std::ops::Add<Output = Self::Total>;
    /// At least as great as every value.
    const MOST: Self;
    /// At most as great as every value.
    const LEAST: Self;
    fn total(self) -> Self::Total;
    fn double(self) -> f64;
    /// The sum of a block, which has at most `BLOCK` values.
    fn sum(values: &[Self], mask: Option<&[u8]>) -> Self::Total;
    fn is_nan(self) -> bool;
    /// A number in the order of the values, in which NaN is the greatest.
    fn key(self) -> u64;
    /// The value of a key.
    fn of_key(key: u64) -> Self;
}

/// Elements that are reduced together: few enough to stay in the processor's first cache.
pub(super) const BLOCK: usize = 4096;
const LANES: usize = 16;

macro_rules! float {
    ($type:ty, $key:path) => {
        impl Number for $type {
            #[inline(always)]
            fn key(self) -> u64 {
                // A NaN with a sign would be the least.
                $key(if self.is_nan() { <$type>::NAN } else { self }).into()
            }
            #[inline(always)]
            fn of_key(key: u64) -> Self {
                KeyType::Float(size_of::<Self>() as u8).float(key) as Self
            }
            type Total = f64;
            const MOST: Self = <$type>::INFINITY;
            const LEAST: Self = <$type>::NEG_INFINITY;
            #[inline(always)]
            fn total(self) -> f64 {
                self.into()
            }
            #[inline(always)]
            fn double(self) -> f64 {
                self.into()
            }
            #[inline(always)]
            fn is_nan(self) -> bool {
                self != self
            }
            #[inline(always)]
            fn sum(values: &[Self], mask: Option<&[u8]>) -> f64 {
                lane_sum(values, mask, |value| f64::from(*value)).into_iter().sum()
            }
        }
    };
}

float!(f32, order_key::float32);
float!(f64, order_key::float64);

impl Number for i64 {
    #[inline(always)]
    fn key(self) -> u64 {
        order_key::signed64(self)
    }
    #[inline(always)]
    fn of_key(key: u64) -> Self {
        KeyType::Signed(8).bits(key).cast_signed()
    }
    type Total = i128;
    const MOST: Self = i64::MAX;
    const LEAST: Self = i64::MIN;
    #[inline(always)]
    fn total(self) -> i128 {
        self.into()
    }
    #[inline(always)]
    fn double(self) -> f64 {
        self as f64
    }
    #[inline(always)]
    fn is_nan(self) -> bool {
        false
    }
    #[inline(always)]
    fn sum(values: &[Self], mask: Option<&[u8]>) -> i128 {
        // Both halves of each value fit a sum of a block in 8 bytes.
        let high: i64 = lane_sum(values, mask, |value| value >> 32).into_iter().sum();
        let low: i64 = lane_sum(values, mask, |value| value & 0xffff_ffff).into_iter().sum();
        (i128::from(high) << 32) + i128::from(low)
    }
}

/// The value at position `i` is added to lane `i % LANES`.
#[inline(always)]
fn lane_sum<V, S: Copy + Default + std::ops::AddAssign>(values: &[V], mask: Option<&[u8]>, of: impl Fn(&V) -> S) -> [S; LANES] {
    let mut sums = [S::default(); LANES];
    let (blocks, rest) = values.as_chunks::<LANES>();
    match mask {
        None => {
            for block in blocks {
                sums.iter_mut().zip(block).for_each(|(sum, value)| *sum += of(value));
            }
            sums.iter_mut().zip(rest).for_each(|(sum, value)| *sum += of(value));
        }
        Some(mask) => {
            let (masks, last) = mask.as_chunks::<LANES>();
            let chosen = |value: &V, kept: u8| if kept == 0 { S::default() } else { of(value) };
            for (block, kept) in blocks.iter().zip(masks) {
                sums.iter_mut().zip(block.iter().zip(kept)).for_each(|(sum, (value, kept))| *sum += chosen(value, *kept));
            }
            sums.iter_mut().zip(rest.iter().zip(last)).for_each(|(sum, (value, kept))| *sum += chosen(value, *kept));
        }
    }
    sums
}

/// The least and the greatest number of a block, and how many values are not numbers.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ends<T> {
    pub least: T,
    pub most: T,
    pub nans: u64,
}

/// The sum of a block.
pub(super) struct SumUp<'a, T>(pub &'a [T], pub Option<&'a [u8]>);

impl<T: Number> pulp::NullaryFnOnce for SumUp<'_, T> {
    type Output = T::Total;
    #[inline(always)]
    fn call(self) -> T::Total {
        T::sum(self.0, self.1)
    }
}

/// The extremes of a block.
pub(super) struct FindEnds<'a, T>(pub &'a [T], pub Option<&'a [u8]>);

impl<T: Number> pulp::NullaryFnOnce for FindEnds<'_, T> {
    type Output = Ends<T>;
    #[inline(always)]
    fn call(self) -> Ends<T> {
        let Self(values, mask) = self;
        let (mut least, mut most, mut nans) = ([T::MOST; LANES], [T::LEAST; LANES], [0u32; LANES]);
        let (blocks, rest) = values.as_chunks::<LANES>();
        match mask {
            None => {
                let mut add = |block: &[T]| {
                    for (((least, most), nans), value) in least.iter_mut().zip(&mut most).zip(&mut nans).zip(block) {
                        // False for NaN.
                        *least = if *value < *least { *value } else { *least };
                        *most = if *value > *most { *value } else { *most };
                        *nans += u32::from(value.is_nan());
                    }
                };
                blocks.iter().for_each(|block| add(block));
                add(rest);
            }
            Some(mask) => {
                let (masks, last) = mask.as_chunks::<LANES>();
                let mut add = |block: &[T], kept: &[u8]| {
                    for (((least, most), nans), (value, kept)) in least.iter_mut().zip(&mut most).zip(&mut nans).zip(block.iter().zip(kept)) {
                        let is_kept = *kept != 0;
                        *least = if is_kept & (*value < *least) { *value } else { *least };
                        *most = if is_kept & (*value > *most) { *value } else { *most };
                        *nans += u32::from(is_kept & value.is_nan());
                    }
                };
                blocks.iter().zip(masks).for_each(|(block, kept)| add(block, kept));
                add(rest, last);
            }
        }
        let least = least.into_iter().fold(T::MOST, |a, b| if b < a { b } else { a });
        let most = most.into_iter().fold(T::LEAST, |a, b| if b > a { b } else { a });
        Ends { least, most, nans: nans.iter().map(|count| u64::from(*count)).sum() }
    }
}

/// The sum of the squares of the differences from a mean.
pub(super) struct Squares<'a, T>(pub &'a [T], pub Option<&'a [u8]>, pub f64);

impl<T: Number> pulp::NullaryFnOnce for Squares<'_, T> {
    type Output = f64;
    #[inline(always)]
    fn call(self) -> f64 {
        let mean = self.2;
        let square = |value: &T| {
            let difference = value.double() - mean;
            difference * difference
        };
        lane_sum(self.0, self.1, square).into_iter().sum()
    }
}

/// Values of adjacent groups: each is added to the group at its place.
pub(super) struct AddEach<'a, T: Number> {
    pub values: &'a [T],
    pub mask: Option<&'a [u8]>,
    pub sums: &'a mut [T::Total],
}

impl<T: Number> pulp::NullaryFnOnce for AddEach<'_, T> {
    type Output = ();
    #[inline(always)]
    fn call(self) {
        match self.mask {
            None => self.sums.iter_mut().zip(self.values).for_each(|(sum, value)| *sum += value.total()),
            Some(mask) => {
                for ((sum, value), kept) in self.sums.iter_mut().zip(self.values).zip(mask) {
                    *sum += if *kept == 0 { T::Total::default() } else { value.total() };
                }
            }
        }
    }
}

/// As [`AddEach`], for extremes.
pub(super) struct WidenEach<'a, T> {
    pub values: &'a [T],
    pub mask: Option<&'a [u8]>,
    pub least: &'a mut [T],
    pub most: &'a mut [T],
    pub nans: &'a mut [u64],
}

impl<T: Number> pulp::NullaryFnOnce for WidenEach<'_, T> {
    type Output = ();
    #[inline(always)]
    fn call(self) {
        let ends = self.least.iter_mut().zip(self.most).zip(self.nans).zip(self.values);
        match self.mask {
            None => {
                for (((least, most), nans), value) in ends {
                    *least = if *value < *least { *value } else { *least };
                    *most = if *value > *most { *value } else { *most };
                    *nans += u64::from(value.is_nan());
                }
            }
            Some(mask) => {
                for ((((least, most), nans), value), kept) in ends.zip(mask) {
                    let is_kept = *kept != 0;
                    *least = if is_kept & (*value < *least) { *value } else { *least };
                    *most = if is_kept & (*value > *most) { *value } else { *most };
                    *nans += u64::from(is_kept & value.is_nan());
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn integers_are_summed_exactly(values in proptest::collection::vec(any::<i64>(), 0..200), kept in proptest::collection::vec(0u8..2, 200)) {
            let mask = kept.get(..values.len()).unwrap_or_default();
            let naive: i128 = values.iter().map(|value| i128::from(*value)).sum();
            prop_assert_eq!(i64::sum(&values, None), naive);
            let some: i128 = values.iter().zip(mask).filter(|(_, kept)| **kept == 1).map(|(value, _)| i128::from(*value)).sum();
            prop_assert_eq!(i64::sum(&values, Some(mask)), some);
        }
    }
}
