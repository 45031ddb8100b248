//! B-trees (specification III.A).
mod encode;
pub(crate) mod v2;

pub(crate) use encode::encode;
