//! Scan: request, plan, split, read. Metadata only until `read`.
#![forbid(unsafe_code)]

mod table;
mod access;
mod read;
mod plan;
pub mod pruner;

pub use table::segment::{FILE, Place, PlacedDimension, ROW, Segment, SegmentColumn, Source, array_column, capture_column, metadata_columns};
pub use table::resolver::{expand, is_literal, natural};
pub use table::wildcard::{column_names, file_column_names, matched_file};

pub use read::aggregate::{Extremes, Number, Rule, Summary};
pub use read::batches::Batches;
pub use table::members::Omitted;
pub use access::column_by_index::ColumnByIndex;
pub use plan::{ChunkCount, Plan, PlanExtent};
pub use plan::request::{Layout, ScanRequest};
pub use plan::split::{Split, SplitPolicy};
pub use table::resolver::file_columns;
pub use table::resolver::expand_path;
pub use table::wildcard::has_wildcard;
