//! Whether an index describes the current values of a file.

pub(crate) mod column;
pub(crate) mod compare;
pub(crate) mod fingerprint;
pub(crate) mod indexed_parts;
pub(crate) mod indexed_values;
pub(crate) mod type_text;
