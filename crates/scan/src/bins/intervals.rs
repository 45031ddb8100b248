//! Bins: adjacent intervals of any width.

use arrow_schema::DataType;
use hyperslab_array::{Error, Result};

use super::number_types::for_numbers;
use super::uniform_bins::{BLOCK_NUMBERS, Float, UniformBins};

/// The bins of one axis of a histogram: `edges[i] <= value < edges[i + 1]`; the last bin includes its upper edge.
#[derive(Debug, Clone)]
pub struct Bins {
    edges: Vec<f64>,
    low: f64,
    high: f64,
    /// Bins per unit if all had the same width, for a first guess.
    scale: f64,
    /// For bins of equal width, the first value of each bin and the first after it; otherwise empty.
    uniform: Vec<[f64; 2]>,
    /// For bins of equal width, computation of many slots at once, in single and in double precision.
    floats: Option<UniformBins<f32>>,
    doubles: Option<UniformBins<f64>>,
}

/// Adding it to a double from 0 to 2^51 leaves the nearest integer in the lowest bits.
const ROUNDING_OFFSET: f64 = 4_503_599_627_370_496.0;

impl Bins {
    /// Bins between `edges`.
    ///
    /// # Errors
    /// `InvalidInput` if the edges do not increase or are not finite.
    pub fn new(edges: Vec<f64>) -> Result<Self> {
        let rising = edges.windows(2).all(|pair| matches!(pair, [low, high] if low < high));
        match (edges.first().copied(), edges.last().copied()) {
            (Some(low), Some(high)) if rising && edges.len() > 1 && edges.iter().all(|edge| edge.is_finite()) => {
                let scale = (edges.len() - 1) as f64 / (high - low);
                // If all edges are this close to the edges of equal bins, the guess for a value is off by at most one bin,
                // because the guess increases with the value.
                let is_even = edges.iter().enumerate().all(|(index, edge)| ((edge - low) * scale - index as f64).abs() < 0.25);
                let ends = |(index, pair): (usize, &[f64])| match pair {
                    [first, end] => [*first, if index + 2 == edges.len() { end.next_up() } else { *end }],
                    _ => [low, high],
                };
                let uniform = if is_even { edges.windows(2).enumerate().map(ends).collect() } else { Vec::new() };
                Ok(Self { floats: UniformBins::new(&edges), doubles: UniformBins::new(&edges), edges, low, high, scale, uniform })
            }
            _ => Err(Error::invalid_input("the edges of a histogram are two or more finite numbers that increase")),
        }
    }

    /// The edges; one more than there are bins.
    pub fn edges(&self) -> &[f64] {
        &self.edges
    }

    /// Number of bins.
    pub fn count(&self) -> usize {
        self.edges.len() - 1
    }

    /// The bin of a value; `None` for NaN and values outside all bins.
    pub fn bin(&self, value: f64) -> Option<usize> {
        if !(value >= self.low && value <= self.high) {
            return None;
        }
        let last = self.count() - 1;
        let near = (((value - self.low) * self.scale) as usize).min(last);
        let holds = |bin: usize| {
            let (low, high) = (self.edges.get(bin), self.edges.get(bin + 1));
            low.is_some_and(|low| *low <= value) && high.is_some_and(|high| value < *high)
        };
        if holds(near) {
            return Some(near);
        }
        Some(self.edges.partition_point(|edge| *edge <= value).saturating_sub(1).min(last))
    }

    /// The slot of a value: 0 for NaN and values below the first bin, then one slot per bin, then one for values above the
    /// last bin (0 as well, if bins have different widths).
    pub fn slot(&self, value: f64) -> usize {
        if self.uniform.is_empty() {
            return self.bin(value).map_or(0, |bin| bin + 1);
        }
        let guess = (value - self.low) * self.scale - 0.5;
        // The comparison is false for NaN.
        let guess = if guess > 0.0 { guess } else { 0.0 };
        let last = (self.uniform.len() - 1) as f64;
        let guess = if guess < last { guess } else { last };
        let near = (guess + ROUNDING_OFFSET).to_bits() as u32 as usize;
        let Some([first, end]) = self.uniform.get(near) else { return 0 };
        near + usize::from(value >= *first) + usize::from(value >= *end)
    }

    /// Calls `take` with the slots of numbers, in order, some at a time. Returns whether their type has bins.
    pub fn slots(&self, data_type: &DataType, bytes: &[u8], take: &mut impl FnMut(&[u32])) -> bool {
        macro_rules! doubles {
            ($type:ty, $value:ident => $double:expr) => {
                self.slots_of(
                    self.doubles.as_ref(),
                    bytes,
                    |bytes| {
                        let $value = <$type>::from_ne_bytes(bytes);
                        $double
                    },
                    take,
                )
            };
        }
        if let (DataType::Float32, Some(floats)) = (data_type, &self.floats) {
            self.slots_of(Some(floats), bytes, f32::from_ne_bytes, take);
            return true;
        }
        for_numbers!(data_type, doubles);
        true
    }

    fn slots_of<const N: usize, T: Float>(&self, uniform: Option<&UniformBins<T>>, bytes: &[u8], of: impl Fn([u8; N]) -> T, take: &mut impl FnMut(&[u32])) {
        // Uses the instructions of this processor, not only the baseline.
        pulp::Arch::new().dispatch(Slots { bins: self, uniform, bytes: bytes.as_chunks::<N>().0, of, take });
    }
}

/// The slots of numbers, compiled for each supported instruction set.
struct Slots<'a, const N: usize, T, Of, Take> {
    bins: &'a Bins,
    uniform: Option<&'a UniformBins<T>>,
    bytes: &'a [[u8; N]],
    of: Of,
    take: &'a mut Take,
}

impl<const N: usize, T: Float, Of: Fn([u8; N]) -> T, Take: FnMut(&[u32])> pulp::NullaryFnOnce for Slots<'_, N, T, Of, Take> {
    type Output = ();
    #[inline(always)]
    fn call(self) {
        let Self { bins, uniform, bytes, of, take } = self;
        let (blocks, rest) = bytes.as_chunks::<BLOCK_NUMBERS>();
        let (mut numbers, mut slots) = ([T::ZERO; BLOCK_NUMBERS], [0; BLOCK_NUMBERS]);
        let exact = |slots: &mut [u32], numbers: &[T]| slots.iter_mut().zip(numbers).for_each(|(slot, number)| *slot = bins.slot(number.double()) as u32);
        for block in blocks {
            numbers.iter_mut().zip(block).for_each(|(number, bytes)| *number = of(*bytes));
            if !uniform.is_some_and(|uniform| uniform.slots(&numbers, &mut slots)) {
                exact(&mut slots, &numbers);
            }
            take(&slots);
        }
        numbers.iter_mut().zip(rest).for_each(|(number, bytes)| *number = of(*bytes));
        if let (Some(slots), Some(numbers)) = (slots.get_mut(..rest.len()), numbers.get(..rest.len())) {
            exact(slots, numbers);
            take(slots);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bins::counter::BinCounter;
    use proptest::prelude::*;

    /// `slots` agrees with `bin` for values, edges and their neighbors.
    fn found(bins: &Bins, values: &[f64]) -> std::result::Result<(), TestCaseError> {
        let around = bins.edges().iter().flat_map(|edge| [edge.next_down(), *edge, edge.next_up()]);
        let near = bins.edges().iter().map(|edge| *edge as f32).flat_map(|edge| [edge.next_down(), edge, edge.next_up()]).map(f64::from);
        let special = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -0.0, f64::MAX, f64::MIN, 5e-324];
        let all: Vec<f64> = values.iter().copied().chain(around).chain(near).chain(special).collect();
        macro_rules! same {
            ($data_type:expr, $type:ty) => {
                let typed: Vec<$type> = all.iter().map(|value| *value as $type).collect();
                // With and without values near edges.
                for typed in [typed.clone(), typed.iter().copied().take(values.len()).cycle().take(200).collect()] {
                    let wanted: Vec<Option<usize>> = typed.iter().map(|value| bins.bin(*value as f64)).collect();
                    let bytes: Vec<u8> = typed.iter().flat_map(|value| value.to_ne_bytes()).collect();
                    let mut slots = Vec::new();
                    prop_assert!(bins.slots(&$data_type, &bytes, &mut |some| slots.extend_from_slice(some)));
                    let found: Vec<Option<usize>> = slots.iter().map(|slot| (*slot as usize).checked_sub(1).filter(|bin| *bin < bins.count())).collect();
                    prop_assert_eq!(found, wanted, "{:?}", $data_type);
                    let mut counts = BinCounter::new(bins);
                    prop_assert!(
                        counts.add(&$data_type, &bytes) && counts.add(&$data_type, &bytes[..bytes.len() / 2 / size_of::<$type>() * size_of::<$type>()])
                    );
                    let mut wanted = vec![0; bins.count()];
                    typed.iter().chain(&typed[..typed.len() / 2]).filter_map(|value| bins.bin(*value as f64)).for_each(|bin| wanted[bin] += 1);
                    prop_assert_eq!(counts.finish(), wanted);
                }
            };
        }
        same!(DataType::Float64, f64);
        same!(DataType::Float32, f32);
        same!(DataType::Int8, i8);
        same!(DataType::Int16, i16);
        same!(DataType::Int32, i32);
        same!(DataType::Int64, i64);
        same!(DataType::UInt8, u8);
        same!(DataType::UInt16, u16);
        same!(DataType::UInt32, u32);
        same!(DataType::UInt64, u64);
        Ok(())
    }

    /// Numbers near an edge get their slots, or are reported to be near.
    fn agrees<T: Float>(bins: &Bins, uniform: Option<&UniformBins<T>>, next: impl Fn(f64, i32) -> T) -> std::result::Result<(), TestCaseError> {
        for (edge, steps) in bins.edges().iter().flat_map(|edge| [0, 1, -1, 2, -2, 3, -5, 8, -13, 30, -30, 100, -200, 1000, -3000].map(|steps| (*edge, steps)))
        {
            let (value, mut slots) = (next(edge, steps), [0; BLOCK_NUMBERS]);
            if uniform.is_some_and(|uniform| uniform.slots(&[value; BLOCK_NUMBERS], &mut slots)) {
                prop_assert_eq!(slots, [bins.slot(value.double()) as u32; BLOCK_NUMBERS], "{} steps from {}", steps, edge);
            }
        }
        Ok(())
    }

    #[test]
    fn bins_of_equal_width_are_recognized() {
        let edges = |count: u32, low: f64, high: f64| (0..=count).map(|n| low + f64::from(n) * ((high - low) / f64::from(count))).collect::<Vec<f64>>();
        for edges in [edges(64, 0.0, 6.0), edges(1, -1.0, 1.0), edges(1000, 0.1, 0.7)] {
            assert!(Bins::new(edges).is_ok_and(|bins| bins.uniform.len() == bins.count() && bins.floats.is_some() && bins.doubles.is_some()));
        }
        for edges in [vec![0.0, 1.0, 3.0], vec![f64::MIN, 0.0, f64::MAX], vec![0.0, 5e-324, 1e-323]] {
            assert!(Bins::new(edges.clone()).is_ok_and(|bins| found(&bins, &edges).is_ok()));
        }
    }

    proptest! {
        #[test]
        fn a_value_is_in_the_bin_that_its_edges_say(mut edges in proptest::collection::vec(-1e3f64..1e3, 2..20), value in -1.2e3f64..1.2e3) {
            edges.sort_by(f64::total_cmp);
            edges.dedup();
            prop_assume!(edges.len() > 1);
            let last = edges.len() - 2;
            let naive = |value: f64| edges.windows(2).enumerate().position(|(n, pair)| {
                pair[0] <= value && (value < pair[1] || (n == last && value == pair[1]))
            });
            let bins = Bins::new(edges.clone()).map_err(|e| TestCaseError::fail(e.to_string()))?;
            prop_assert_eq!(bins.bin(value), naive(value));
            for edge in &edges {
                prop_assert_eq!(bins.bin(*edge), naive(*edge));
            }
            prop_assert_eq!(bins.bin(f64::NAN), None);
            found(&bins, &[value])?;
        }

        #[test]
        fn many_values_at_once_are_in_the_bins_of_each(low in prop_oneof![-1e3f64..1e3, Just(0.0), -3.0f64..3.0], width in prop_oneof![1e-3f64..1e3, Just(6.0), Just(1e-12), Just(1e36), Just(1e300)], count in 1usize..300, values in proptest::collection::vec(-2f64..3.0, 0..50)) {
            // As numpy's linspace computes them.
            let mut edges: Vec<f64> = (0..=count).map(|n| low + n as f64 * (width / count as f64)).collect();
            edges[count] = low + width;
            prop_assume!(edges.is_sorted_by(|a, b| a < b));
            let bins = Bins::new(edges).map_err(|e| TestCaseError::fail(e.to_string()))?;
            let values: Vec<f64> = values.iter().map(|share| low + share * width).collect();
            found(&bins, &values)?;
            let moved = |edge: f32, steps: i32| if edge == 0.0 { 0.0 } else { f32::from_bits(edge.to_bits().wrapping_add_signed(steps)) };
            agrees(&bins, bins.floats.as_ref(), |edge, steps| moved(edge as f32, steps))?;
            let moved = |edge: f64, steps: i64| if edge == 0.0 { 0.0 } else { f64::from_bits(edge.to_bits().wrapping_add_signed(steps)) };
            agrees(&bins, bins.doubles.as_ref(), |edge, steps| moved(edge, steps.into()))?;
        }
    }
}
