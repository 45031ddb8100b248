//! Budget for the metadata of one file. Structures can share parts, so a few bytes may expand to much: a
//! thousand groups that share the links of one, or an attribute of a megabyte in each of a million objects.
//!
//! In HDF5, `Source::read` charges it for every byte that is read, and `Cursor` and `Messages` for everything that is kept of
//! these bytes; in netCDF classic, the reader of the header does.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use hyperslab_array::{Error, Result, interruption};

/// Budget per byte of the file: structures are read more than once, and are larger in memory. What is paid for takes up to a quarter
/// more in the allocator's pages, and a process may take 16 bytes for one of the file (`docs/hostile-files.md`).
const COST_OF_A_BYTE: u64 = 12;
/// Bytes that may be read for one byte of the budget, and what each read costs on top: time, not memory.
const BYTES_READ_AT_COST: u64 = 4;
const READ_COST: u64 = 48;

/// Bytes of metadata that may still be read or kept.
#[derive(Debug)]
pub(crate) struct Budget {
    total: u64,
    left: AtomicU64,
    /// What was charged for reading alone.
    read: AtomicU64,
}

impl Budget {
    /// For a file of `file_bytes`: what its length justifies, and `limit_bytes`.
    pub fn new(file_bytes: u64, limit_bytes: u64) -> Self {
        Self::of(file_bytes.saturating_mul(COST_OF_A_BYTE).saturating_add(limit_bytes))
    }
    /// Of `bytes`.
    pub fn of(bytes: u64) -> Self {
        Self { total: bytes, left: AtomicU64::new(bytes), read: AtomicU64::new(0) }
    }
    /// Remaining bytes.
    pub fn left(&self) -> u64 {
        self.left.load(Relaxed)
    }
    /// Bytes that were charged.
    pub fn spent(&self) -> u64 {
        self.total.saturating_sub(self.left())
    }
    /// Bytes that were charged for what is kept.
    pub fn kept(&self) -> u64 {
        self.spent().saturating_sub(self.read.load(Relaxed))
    }
    /// Charges `bytes` that are kept; `LimitExceeded` if too few are left.
    /// All that parses pays, so this is also where it finds out that it should end (`Cancelled`).
    pub fn charge(&self, bytes: u64) -> Result<()> {
        interruption::check()?;
        let paid = self.left.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(bytes));
        paid.map(drop).map_err(|_| exceeded())
    }
    /// Charges a read of `bytes`.
    pub fn charge_read(&self, bytes: u64) -> Result<()> {
        let cost = READ_COST.saturating_add(bytes / BYTES_READ_AT_COST);
        self.charge(cost)?;
        self.read.fetch_add(cost, Relaxed);
        Ok(())
    }
}

#[cold]
fn exceeded() -> Error {
    Error::limit_exceeded("the groups, attributes and datatypes of this file are larger than its length justifies (limit metadata_bytes)")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_is_paid_than_there_is() {
        let budget = Budget::new(10, 100);
        assert!(budget.charge(200).is_ok() && budget.charge(100).is_err());
        assert!(budget.charge(20).is_ok() && budget.charge(1).is_err());
        assert_eq!((budget.left(), budget.spent()), (0, 220));
    }

    #[test]
    fn each_read_is_paid_even_of_no_bytes() {
        let budget = Budget::of(200);
        assert!(budget.charge_read(0).is_ok() && budget.charge_read(4 * 40).is_ok());
        assert_eq!((budget.left(), budget.spent(), budget.kept()), (200 - 48 - 88, 136, 0));
        assert!(budget.charge(20).is_ok() && budget.kept() == 20);
    }
}
