//! Space: a run of the file in which structures get their addresses and bytes.

use hyperslab_array::{Error, Result};

/// Where structures begin.
const ALIGNMENT: usize = 8;

/// Bytes from some address of the file on.
pub(crate) struct Space {
    start: u64,
    bytes: Vec<u8>,
}

impl Space {
    /// Nothing yet, from address `start` on, a multiple of 8.
    pub fn new(start: u64) -> Self {
        Self { start, bytes: Vec::new() }
    }
    /// Room for `length` bytes; its address.
    pub fn reserve(&mut self, length: usize) -> u64 {
        let at = self.bytes.len().next_multiple_of(ALIGNMENT);
        self.bytes.resize(at + length, 0);
        self.start + at as u64
    }
    /// A structure whose bytes are known; its address.
    pub fn put(&mut self, bytes: &[u8]) -> u64 {
        let at = self.bytes.len().next_multiple_of(ALIGNMENT);
        self.bytes.resize(at, 0);
        self.bytes.extend_from_slice(bytes);
        self.start + at as u64
    }
    /// The bytes of what was reserved at `address`.
    pub fn fill(&mut self, address: u64, bytes: &[u8]) -> Result<()> {
        let at = address.checked_sub(self.start).and_then(|at| usize::try_from(at).ok());
        let place = at.and_then(|at| self.bytes.get_mut(at..at.checked_add(bytes.len())?));
        place.ok_or_else(|| Error::internal("a structure outside of its room"))?.copy_from_slice(bytes);
        Ok(())
    }
    /// The address behind everything.
    pub fn end(&self) -> u64 {
        self.start + self.bytes.len() as u64
    }
    pub fn finish(self) -> Vec<u8> {
        self.bytes
    }
}
