//! Converts lengths in a file to lengths in memory.

use hyperslab_array::{Error, Result};

/// `bytes` as a length in memory. Inputs are checked before, so a length that does not fit is an internal error.
pub(crate) fn memory_length(bytes: u64) -> Result<usize> {
    usize::try_from(bytes).map_err(|_| Error::internal(format!("{bytes} bytes do not fit into memory")))
}
