//! A predicate checked against a schema, ready for evaluation on batches.

use arrow_array::{BooleanArray, RecordBatch};
use arrow_buffer::BooleanBufferBuilder;
use arrow_schema::Schema;
use hyperslab_array::{Cancellation, Result};

use crate::{KeyType, Predicate, ValueSet, WordTest, bind, evaluate, value_set};

/// Most tests and arithmetic steps, summed over rows, between checks for cancellation: about 50 ms.
const MAX_TESTS: usize = 1 << 26;
/// Minimum number of rows evaluated together, however many tests there are.
const MIN_ROWS: usize = 64;

impl Predicate {
    /// Looks names up and turns literals into tests in the columns' own types, without rounding
    /// them.
    ///
    /// # Errors
    /// `NotFound` for an unknown column, `InvalidInput` for a literal that does not fit.
    pub fn bind(&self, schema: &Schema) -> Result<BoundPredicate> {
        bind::bind(self, schema).map(BoundPredicate)
    }
}

/// A predicate checked against a schema: its columns exist, and its literals have their columns' types.
#[derive(Debug, Clone)]
pub struct BoundPredicate(bind::Bound);

impl BoundPredicate {
    /// True for the rows to keep; null counts as false. `batch` must have (at least) the columns used, by name.
    ///
    /// # Errors
    /// `Internal` if the batch lacks a column, or has one of another type.
    pub fn evaluate(&self, batch: &RecordBatch) -> Result<BooleanArray> {
        evaluate::evaluate(&self.0, batch)
    }
    /// Like [`BoundPredicate::evaluate`], in groups of rows if the predicate has many tests; returns `Cancelled` between groups
    /// once `cancellation` is set.
    ///
    /// # Errors
    /// As [`BoundPredicate::evaluate`], and `Cancelled`.
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
    /// Whether the predicate tests only the column `name` itself: no other column, and no member of it.
    pub fn is_of_column(&self, name: &str) -> bool {
        value_set::is_of_column(&self.0, name)
    }
    /// The matching values of the only column used, as keys; `None` if keys cannot express them.
    pub(crate) fn value_set(&self, key_type: KeyType) -> Option<ValueSet> {
        value_set::value_set(&self.0, key_type)
    }
    /// What it says of the words of the only column used, which is text.
    pub(crate) fn word_test(&self) -> WordTest {
        WordTest::of(&self.0)
    }
}
