//! Runs a plan: reads windows in parallel, as batches, counts, columns or aggregates.

pub(crate) mod aggregate;
pub(crate) mod batches;
mod execution;
mod matching_rows;
mod pipeline;
mod row_columns;
mod top_rows;
