//! Reading windows side by side: batches and aggregates.

pub(crate) mod aggregate;
pub(crate) mod batches;
pub(crate) mod pipeline;
pub(crate) mod window_reader;
