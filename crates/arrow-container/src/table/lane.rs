//! Where a column lies in a record.

/// A member of a record that is a column.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Lane {
    /// Where it begins in the record, in bytes.
    pub(super) at: usize,
    /// Its length in the record.
    pub(super) bytes: usize,
    /// The length of the numbers whose bytes are the wrong way round in the record; 1: none.
    pub(super) swap_bytes: usize,
}
