//! Split: a unit of reading, as plain data that goes to another thread, process or machine.

use hyperslab_array::{Error, Result};

use super::Batches;
use crate::{Cancellation, Session};

/// How finely to cut.
#[derive(Debug, Clone, Default)]
pub struct SplitPolicy {
    /// Aim for this many bytes of values a split.
    pub target_bytes: Option<u64>,
    /// Aim for this many splits (wins over `target_bytes`).
    pub count: Option<usize>,
}

/// A unit of reading.
#[derive(Debug, Clone)]
pub struct Split {}

impl Split {
    /// Versioned bytes.
    pub fn encode(&self) -> Result<Vec<u8>> {
        Err(Error::unsupported("stub"))
    }
    /// The split of `encode`; another version is an error.
    pub fn decode(_bytes: &[u8]) -> Result<Self> {
        Err(Error::unsupported("stub"))
    }
    /// Reads the split's batches.
    pub fn read(&self, _session: &Session, _cancellation: &Cancellation) -> Result<Batches> {
        Err(Error::unsupported("stub"))
    }
}
