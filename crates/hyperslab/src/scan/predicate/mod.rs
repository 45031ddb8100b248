//! Predicate: which rows. Text or a Substrait expression, checked against a schema, evaluated on
//! batches with Arrow kernels.

use std::collections::BTreeSet;

use arrow_array::{BooleanArray, RecordBatch};
use arrow_schema::Schema;
use hyperslab_array::{Error, Result};

/// A parsed predicate; names are not yet looked up.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub enum Predicate {}

/// A predicate checked against a schema: columns exist, literals are of their columns' types.
#[derive(Debug, Clone)]
pub struct BoundPredicate {}

impl Predicate {
    /// Parses text; an error points at the character.
    pub fn parse(_text: &str) -> Result<Self> {
        Err(Error::unsupported("stub"))
    }
    /// Decodes pyarrow's `Expression.to_substrait(schema)` (an ExtendedExpression). What it cannot
    /// express is widened: the result keeps every row that the expression keeps. `None`: no bound at all.
    pub fn from_substrait(_bytes: &[u8]) -> Result<Option<Self>> {
        Err(Error::unsupported("stub"))
    }
    /// The parts of a top-level `and`.
    pub fn conjuncts(self) -> Vec<Self> {
        match self {}
    }
    /// Both.
    pub fn and(self, _other: Self) -> Self {
        match self {}
    }
    /// Names of the columns used.
    pub fn columns(&self) -> BTreeSet<String> {
        match *self {}
    }
    /// Looks names up and converts literals exactly into the columns' types.
    pub fn bind(&self, _schema: &Schema) -> Result<BoundPredicate> {
        match *self {}
    }
}

impl BoundPredicate {
    /// True for the rows to keep; null counts as false. `batch` has (at least) the columns used, by name.
    pub fn evaluate(&self, _batch: &RecordBatch) -> Result<BooleanArray> {
        Err(Error::unsupported("stub"))
    }
}
