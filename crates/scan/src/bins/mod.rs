//! Bins: the intervals of a histogram's axis, and counting numbers in them. Aggregates of scans and histograms of queries use
//! the same.

pub(crate) mod counter;
pub(crate) mod intervals;
pub(crate) mod number_types;
mod uniform_bins;
