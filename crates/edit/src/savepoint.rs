//! Savepoint: what a change of several steps has overwritten, so that one that fails leaves nothing behind.

use crate::free_space::FreeSpace;

/// The state before a change.
pub(crate) struct Savepoint {
    /// The end of what was allocated.
    pub end: u64,
    /// What was free.
    pub free: FreeSpace,
    /// Bytes in front of that end that were overwritten since, in the order of the writes.
    pub overwritten: Vec<(u64, Vec<u8>)>,
}
