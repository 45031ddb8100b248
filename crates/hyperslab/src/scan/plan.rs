//! Plan: what a scan will read, from metadata only.

use arrow_schema::SchemaRef;
use hyperslab_array::{Error, Result};

use super::{Batches, ScanRequest, Split, SplitPolicy};
use crate::{Cancellation, File};

/// A planned scan.
#[derive(Clone)]
pub struct Plan {
    schema: SchemaRef,
}

impl Plan {
    /// Plans `request` over `files` (one table; files in the given order).
    pub fn new(_files: &[File], _request: &ScanRequest) -> Result<Self> {
        Err(Error::unsupported("stub"))
    }
    /// Schema of the batches.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }
    /// Number of rows; read from shapes where no predicate is left to evaluate.
    pub fn count(&self, _cancellation: &Cancellation) -> Result<u64> {
        Err(Error::unsupported("stub"))
    }
    /// Cuts the scan into units of reading, aligned with chunks, in row order.
    pub fn split(&self, _policy: &SplitPolicy) -> Result<Vec<Split>> {
        Err(Error::unsupported("stub"))
    }
    /// Reads everything here, in row order, decoding in parallel.
    pub fn batches(&self, _cancellation: &Cancellation) -> Result<Batches> {
        Err(Error::unsupported("stub"))
    }
}
