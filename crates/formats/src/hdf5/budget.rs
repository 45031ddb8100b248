//! Budget for the metadata of one file. Structures can share parts, so a few bytes may expand to much: a
//! thousand groups that share the links of one, or an attribute of a megabyte in each of a million objects.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use hyperslab_array::{Error, Result};

/// Budget per byte of the file: structures are read more than once, and are larger in memory.
const COST_OF_A_BYTE: u64 = 16;

/// Bytes of metadata that may still be read or kept.
#[derive(Debug)]
pub(crate) struct Budget {
    left: AtomicU64,
}

impl Budget {
    /// For a file of `file_bytes`: what its length justifies, and `limit_bytes`.
    pub fn new(file_bytes: u64, limit_bytes: u64) -> Self {
        Self { left: AtomicU64::new(file_bytes.saturating_mul(COST_OF_A_BYTE).saturating_add(limit_bytes)) }
    }
    /// Remaining bytes.
    pub fn left(&self) -> u64 {
        self.left.load(Relaxed)
    }
    /// Charges `bytes`; `LimitExceeded` if too few are left.
    pub fn charge(&self, bytes: u64) -> Result<()> {
        let paid = self.left.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(bytes));
        paid.map(drop)
            .map_err(|_| Error::limit_exceeded("the groups, attributes and datatypes of this file are larger than its length justifies (limit metadata_bytes)"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_is_paid_than_there_is() {
        let budget = Budget::new(10, 100);
        assert!(budget.charge(200).is_ok() && budget.charge(100).is_err());
        assert!(budget.charge(60).is_ok() && budget.charge(1).is_err());
        assert_eq!(budget.left(), 0);
    }
}
