//! What a reduction computes.

use std::sync::Arc;

use hyperslab_array::{Error, Result};
use serde::Deserialize;

use super::expression::Expression;

/// The class of an index whose rows are left out.
pub const LEFT_OUT: u32 = u32::MAX;

/// Aggregates over the rows of a plan, by group.
#[derive(Debug, Clone, Default, Deserialize)]
#[non_exhaustive]
pub struct Reduction {
    /// Number of classes of segments; 1 if all segments are in one class.
    pub segment_classes: u32,
    /// Number of classes along each dimension of the rows; 1 for a dimension that has none.
    pub axis_classes: Vec<u32>,
    /// Dimension of each of the vectors that expressions use.
    pub vector_axes: Vec<usize>,
    /// Rows that count: those for which it is true.
    pub condition: Option<Expression>,
    /// What is computed of each group, besides its number of rows.
    pub measures: Vec<Measure>,
}

impl Reduction {
    /// Reads a reduction in JSON, as bindings send it.
    ///
    /// # Errors
    /// `InvalidInput` for other text.
    pub fn parse(text: &str) -> Result<Self> {
        serde_json::from_str(text).map_err(|error| Error::invalid_input(format!("a reduction: {error}")))
    }
}

/// Count, and as asked sum, extremes, deviations and a quantile, of the values of an expression that are not null.
#[derive(Debug, Clone, Deserialize)]
#[non_exhaustive]
pub struct Measure {
    /// The values.
    pub argument: Expression,
    /// Further rows that do not count: those for which it is not true.
    pub filter: Option<Expression>,
    /// Whether they are summed.
    pub sum: bool,
    /// Whether the least and the greatest are found.
    pub extremes: bool,
    /// Whether the squares of their differences from the mean are summed.
    pub deviations: bool,
    /// The quantile that is found.
    pub quantile: Option<Quantile>,
}

/// The value at a place among the values in their order, as SQL defines it.
#[derive(Debug, Clone, Copy, Deserialize)]
#[non_exhaustive]
pub struct Quantile {
    /// The share of the values before it, from 0 to 1.
    pub fraction: f64,
    /// Whether it may lie between two values (`quantile_cont`), and is not one of them (`quantile_disc`).
    pub is_between: bool,
}

/// The classes of one segment's indexes.
#[derive(Debug, Clone, Default)]
#[expect(clippy::exhaustive_structs, reason = "whoever asks for a reduction fills it in")]
pub struct SegmentClasses {
    /// The class of the segment, or [`LEFT_OUT`].
    pub class: u32,
    /// For each dimension the class of each index, or [`LEFT_OUT`]; `None` if all are in class 0.
    pub axes: Vec<Option<Arc<[u32]>>>,
    /// For each of the vectors a value for each index of its dimension.
    pub vectors: Vec<Arc<[f64]>>,
}
