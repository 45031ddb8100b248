//! Answering: what an index knows of the values of a dataset.

pub(crate) mod block_directory;
pub(crate) mod column;
pub(crate) mod data_lookup;
pub(crate) mod matching_rows;
pub(crate) mod matching_values;
pub(crate) mod quantile;
pub(crate) mod rank_query;
pub(crate) mod values;
