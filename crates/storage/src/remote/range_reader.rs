//! Ranges of an object that a program reads in a way of its own.

use hyperslab_array::Result;

/// Reads ranges of an object in a way of its own, such as a file object of Python.
pub trait RangeReader: Send + Sync {
    /// The bytes of each `(offset, length)`, in the given order.
    ///
    /// # Errors
    /// What the reader cannot do.
    fn read_ranges(&self, ranges: &[(u64, u64)]) -> Result<Vec<Vec<u8>>>;
    /// Whether ranges are read on threads of this crate, several batches side by side and ahead of their use, so that a thread that waits
    /// for them can be cancelled. By default the thread that needs the bytes calls [`RangeReader::read_ranges`] itself.
    fn reads_aside(&self) -> bool {
        false
    }
}
