//! Finds the matching rows of a segment and reads their values.
//!
//! There are four strategies; [`cost_model`] holds the thresholds between them:
//!
//! - **Scan windows** (`window_rows`): read the predicate's columns window by window, and test every row. Indexes leave out
//!   positions without a candidate (`index_pruning`).
//! - **Look up** (`index_lookup`): take the row numbers from an index, without reading the column.
//! - **Test candidates** (`index_lookup`): if an index leaves few rows, read and test those individually.
//! - **Gather columns** (`row_gather`): read the values at matching rows directly from the file or the index, without
//!   windows or batches.
//!
//! What an index alone answers about a column is in `column_by_index`.

pub(crate) mod column_by_index;
pub(crate) mod coordinate_columns;
pub(crate) mod cost_model;
pub(crate) mod dimension_ranges;
pub(crate) mod index_lookup;
pub(crate) mod index_pruning;
pub(crate) mod indexed_predicate;
pub(crate) mod raw_column;
pub(crate) mod row_gather;
pub(crate) mod segment_scan;
pub(crate) mod window_columns;
pub(crate) mod window_rows;
