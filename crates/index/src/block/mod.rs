//! The index of one block, in memory: how it is built from the values, encoded, and searched. No I/O.

pub(crate) mod bitmaps;
pub(crate) mod block_builder;
pub(crate) mod block_grid;
pub(crate) mod block_keys;
pub(crate) mod block_runs;
pub(crate) mod composite;
pub(crate) mod composite_query;
pub(crate) mod hash;
pub(crate) mod not_indexed;
pub(crate) mod packed_keys;
pub(crate) mod rank_query;
pub(crate) mod sort;
pub(crate) mod words;
pub(crate) mod zone;
