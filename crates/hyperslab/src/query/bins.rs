//! Bins: intervals beside each other, of any width.

use hyperslab_array::{Error, Result};

/// The bins of one axis of a histogram: `edges[i] <= value < edges[i + 1]`, the last one with its upper edge.
#[derive(Debug, Clone)]
pub struct Bins {
    edges: Vec<f64>,
    low: f64,
    high: f64,
    /// Bins per unit, were all of one width: where to look first.
    scale: f64,
    /// Of bins of one width the first value of each and of what is behind it; else empty.
    even: Vec<[f64; 2]>,
}

/// Counts of a bin that take turns.
const LANES: usize = 4;
/// Bins up to which they do.
const FEW_BINS: usize = 1 << 10;
/// Added to a double from 0 to 2^51 it leaves the nearest whole number in the lowest bits.
const WHOLE: f64 = 4_503_599_627_370_496.0;

impl Bins {
    /// Bins between edges. `InvalidInput` for edges that do not increase or are not finite.
    pub fn new(edges: Vec<f64>) -> Result<Self> {
        let rising = edges.windows(2).all(|pair| matches!(pair, [low, high] if low < high));
        match (edges.first().copied(), edges.last().copied()) {
            (Some(low), Some(high)) if rising && edges.len() > 1 && edges.iter().all(|edge| edge.is_finite()) => {
                let scale = (edges.len() - 1) as f64 / (high - low);
                // Where edges are this near to where they would be, a value is no more than one bin from its guess: the
                // guess rises with the value.
                let is_even = edges.iter().enumerate().all(|(number, edge)| ((edge - low) * scale - number as f64).abs() < 0.25);
                let ends = |(number, pair): (usize, &[f64])| match pair {
                    [first, end] => [*first, if number + 2 == edges.len() { end.next_up() } else { *end }],
                    _ => [low, high],
                };
                let even = if is_even { edges.windows(2).enumerate().map(ends).collect() } else { Vec::new() };
                Ok(Self { edges, low, high, scale, even })
            }
            _ => Err(Error::invalid_input("the edges of a histogram are two or more finite numbers that increase")),
        }
    }

    /// The edges, one more than bins.
    pub fn edges(&self) -> &[f64] {
        &self.edges
    }

    /// How many bins.
    pub fn count(&self) -> usize {
        self.edges.len() - 1
    }

    /// The bin of a value; `None` outside of all of them and for NaN.
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

    /// Adds values to their bins. `counts` begin with one for values before the first bin and NaN, and end with one for
    /// those behind the last.
    pub fn add(&self, values: impl Iterator<Item = f64>, counts: &mut [u64]) {
        if self.even.is_empty() {
            let mut count = |slot: usize| counts.get_mut(slot).into_iter().for_each(|count| *count += 1);
            values.for_each(|value| count(self.bin(value).map_or(0, |bin| bin + 1)));
            return;
        }
        if self.even.len() > FEW_BINS {
            return self.add_even::<1>(values, counts);
        }
        let mut all = vec![0u64; (self.even.len() + 2) * LANES];
        self.add_even::<LANES>(values, &mut all);
        counts.iter_mut().zip(all.chunks_exact(LANES)).for_each(|(count, lanes)| *count += lanes.iter().sum::<u64>());
    }

    /// Adds values to bins of one width, which have `LANES` counts each: one value after the other is often in the same
    /// bin, whose count would have to be written before it is read again.
    fn add_even<const LANES: usize>(&self, values: impl Iterator<Item = f64>, counts: &mut [u64]) {
        let last = (self.even.len() - 1) as f64;
        for (number, value) in values.enumerate() {
            let guess = (value - self.low) * self.scale - 0.5;
            // NaN is less than nothing.
            let guess = if guess > 0.0 { guess } else { 0.0 };
            let guess = if guess < last { guess } else { last };
            let near = (guess + WHOLE).to_bits() as u32 as usize;
            if let Some([first, end]) = self.even.get(near) {
                let slot = near + usize::from(value >= *first) + usize::from(value >= *end);
                if let Some(count) = counts.get_mut(slot * LANES + number % LANES) {
                    *count += 1;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Values, edges and their neighbours are added to the bins that `bin` says.
    fn added(bins: &Bins, values: &[f64]) -> std::result::Result<(), TestCaseError> {
        let around = bins.edges().iter().flat_map(|edge| [edge.next_down(), *edge, edge.next_up()]);
        let special = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -0.0, f64::MAX, f64::MIN, 5e-324];
        let all: Vec<f64> = values.iter().copied().chain(around).chain(special).collect();
        let (mut counts, mut wanted) = (vec![0; bins.count() + 2], vec![0; bins.count()]);
        bins.add(all.iter().copied(), &mut counts);
        all.iter().filter_map(|value| bins.bin(*value)).for_each(|bin| wanted[bin] += 1);
        prop_assert_eq!(counts.iter().sum::<u64>(), all.len() as u64);
        prop_assert_eq!(&counts[1..=bins.count()], &wanted[..]);
        Ok(())
    }

    #[test]
    fn bins_of_one_width_are_known_as_such() {
        let edges = |count: u32, low: f64, high: f64| (0..=count).map(|n| low + f64::from(n) * ((high - low) / f64::from(count))).collect::<Vec<f64>>();
        for edges in [edges(64, 0.0, 6.0), edges(1, -1.0, 1.0), edges(1000, 0.1, 0.7)] {
            assert!(Bins::new(edges).is_ok_and(|bins| bins.even.len() == bins.count()));
        }
        for edges in [vec![0.0, 1.0, 3.0], vec![f64::MIN, 0.0, f64::MAX], vec![0.0, 5e-324, 1e-323]] {
            assert!(Bins::new(edges.clone()).is_ok_and(|bins| added(&bins, &edges).is_ok()));
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
            added(&bins, &[value])?;
        }

        #[test]
        fn values_are_added_to_their_bins(low in -1e3f64..1e3, width in prop_oneof![1e-3f64..1e3, Just(1e-12), Just(1e300)], count in 1usize..300, values in proptest::collection::vec(-2f64..3.0, 0..50)) {
            // As numpy's linspace has them.
            let mut edges: Vec<f64> = (0..=count).map(|n| low + n as f64 * (width / count as f64)).collect();
            edges[count] = low + width;
            prop_assume!(edges.is_sorted_by(|a, b| a < b));
            let bins = Bins::new(edges).map_err(|e| TestCaseError::fail(e.to_string()))?;
            let values: Vec<f64> = values.iter().map(|share| low + share * width).collect();
            added(&bins, &values)?;
        }
    }
}
