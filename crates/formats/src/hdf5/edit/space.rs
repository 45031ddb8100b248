//! Where edited structures are written.

use hyperslab_array::Result;

pub use crate::hdf5::writer::PageKind;

/// The bytes of a file that is edited. Addresses count from the superblock.
pub trait Space {
    /// Room for `bytes` at the end of the file or in a free range; returns its address. In a file of pages, it is in pages of this kind.
    ///
    /// # Errors
    /// `Unsupported` if the file cannot become that large.
    fn allocate(&self, kind: PageKind, bytes: u64) -> Result<u64>;
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
    /// Frees bytes that nothing refers to, which were allocated for this kind.
    ///
    /// # Errors
    /// `Internal` after a panic during a change.
    fn free(&self, kind: PageKind, address: u64, bytes: u64) -> Result<()>;
    /// Bytes of a page in a file of pages.
    fn page_bytes(&self) -> Option<u64>;
}
