//! B-trees (specification III.A).
pub(crate) mod v2;
