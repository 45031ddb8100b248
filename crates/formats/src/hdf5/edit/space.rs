//! Where edited structures are written.

use hyperslab_array::Result;

/// The bytes of a file that is edited. Addresses count from the superblock.
pub trait Space {
    /// Room for `bytes` at the end of the file; returns its address.
    ///
    /// # Errors
    /// `Unsupported` if the file cannot become that large.
    fn allocate(&self, bytes: u64) -> Result<u64>;
    /// Changes bytes, which are read back from then on.
    ///
    /// # Errors
    /// `Io` if they cannot be written; `LimitExceeded` if a commit changes too much.
    fn write(&self, address: u64, bytes: &[u8]) -> Result<()>;
    /// Whether a structure of `bytes` lies in the file as it was, or in what was allocated. One that begins in the file and ends after it
    /// is damaged: what it would overwrite is allocated for something else.
    ///
    /// # Errors
    /// `Internal` after a panic during a change.
    fn holds(&self, address: u64, bytes: u64) -> Result<bool>;
    /// Frees bytes that nothing refers to.
    ///
    /// # Errors
    /// `Internal` after a panic during a change.
    fn free(&self, address: u64, bytes: u64) -> Result<()>;
}
