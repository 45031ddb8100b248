//! Which rows match, and by which way their values are read.

pub(crate) mod column_by_index;
pub(crate) mod coordinate_columns;
pub(crate) mod dimension_ranges;
pub(crate) mod index_lookup;
pub(crate) mod indexed_predicate;
pub(crate) mod raw_column;
pub(crate) mod row_gather;
