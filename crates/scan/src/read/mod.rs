//! Reading windows side by side: batches and aggregates.

pub(crate) mod aggregate;
pub(crate) mod batches;
mod execution;
mod matching_rows;
mod pipeline;
mod row_columns;
