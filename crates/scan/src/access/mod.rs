//! Which rows match, and by which way their values are read.

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
