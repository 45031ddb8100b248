//! The record batches of a scan, as an iterator.

use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};

/// Record batches in row order. `Send`, so that bindings can export it as an Arrow stream.
pub struct Batches {
    schema: SchemaRef,
    inner: Box<dyn Source>,
}

/// A source of batches.
pub trait Source: Iterator<Item = hyperslab_array::Result<RecordBatch>> + Send {
    /// The next batch, if it is ready without waiting.
    fn next_ready(&mut self) -> Option<Self::Item>;
}

impl Batches {
    pub(crate) fn new(schema: SchemaRef, inner: impl Source + 'static) -> Self {
        Self { schema, inner: Box::new(inner) }
    }
    /// The next batch, with Hyperslab's error type (the `Iterator` uses Arrow's).
    pub fn next_batch(&mut self) -> Option<hyperslab_array::Result<RecordBatch>> {
        self.inner.next()
    }
    /// The next batch if it is ready; `None` if only [`Batches::next_batch`] can say whether there is one.
    pub fn next_ready(&mut self) -> Option<hyperslab_array::Result<RecordBatch>> {
        self.inner.next_ready()
    }
}

impl Iterator for Batches {
    type Item = Result<RecordBatch, ArrowError>;
    fn next(&mut self) -> Option<Self::Item> {
        Some(self.inner.next()?.map_err(|error| ArrowError::ExternalError(Box::new(error))))
    }
}

impl RecordBatchReader for Batches {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }
}
