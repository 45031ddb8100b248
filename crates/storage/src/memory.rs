//! Bytes that are in memory already: test data, attachments, inputs of fuzzers.

use hyperslab_array::{Error, Result};

use crate::{Storage, check_range};

/// A file held in memory.
#[derive(Debug, Clone)]
pub struct Memory {
    bytes: Vec<u8>,
    name: String,
}

impl Memory {
    /// `bytes` under a `name` for messages.
    pub fn new(name: impl Into<String>, bytes: Vec<u8>) -> Self {
        Self { bytes, name: name.into() }
    }
}

impl Storage for Memory {
    fn len(&self) -> u64 {
        self.bytes.len() as u64
    }
    fn read_exact_at(&self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        check_range(self, offset, buffer.len())?;
        let kept = self.kept(offset, buffer.len());
        buffer.copy_from_slice(kept.ok_or_else(|| Error::internal("range was checked"))?);
        Ok(())
    }
    fn kept(&self, offset: u64, length: usize) -> Option<&[u8]> {
        let start = usize::try_from(offset).ok()?;
        self.bytes.get(start..start.checked_add(length)?)
    }
    fn is_unchanged(&self) -> bool {
        true
    }
    fn name(&self) -> &str {
        &self.name
    }
}
