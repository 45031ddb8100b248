//! A predicate checked against a schema, ready for evaluation on batches.

use arrow_array::{BooleanArray, RecordBatch};
use arrow_buffer::BooleanBufferBuilder;
use arrow_schema::Schema;
use hyperslab_array::{Cancellation, Result};

use crate::{KeyType, Predicate, ValueSet, bind, evaluate, value_set};

/// Tests and steps of arithmetic of all rows together, about 50 ms, before cancellation is looked at.
const MAX_TESTS: usize = 1 << 26;
/// Rows that are evaluated together however much there is to test.
const MIN_ROWS: usize = 64;

impl Predicate {
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
