//! Whether an index is of the values that a file has now.

pub(crate) mod compared;
pub(crate) mod source;
