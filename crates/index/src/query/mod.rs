//! Queries: what an index knows of the values of a dataset.

pub(crate) mod audit;
pub(crate) mod audit_budget;
mod audit_words;
mod audited;
pub(crate) mod column_index;
mod composite_audit;
pub(crate) mod composite_index;
pub(crate) mod counts;
pub(crate) mod data_lookup;
pub(crate) mod indexed_column;
pub(crate) mod matching_positions;
pub(crate) mod matching_values;
mod matching_words;
pub(crate) mod quantile;
mod random;
pub(crate) mod row_collector;
pub(crate) mod row_values;
