//! The place of a column in a record.

/// A member of a record that becomes a column.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Lane {
    /// Its byte offset in the record.
    pub at: usize,
    /// Its size in the record, in bytes.
    pub bytes: usize,
    /// The size of the numbers whose bytes must be swapped; 1: none.
    pub swap_bytes: usize,
}
