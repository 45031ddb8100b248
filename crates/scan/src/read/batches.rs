//! Batches: the record batches of a scan, one after the other.

use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};

/// Record batches in row order. `Send`, so that bindings can hand it on as an Arrow stream.
pub struct Batches {
    schema: SchemaRef,
    inner: Box<dyn Source>,
}

/// Where batches come from.
pub trait Source: Iterator<Item = hyperslab_array::Result<RecordBatch>> + Send {
    /// The next batch, where it needs no waiting for.
    fn next_ready(&mut self) -> Option<Self::Item>;
}

impl Batches {
    pub(crate) fn new(schema: SchemaRef, inner: impl Source + 'static) -> Self {
        Self { schema, inner: Box::new(inner) }
    }
    /// The next batch with our own error type (the `Iterator` has Arrow's).
    pub fn next_batch(&mut self) -> Option<hyperslab_array::Result<RecordBatch>> {
        self.inner.next()
    }
    /// The next batch if it is there already; `None` where `next_batch` has to tell.
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
