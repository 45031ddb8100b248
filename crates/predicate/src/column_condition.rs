//! Condition: a predicate on the values of one column.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch, RecordBatchOptions};
use arrow_schema::{Field, Schema};
use hyperslab_array::{Error, Result};

use crate::{BoundPredicate, KeyType, ValueSet};

/// Which values of a column pass.
#[derive(Debug, Clone)]
pub struct Condition {
    /// The values, where the column's have keys and the predicate is one that keys can tell.
    values: Option<ValueSet>,
    /// The predicate and the column that it names.
    predicate: Option<(BoundPredicate, Arc<Field>)>,
}

impl Condition {
    /// A predicate that speaks of `field` alone; `None` where it speaks of other columns, or of members below it.
    pub fn new(predicate: &BoundPredicate, field: &Arc<Field>) -> Option<Self> {
        if !predicate.is_of_column(field.name()) {
            return None;
        }
        // What is computed from numbers is no set of them: indexes of numbers know values by their keys alone.
        let values = match KeyType::of(field.data_type()) {
            Some(key_type) => Some(predicate.value_set(key_type)?),
            None => None,
        };
        let field = Arc::new(field.as_ref().clone().with_nullable(true));
        Some(Self { values, predicate: Some((predicate.clone(), field)) })
    }

    /// The values of a set.
    pub fn of_values(values: ValueSet) -> Self {
        Self { values: Some(values), predicate: None }
    }

    /// Both conditions, of the same column.
    pub fn and(&self, other: &Self) -> Option<Self> {
        let (a, b) = (self.values.as_ref()?, other.values.as_ref()?);
        Some(Self::of_values(a.clone().and(b)))
    }

    /// The values that pass, where keys can tell.
    pub fn values(&self) -> Option<&ValueSet> {
        self.values.as_ref()
    }

    /// As [`Condition::test`], of texts where the column is a dictionary of texts.
    pub fn test_plain(&self, texts: &ArrayRef) -> Result<BooleanArray> {
        match &self.predicate {
            Some((_, field)) if field.data_type() != texts.data_type() => {
                let array = arrow_cast::cast(texts, field.data_type()).map_err(|e| Error::internal(e.to_string()))?;
                self.test(&array)
            }
            _ => self.test(texts),
        }
    }

    /// Which of an array's values pass; null counts as false unless the condition asks for it.
    pub fn test(&self, array: &ArrayRef) -> Result<BooleanArray> {
        if let Some((predicate, field)) = &self.predicate {
            let options = RecordBatchOptions::new().with_row_count(Some(array.len()));
            let schema = Arc::new(Schema::new(vec![field.clone()]));
            let batch = RecordBatch::try_new_with_options(schema, vec![array.clone()], &options);
            return predicate.evaluate(&batch.map_err(|e| Error::internal(format!("a batch of one column: {e}")))?);
        }
        let values = self.values.as_ref().ok_or_else(|| Error::internal("a condition of nothing"))?;
        let keys = values.key_type().keys(array)?;
        let passes = |(row, key): (usize, &Option<u64>)| {
            if array.is_null(row) { values.has_null() } else { values.contains_value(*key) }
        };
        Ok(BooleanArray::new(keys.iter().enumerate().map(passes).collect(), None))
    }
}
