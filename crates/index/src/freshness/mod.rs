//! Whether an index still describes the values that a file has now.

pub(crate) mod column;
pub(crate) mod compare;
pub(crate) mod fingerprint;
pub(crate) mod indexed_parts;
pub(crate) mod indexed_values;
pub(crate) mod type_text;
