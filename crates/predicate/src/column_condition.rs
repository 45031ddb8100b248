//! A condition on the values of one column.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch, RecordBatchOptions};
use arrow_schema::{Field, Schema};
use hyperslab_array::{Error, Result};

use crate::{BoundPredicate, KeyType, ValueSet, WordTest};

/// Which values of a column match.
#[derive(Debug, Clone)]
pub struct Condition {
    /// The matching values, if the column's type has keys and keys can express the predicate.
    values: Option<ValueSet>,
    /// The predicate and the column that it names.
    predicate: Option<(BoundPredicate, Arc<Field>)>,
    /// What it says of the words of a text; `None` for other columns.
    words: Option<Arc<WordTest>>,
}

impl Condition {
    /// The condition of a predicate that uses only `field`; `None` if it uses other columns or members of it.
    pub fn new(predicate: &BoundPredicate, field: &Arc<Field>) -> Option<Self> {
        if !predicate.is_of_column(field.name()) {
            return None;
        }
        // A predicate on computed values is not a set of keys, and indexes of numbers know values only by their keys.
        let (values, words) = match KeyType::of(field.data_type()) {
            Some(key_type) => (Some(predicate.value_set(key_type)?), None),
            None => (None, Some(Arc::new(predicate.word_test()))),
        };
        let field = Arc::new(field.as_ref().clone().with_nullable(true));
        Some(Self { values, predicate: Some((predicate.clone(), field)), words })
    }

    /// The values of a set.
    pub fn of_values(values: ValueSet) -> Self {
        Self { values: Some(values), predicate: None, words: None }
    }

    /// The conjunction of two conditions on the same column.
    pub fn and(&self, other: &Self) -> Option<Self> {
        let (a, b) = (self.values.as_ref()?, other.values.as_ref()?);
        Some(Self::of_values(a.clone().and(b)))
    }

    /// The matching values, if keys can express them.
    pub fn values(&self) -> Option<&ValueSet> {
        self.values.as_ref()
    }

    /// What the condition says of the words of a text; `None` for columns of other types.
    pub fn words(&self) -> Option<&WordTest> {
        self.words.as_deref()
    }

    /// Like [`Condition::test`], on plain strings if the column is a dictionary of strings.
    ///
    /// # Errors
    /// As [`Condition::test`].
    pub fn test_plain(&self, texts: &ArrayRef) -> Result<BooleanArray> {
        match &self.predicate {
            Some((_, field)) if field.data_type() != texts.data_type() => {
                let array = arrow_cast::cast(texts, field.data_type()).map_err(|e| Error::internal(e.to_string()))?;
                self.test(&array)
            }
            _ => self.test(texts),
        }
    }

    /// Which of an array's values match; null counts as false unless the condition matches null.
    ///
    /// # Errors
    /// `Internal` if the array has another type than the column.
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
