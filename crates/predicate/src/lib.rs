//! Predicate: which rows. Text or a Substrait expression, checked against a schema, evaluated on
//! batches.
//!
//! docs/queries.md has the grammar. Conditions join tests of columns, of constants, and of values that are
//! computed from them (arithmetic: `value`, `number`, `compute`). Constants behind `in` are a `list`, which in a column's
//! type is a `set` with a hash `lookup`.
#![forbid(unsafe_code)]

mod bind;
mod bits;
mod column_condition;
mod compute;
mod constant;
mod evaluate;
mod key_set;
mod lex;
mod list;
mod literal;
mod lookup;
mod names;
mod number;
pub mod order_key;
mod parse;
mod set;
mod substrait;
mod value;
mod value_set;

use std::collections::BTreeSet;

use arrow_array::{BooleanArray, RecordBatch};
use arrow_buffer::BooleanBufferBuilder;
use arrow_schema::Schema;
use hyperslab_array::{Cancellation, Result};
use serde::{Deserialize, Serialize};

pub use column_condition::Condition;
pub use key_set::ValueSet;
pub use order_key::KeyType;
pub use list::{List, Lists};
pub use literal::Literal;
pub use value::Value;

/// Tests and steps of arithmetic of all rows together, about 50 ms, before cancellation is looked at.
const MAX_TESTS: usize = 1 << 26;
/// Rows that are evaluated together however much there is to test.
const MIN_ROWS: usize = 64;

/// How two values are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Comparison {
    /// `=`, `==`
    Equal,
    /// `!=`, `<>`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
}

impl Comparison {
    /// The comparison with its sides exchanged.
    fn mirrored(self) -> Self {
        match self {
            Self::Less => Self::Greater,
            Self::LessOrEqual => Self::GreaterOrEqual,
            Self::Greater => Self::Less,
            Self::GreaterOrEqual => Self::LessOrEqual,
            same => same,
        }
    }
    /// Whether values in this order pass; `None` is unordered (NaN).
    fn holds(self, order: Option<std::cmp::Ordering>) -> bool {
        match self {
            Self::Equal => order.is_some_and(|o| o.is_eq()),
            Self::NotEqual => order.is_none_or(|o| o.is_ne()),
            Self::Less => order.is_some_and(|o| o.is_lt()),
            Self::LessOrEqual => order.is_some_and(|o| o.is_le()),
            Self::Greater => order.is_some_and(|o| o.is_gt()),
            Self::GreaterOrEqual => order.is_some_and(|o| o.is_ge()),
        }
    }
}

/// A parsed predicate; names are not yet looked up.
///
/// Null is as in SQL (a comparison with null is null, and null does not pass), NaN as in IEEE 754
/// (every comparison is false but `!=`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
    /// Two numbers of which one at least is computed.
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
    /// Parses text. `InvalidInput` points at the character.
    pub fn parse(text: &str) -> Result<Self> {
        parse::parse(text, &[])
    }
    /// As [`Predicate::parse`] of a text that may name lists: `id in ids`.
    pub fn parse_with(text: &str, lists: &Lists) -> Result<Self> {
        parse::parse(text, lists)
    }
    /// Names that stand in a text where lists do: behind `in`.
    pub fn list_names(text: &str) -> Result<Vec<String>> {
        parse::list_names(text)
    }
    /// Where a name stands first in a text: the number of the character, from 0.
    pub fn place_of(name: &str, text: &str) -> Option<usize> {
        let words = lex::words(text).ok()?;
        words.into_iter().find_map(|(place, word)| matches!(word, lex::Word::Name { text, .. } if text == name).then_some(place))
    }
    /// Decodes pyarrow's `Expression.to_substrait(schema)` (an ExtendedExpression). What it cannot
    /// express is widened: the result keeps every row that the expression keeps. `None`: no bound at all.
    pub fn from_substrait(bytes: &[u8]) -> Result<Option<Self>> {
        substrait::decode(bytes)
    }
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
            Self::Compare { column, .. } | Self::In { column, .. } | Self::IsNull { column } | Self::Like { column, .. } => {
                BTreeSet::from([column.clone()])
            }
            Self::CompareColumns { left, right, .. } => BTreeSet::from([left.clone(), right.clone()]),
            Self::CompareValues { left, right, .. } => left.columns().chain(right.columns()).map(str::to_owned).collect(),
        }
    }
    /// The integers behind which the truth of a predicate on one column of integers may change, from the one to the
    /// next: those at or below its constants. `None` where a constant is no number.
    pub fn integer_breaks(&self) -> Option<Vec<i128>> {
        match self {
            Self::And(parts) | Self::Or(parts) | Self::Xor(parts) => {
                Some(parts.iter().map(Self::integer_breaks).collect::<Option<Vec<_>>>()?.concat())
            }
            Self::Not(part) => part.integer_breaks(),
            Self::Compare { literal, .. } => Some(vec![literal.place()?.floor]),
            Self::In { literals, .. } => literals.floors(),
            Self::IsNull { .. } => Some(Vec::new()),
            // A computed value need not rise with the column.
            Self::CompareColumns { .. } | Self::CompareValues { .. } | Self::Like { .. } => None,
        }
    }
    /// Looks names up and turns literals into tests in the columns' own types, without rounding
    /// them. `NotFound` for an unknown column, `InvalidInput` for a literal that does not fit.
    pub fn bind(&self, schema: &Schema) -> Result<BoundPredicate> {
        bind::bind(self, schema).map(BoundPredicate)
    }
}

/// A predicate checked against a schema: columns exist, literals are of their columns' types.
#[derive(Debug, Clone)]
pub struct BoundPredicate(bind::Bound);

impl BoundPredicate {
    /// True for the rows to keep; null counts as false. `batch` has (at least) the columns used, by name.
    pub fn evaluate(&self, batch: &RecordBatch) -> Result<BooleanArray> {
        evaluate::evaluate(&self.0, batch)
    }
    /// As [`BoundPredicate::evaluate`]. A predicate of many tests is evaluated some rows at a time: `Cancelled` between
    /// them once `cancellation` is set.
    pub fn evaluate_cancellable(&self, batch: &RecordBatch, cancellation: &Cancellation) -> Result<BooleanArray> {
        let rows = (MAX_TESTS / self.0.cost().max(1)).max(MIN_ROWS);
        if batch.num_rows() <= rows {
            return self.evaluate(batch);
        }
        let mut mask = BooleanBufferBuilder::new(batch.num_rows());
        for start in (0..batch.num_rows()).step_by(rows) {
            cancellation.check()?;
            mask.append_buffer(self.evaluate(&batch.slice(start, rows.min(batch.num_rows() - start)))?.values());
        }
        Ok(BooleanArray::new(mask.finish(), None))
    }
    /// Whether only the column called `name` itself is tested, not others nor members below it.
    pub fn is_of_column(&self, name: &str) -> bool {
        value_set::is_of_column(&self.0, name)
    }
    /// The values of the one column in use that pass, by their keys; `None` where keys do not tell.
    pub(crate) fn value_set(&self, key_type: KeyType) -> Option<ValueSet> {
        value_set::value_set(&self.0, key_type)
    }
}
