//! Scan: request, plan, split, read. Metadata only until `read`.

mod aggregate;
mod batches;
mod narrow;
mod pipeline;
mod plan;
pub mod predicate;
mod prune;
pub mod pruner;
mod request;
mod rows;
mod segment;
mod split;
mod spread;
mod table;
mod wildcard;
mod window;

pub use aggregate::{Extremes, Summary};
pub use batches::Batches;
pub use plan::{Plan, PlanExtent};
pub use request::{Layout, ScanRequest};
pub use split::{Split, SplitPolicy};
pub(crate) use table::expand_path;
pub(crate) use wildcard::has_wildcard;
