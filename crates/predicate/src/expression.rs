//! A parsed predicate: a tree of conditions whose names are not looked up yet.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::{Comparison, List, Literal, Value};

/// A parsed predicate; names are not yet looked up.
///
/// Null is as in SQL (a comparison with null is null, and null does not pass), NaN as in IEEE 754
/// (every comparison is false but `!=`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Predicate {
    /// All of them.
    And(Vec<Predicate>),
    /// Any of them.
    Or(Vec<Predicate>),
    /// An odd number of them.
    Xor(Vec<Predicate>),
    /// Not.
    Not(Box<Predicate>),
    /// A column and a constant.
    Compare {
        /// Name.
        column: String,
        /// Comparison, the column on its left.
        comparison: Comparison,
        /// The constant.
        literal: Literal,
    },
    /// Two columns.
    CompareColumns {
        /// Name.
        left: String,
        /// Comparison.
        comparison: Comparison,
        /// Name.
        right: String,
    },
    /// Two numbers, at least one of them computed.
    CompareValues {
        /// Left side.
        left: Value,
        /// Comparison.
        comparison: Comparison,
        /// Right side.
        right: Value,
    },
    /// Text of a pattern: `%` is any text, `_` one character, `\\` takes the meaning of the next one away.
    Like {
        /// Name.
        column: String,
        /// The pattern.
        pattern: String,
    },
    /// Text that contains words, all of them; see [`word`](crate::word).
    Match {
        /// Name.
        column: String,
        /// Texts whose words they are, as written.
        texts: Vec<String>,
    },
    /// One of several constants.
    In {
        /// Name.
        column: String,
        /// The constants.
        literals: List,
    },
    /// Null.
    IsNull {
        /// Name.
        column: String,
    },
}

impl Predicate {
    /// The parts of a top-level `and`.
    pub fn conjuncts(self) -> Vec<Self> {
        match self {
            Self::And(parts) => parts.into_iter().flat_map(Self::conjuncts).collect(),
            other => vec![other],
        }
    }
    /// Both.
    pub fn and(self, other: Self) -> Self {
        Self::all([self, other])
    }
    /// All of them, as one level of `and`; the only one as it is.
    pub fn all(predicates: impl IntoIterator<Item = Self>) -> Self {
        let mut parts: Vec<Self> = predicates.into_iter().flat_map(Self::conjuncts).collect();
        match parts.pop() {
            Some(only) if parts.is_empty() => only,
            last => {
                parts.extend(last);
                Self::And(parts)
            }
        }
    }
    /// Names of the columns used.
    pub fn columns(&self) -> BTreeSet<String> {
        match self {
            Self::And(parts) | Self::Or(parts) | Self::Xor(parts) => parts.iter().flat_map(Self::columns).collect(),
            Self::Not(part) => part.columns(),
            Self::Compare { column, .. } | Self::In { column, .. } | Self::IsNull { column } | Self::Like { column, .. } | Self::Match { column, .. } => {
                BTreeSet::from([column.clone()])
            }
            Self::CompareColumns { left, right, .. } => BTreeSet::from([left.clone(), right.clone()]),
            Self::CompareValues { left, right, .. } => left.columns().chain(right.columns()).map(str::to_owned).collect(),
        }
    }
    /// The integers after which the truth of a predicate on one column of integers may change, from the one to the
    /// next: those at or below its constants. `None` if a constant is not a number.
    pub fn integer_breaks(&self) -> Option<Vec<i128>> {
        match self {
            Self::And(parts) | Self::Or(parts) | Self::Xor(parts) => Some(parts.iter().map(Self::integer_breaks).collect::<Option<Vec<_>>>()?.concat()),
            Self::Not(part) => part.integer_breaks(),
            Self::Compare { literal, .. } => Some(vec![literal.place()?.floor]),
            Self::In { literals, .. } => literals.floors(),
            Self::IsNull { .. } => Some(Vec::new()),
            // A computed value need not rise with the column.
            Self::CompareColumns { .. } | Self::CompareValues { .. } | Self::Like { .. } | Self::Match { .. } => None,
        }
    }
}
