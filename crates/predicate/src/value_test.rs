//! A test of one value, in the type of its column.

use crate::Comparison;

/// A test of one value.
#[derive(Debug, Clone)]
pub(super) enum Test {
    /// An integer (or time) within `low..=high`.
    Between { low: i128, high: i128 },
    /// An integer outside of `low..=high`.
    Outside { low: i128, high: i128 },
    /// A float compared with IEEE semantics.
    Float(Comparison, f64),
    /// A text, compared by bytes.
    Text(Comparison, String),
    /// A boolean.
    Boolean(Comparison, bool),
}
