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
}

impl Bins {
    /// Bins between edges. `InvalidInput` for edges that do not increase or are not finite.
    pub fn new(edges: Vec<f64>) -> Result<Self> {
        let rising = edges.windows(2).all(|pair| matches!(pair, [low, high] if low < high));
        match (edges.first().copied(), edges.last().copied()) {
            (Some(low), Some(high)) if rising && edges.len() > 1 && edges.iter().all(|edge| edge.is_finite()) => {
                let scale = (edges.len() - 1) as f64 / (high - low);
                Ok(Self { edges, low, high, scale })
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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
        }
    }
}
