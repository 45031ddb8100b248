//! Even: the bins of many numbers at once, where the bins are of one width.

use std::ops::{Add, Mul, Neg, Sub};

/// Numbers that are put into bins together.
pub(super) const BLOCK_NUMBERS: usize = 64;
/// Share of a bin beside each edge, at most, where rounding may put a value beside its bin: more, and too many are to be
/// looked at again.
const MAX_ERROR: f64 = 1e-3;
/// Bins per unit, at least and at most: neither the bins nor what lies between them is beyond a float.
const SCALES: std::ops::Range<f64> = 1e-30..1e30;

/// A float that computes places in bins.
pub(super) trait Float: Copy + PartialOrd + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Neg<Output = Self> {
    const ZERO: Self;
    const HALF: Self;
    /// Added to a number from 0 to half of it, it leaves the nearest whole number in the lowest bits.
    const ROUNDING_OFFSET: Self;
    /// What rounding may change a number by, relative to it.
    const UNIT_ROUNDOFF: f64;
    fn nearest(double: f64) -> Self;
    fn double(self) -> f64;
    /// The lowest bits of the fraction.
    fn low_bits(self) -> u32;
}

impl Float for f32 {
    const ZERO: Self = 0.0;
    const HALF: Self = 0.5;
    const ROUNDING_OFFSET: Self = 8_388_608.0;
    const UNIT_ROUNDOFF: f64 = 1.0 / 16_777_216.0;
    fn nearest(double: f64) -> Self {
        double as f32
    }
    fn double(self) -> f64 {
        f64::from(self)
    }
    fn low_bits(self) -> u32 {
        self.to_bits() & 0x7f_ffff
    }
}

impl Float for f64 {
    const ZERO: Self = 0.0;
    const HALF: Self = 0.5;
    const ROUNDING_OFFSET: Self = 4_503_599_627_370_496.0;
    const UNIT_ROUNDOFF: f64 = 1.0 / 9_007_199_254_740_992.0;
    fn nearest(double: f64) -> Self {
        double
    }
    fn double(self) -> f64 {
        self
    }
    fn low_bits(self) -> u32 {
        self.to_bits() as u32
    }
}

/// Bins of one width, as a float sees them.
#[derive(Debug, Clone)]
pub(super) struct UniformBins<T> {
    low: T,
    /// Bins per unit.
    scale: T,
    /// The slot behind the last bin.
    past_end: T,
    /// How far from the middle of a bin, in bins, a value is in it for certain.
    safe: T,
}

impl<T: Float> UniformBins<T> {
    /// `None` where edges are not in their places, or rounding blurs them.
    pub fn new(edges: &[f64]) -> Option<Self> {
        let (low, high) = (edges.first().copied()?, edges.last().copied()?);
        let count = edges.len().checked_sub(1)? as f64;
        let scale = count / (high - low);
        let deviation = edges.iter().enumerate().map(|(index, edge)| ((edge - low) * scale - index as f64).abs()).fold(0.0, f64::max);
        // Rounded are: the least edge, times the scale; the scale, the difference, the product and the sum, which are no
        // more than the bins and a few. Twice that, and what computing `deviation` rounds, in doubles.
        let error = 2.0 * T::UNIT_ROUNDOFF * (low.abs() * scale + 4.0 * (count + 3.0)) + deviation + (count + 3.0) / (1u64 << 48) as f64;
        (SCALES.contains(&scale) && error < MAX_ERROR).then(|| Self { low: T::nearest(low), scale: T::nearest(scale), past_end: T::nearest(count + 1.0), safe: T::nearest(0.5 - error) })
    }

    /// The slots of numbers: 0 before the first bin and for NaN, then one a bin, then one for what is behind them. False
    /// where a number is so near an edge that its slot is to be looked up.
    #[inline(always)]
    pub fn slots(&self, numbers: &[T; BLOCK_NUMBERS], slots: &mut [u32; BLOCK_NUMBERS]) -> bool {
        let mut near = 0;
        // No branches: the compiler makes SIMD of it.
        for (slot, number) in slots.iter_mut().zip(numbers) {
            let place = (*number - self.low) * self.scale + T::HALF;
            // NaN is less than nothing.
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
