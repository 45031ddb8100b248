//! Finds the bins of many numbers at once, for bins of equal width.

use std::ops::{Add, Mul, Neg, Sub};

/// Numbers that are processed together.
pub(super) const BLOCK_NUMBERS: usize = 64;
/// Maximum fraction of a bin next to each edge in which rounding may give the adjacent bin. With more, too many values would
/// have to be checked again.
const MAX_ERROR: f64 = 1e-3;
/// Range of bins per unit for which neither edges nor widths leave the range of a float.
const SCALES: std::ops::Range<f64> = 1e-30..1e30;

/// A float type in which slots are computed.
pub(super) trait Float: Copy + PartialOrd + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Neg<Output = Self> {
    const ZERO: Self;
    const HALF: Self;
    /// Adding it to a number from 0 to half of it leaves the nearest integer in the lowest bits.
    const ROUNDING_OFFSET: Self;
    /// Maximum relative rounding error.
    const UNIT_ROUNDOFF: f64;
    fn nearest(double: f64) -> Self;
    fn double(self) -> f64;
    /// The lowest bits of the fraction.
    fn low_bits(self) -> u32;
}

macro_rules! float {
    ($type:ty, $rounding_offset:literal, $roundoff_inverse:literal, $double:ident => $nearest:expr, $bits:ident => $low_bits:expr) => {
        impl Float for $type {
            const ZERO: Self = 0.0;
            const HALF: Self = 0.5;
            const ROUNDING_OFFSET: Self = $rounding_offset;
            const UNIT_ROUNDOFF: f64 = 1.0 / $roundoff_inverse;
            fn nearest($double: f64) -> Self {
                $nearest
            }
            fn double(self) -> f64 {
                self.into()
            }
            fn low_bits(self) -> u32 {
                let $bits = self.to_bits();
                $low_bits
            }
        }
    };
}

float!(f32, 8_388_608.0, 16_777_216.0, double => double as f32, bits => bits & 0x7f_ffff);
float!(f64, 4_503_599_627_370_496.0, 9_007_199_254_740_992.0, double => double, bits => bits as u32);

/// Bins of equal width, in the precision of `T`.
#[derive(Debug, Clone)]
pub(super) struct UniformBins<T> {
    low: T,
    /// Bins per unit.
    scale: T,
    /// The slot after the last bin.
    past_end: T,
    /// Distance from the middle of a bin, in bins, up to which a value is certainly in it.
    safe: T,
}

impl<T: Float> UniformBins<T> {
    /// `None` if bins do not have equal width, or rounding errors are too large.
    pub fn new(edges: &[f64]) -> Option<Self> {
        let (low, high) = (edges.first().copied()?, edges.last().copied()?);
        let count = edges.len().checked_sub(1)? as f64;
        let scale = count / (high - low);
        let deviation = edges.iter().enumerate().map(|(index, edge)| ((edge - low) * scale - index as f64).abs()).fold(0.0, f64::max);
        // Rounding affects the first edge times the scale, and the scale, difference, product and sum, which are at most the
        // number of bins and a few. Use twice that, plus the rounding of `deviation` itself in doubles.
        let error = 2.0 * T::UNIT_ROUNDOFF * (low.abs() * scale + 4.0 * (count + 3.0)) + deviation + (count + 3.0) / (1u64 << 48) as f64;
        (SCALES.contains(&scale) && error < MAX_ERROR).then(|| Self {
            low: T::nearest(low),
            scale: T::nearest(scale),
            past_end: T::nearest(count + 1.0),
            safe: T::nearest(0.5 - error),
        })
    }

    /// The slots of numbers: 0 for NaN and numbers below the first bin, then one per bin, then one for numbers above. Returns
    /// `false` if a number is so close to an edge that slots must be computed exactly.
    #[inline(always)]
    pub fn slots(&self, numbers: &[T; BLOCK_NUMBERS], slots: &mut [u32; BLOCK_NUMBERS]) -> bool {
        let mut near = 0;
        // Without branches, so that the compiler can vectorize the loop.
        for (slot, number) in slots.iter_mut().zip(numbers) {
            let place = (*number - self.low) * self.scale + T::HALF;
            // The comparison is false for NaN.
            let place = if place > T::ZERO { place } else { T::ZERO };
            let place = if place < self.past_end { place } else { self.past_end };
            let whole = place + T::ROUNDING_OFFSET;
            let off = place - (whole - T::ROUNDING_OFFSET);
            near |= u32::from(off > self.safe) | u32::from(off < -self.safe);
            *slot = whole.low_bits();
        }
        near == 0
    }
}
