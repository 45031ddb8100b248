//! Finds the matching rows of a segment and reads their values.
//!
//! [`strategy`] chooses how; [`cost_model`] holds the thresholds. The strategies:
//!
//! - **Scan windows** (`window_rows`): read the predicate's columns window by window, and test every row.
//! - **Prune windows** (`index_pruning`): the same, without the rows and positions that indexes rule out.
//! - **Count in the index**: take the number of matching rows from an index.
//! - **Look up rows** (`index_lookup`): take the row numbers from indexes, without reading the columns.
//! - **Test candidates** (`index_lookup`): if indexes leave few rows, read and test those individually.
//!
//! Values at rows that were looked up are read by `row_gather` directly from the file or the index, without windows or batches.
//! What an index alone answers about a column is in `column_by_index`, and which values windows can have in `sort_rank`.

mod block_columns;
pub(crate) mod box_conditions;
pub(crate) mod column_by_index;
pub(crate) mod composed_columns;
pub(crate) mod coordinate_columns;
pub(crate) mod cost_model;
pub(crate) mod dimension_ranges;
pub(crate) mod index_lookup;
pub(crate) mod index_pruning;
pub(crate) mod indexed_predicate;
pub(crate) mod indexed_term;
pub(crate) mod joined_columns;
mod patch_columns;
pub(crate) mod patch_conditions;
pub(crate) mod ragged_columns;
mod raw_column;
pub(crate) mod row_gather;
pub(crate) mod segment_scan;
pub(crate) mod sort_rank;
mod spread_columns;
pub(crate) mod strategy;
pub(crate) mod window_columns;
pub(crate) mod window_rows;
