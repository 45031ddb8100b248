//! Scan: request, plan, split, read. Metadata only until `read`.
#![forbid(unsafe_code)]

mod aggregate;
mod arrays;
mod batches;
mod boundary;
mod builder;
mod by_index;
mod chunks;
mod gather;
mod members;
mod narrow;
mod pipeline;
mod plan;
mod prune;
pub mod pruner;
mod request;
mod rows;
mod segment;
mod split;
mod spread;
mod stamp;
mod stored;
mod table;
mod told;
mod wildcard;
mod window;

pub use segment::{FILE, Place, PlacedDimension, ROW, Segment, SegmentColumn, Source, array_column, capture_column, metadata_columns};
pub use table::{expand, is_literal, natural};
pub use wildcard::{column_names, file_column_names, matched_file};

pub use aggregate::{Extremes, Number, Rule, Summary};
pub use batches::Batches;
pub use members::Omitted;
pub use by_index::ColumnByIndex;
pub use plan::{ChunkCount, Plan, PlanExtent};
pub use request::{Layout, ScanRequest};
pub use split::{Split, SplitPolicy};
pub use table::file_columns;
pub use table::expand_path;
pub use wildcard::has_wildcard;
