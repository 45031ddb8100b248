//! Query: which elements of arrays satisfy a condition, and what is known of these.
//!
//! The group and the names are apart: `energy > 1.3 && x < 140` is asked of every group that `/Step#*` stands
//! for, in every file. In each of these **steps** the names become [`Variable`](variable)s of one shape, which
//! is the shape of the step's rows, and the step a segment of a scan. What a scan can do (hyperslabs from
//! dimensions, windows that follow the chunks, values read only where rows passed, indexes), a query does.
#![forbid(unsafe_code)]

mod bin_counter;
mod bins;
mod conditional;
mod histogram;
mod matched_group;
mod number_types;
mod quantile;
mod query;
mod request;
mod subarray;
mod uniform_bins;
mod variable;

pub use bins::Bins;
pub use quantile::OrderStatistics;
pub use query::{Query, StepDescription};
pub use request::{Origin, QueryRequest};
