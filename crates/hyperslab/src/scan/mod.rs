//! Scan: request, plan, split, read. Metadata only until `read`.

mod batches;
pub mod predicate;
mod plan;
mod request;
mod split;

pub use batches::Batches;
pub use plan::Plan;
pub use request::{Layout, ScanRequest};
pub use split::{Split, SplitPolicy};
