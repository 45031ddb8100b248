//! Source: metadata reads of one HDF5 file, with its base address and sizes of offsets and lengths.

use std::borrow::Cow;
use std::sync::Arc;

use hyperslab_array::{Error, HeapObjects, Result};
use hyperslab_storage::{IF_DAMAGED, Storage};

use super::Cursor;
use super::shared_heaps::SharedMessages;
use crate::Limits;
use crate::budget::Budget;

/// What every HDF5 parser needs: the bytes, the base of addresses, and the widths of addresses and lengths.
#[derive(Clone)]
pub(crate) struct Source {
    pub storage: Arc<dyn Storage>,
    /// Absolute offset that addresses are relative to.
    pub base_address: u64,
    /// Size of offsets: bytes of an address (2, 4 or 8).
    pub offset_size: u8,
    /// Size of lengths: bytes of a length (2, 4 or 8).
    pub length_size: u8,
    pub limits: Limits,
    /// Heaps of shared messages; empty in most files.
    pub shared_messages: Arc<SharedMessages>,
    /// Budget for all metadata of the file.
    pub budget: Arc<Budget>,
}

impl Source {
    /// The same file with a fresh budget, for one use of limited extent.
    pub fn with_own_budget(&self) -> Self {
        self.with_budget(Budget::new(self.storage.len(), self.limits.metadata_bytes))
    }
    /// The same file with another budget.
    pub fn with_budget(&self, budget: Budget) -> Self {
        Self { budget: Arc::new(budget), ..self.clone() }
    }
    /// `length` bytes at `address` (relative to the base address). The budget pays for them each time.
    pub fn read(&self, address: u64, length: u64) -> Result<Cow<'_, [u8]>> {
        let absolute = self.absolute(address)?;
        if length > self.limits.metadata_block_bytes {
            return Err(Error::limit_exceeded(format!("a metadata block of {length} bytes exceeds the limit of {}", self.limits.metadata_block_bytes))
                .at_offset(absolute));
        }
        // A wrong length must not cost memory: compare it with the file before allocating.
        if !absolute.checked_add(length).is_some_and(|end| self.storage.reaches(end)) {
            return Err(Error::corrupt(format!(
                "{length} bytes are needed here but the file ends at byte {}: it is truncated or the address is wrong; {IF_DAMAGED}",
                self.storage.len()
            ))
            .at_offset(absolute));
        }
        let length = usize::try_from(length).map_err(|_| Error::limit_exceeded("a block exceeds memory"))?;
        self.budget.charge_read(length as u64)?;
        if let Some(kept) = self.storage.kept(absolute, length) {
            return Ok(Cow::Borrowed(kept));
        }
        let mut bytes = zeroed(length)?;
        self.storage.read_exact_at(absolute, &mut bytes)?;
        Ok(Cow::Owned(bytes))
    }
    /// Up to `length` bytes at `address`, fewer at the end of the file.
    pub fn read_up_to(&self, address: u64, length: u64) -> Result<Cow<'_, [u8]>> {
        let left = self.storage.len().saturating_sub(self.absolute(address)?);
        self.read(address, length.min(left))
    }
    /// Fetches what lies at these addresses, `(address, length)`, in one round if each read of the storage waits for a round
    /// trip. Lengths may be guesses, and addresses wrong: the read that follows tells.
    pub fn prefetch(&self, places: impl IntoIterator<Item = (u64, u64)>) -> Result<()> {
        if !self.storage.is_remote() {
            return Ok(());
        }
        let absolute = |(address, length)| Some((self.base_address.checked_add(address)?, length));
        let ranges: Vec<(u64, u64)> = places.into_iter().filter_map(absolute).collect();
        self.storage.prefetch(&ranges)
    }
    /// An empty set of heap objects with the budget of one read.
    pub fn heap_objects(&self) -> HeapObjects {
        HeapObjects::limited(self.limits.heap_budget(self.storage.len()))
    }
    /// The absolute byte offset of `address`.
    pub fn absolute(&self, address: u64) -> Result<u64> {
        self.base_address.checked_add(address).ok_or_else(|| Error::corrupt(format!("address {address:#x} exceeds 64 bits")))
    }
    /// A cursor over `bytes` that were read at `address`.
    pub fn cursor<'a>(&'a self, bytes: &'a [u8], address: u64) -> Cursor<'a> {
        Cursor::new(bytes, self.base_address.saturating_add(address), self.offset_size, self.length_size, &self.budget)
    }
}

/// `length` zeros; `LimitExceeded` if memory is too short for them.
pub(crate) fn zeroed(length: usize) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(length).map_err(|_| Error::limit_exceeded(format!("no memory for {length} bytes of metadata")))?;
    bytes.resize(length, 0);
    Ok(bytes)
}
