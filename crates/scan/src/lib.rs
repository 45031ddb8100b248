//! Tables over the arrays of files: plan a scan from metadata, cut it into splits, read batches or aggregates.
//!
//! - `table`: which objects a request stands for, and their rows and columns.
//! - `plan`: which rows of which objects a scan reads, in windows and splits.
//! - `access`: which rows match, by indexes or by reading, and how values at single rows are fetched.
//! - `read`: windows read side by side, as batches or aggregates.
//! - [`pruner`]: what a scan may ask an index, without knowing any.
#![forbid(unsafe_code)]

mod access;
mod plan;
pub mod pruner;
mod read;
mod request;
mod table;
mod window;

pub use access::column_by_index::ColumnByIndex;
pub use plan::split::{Split, SplitPolicy};
pub use plan::{ChunkCount, Plan, PlanExtent};
pub use read::aggregate::{Extremes, Number, Rule, Summary};
pub use read::batches::Batches;
pub use request::{Layout, ScanRequest};
pub use table::members::Omitted;
pub use table::resolver::{expand, expand_path, file_columns, is_literal, natural};
pub use table::segment::{FILE, RowMapping, DimensionMapping, ROW, Segment, SegmentColumn, Source, array_column, capture_column, metadata_columns};
pub use table::wildcard::{column_names, file_column_names, has_wildcard, matched_file};
