//! Finishes a file: resolves references and dimension scales, and writes the metadata.

mod description;
mod dimension_scales;
mod finish;
mod written_references;

pub(crate) use finish::MAX_COMPACT_BYTES;
