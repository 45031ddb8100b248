//! Query: finds the elements of arrays that satisfy a condition, and summarizes their values.
//!
//! A query separates groups from names: `energy > 1.3 && x < 140` applies to every group that matches `/Step#*`, in every
//! file. In each of these **steps**, the names are resolved to [`Variable`](variable)s of one shape, which is the shape of the
//! step's rows, and the step becomes a segment of a scan. A query therefore does all that a scan does: it turns conditions on
//! dimensions into hyperslabs, reads windows that follow the chunks, reads other columns only at matching rows, and uses
//! indexes.
#![forbid(unsafe_code)]
#![deny(clippy::exhaustive_enums, clippy::exhaustive_structs, clippy::missing_errors_doc)]

mod conditional;
mod histogram;
mod matched_group;
mod quantile;
mod query;
mod request;
mod subarray;
mod variable;

pub use hyperslab_scan::Bins;
pub use quantile::OrderStatistics;
pub use query::{Query, StepDescription};
pub use request::{Origin, QueryRequest};
