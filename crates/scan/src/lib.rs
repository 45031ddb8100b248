//! Tables over the arrays of files: plan a scan from metadata, cut it into splits, read batches or aggregates.
//!
//! Each module depends only on those above it:
//!
//! - [`pruner`]: the interface through which a scan asks indexes about an array's values.
//! - `request`: what a caller asks for.
//! - `bins`: the intervals of a histogram, and counting numbers in them.
//! - `window`: cuts rows into boxes that fit memory and follow the chunks.
//! - `table`: resolves a request to objects, with their rows and columns.
//! - `access`: finds the matching rows of one object, by indexes or by reading, and reads their values.
//! - `plan`: decides from metadata what a scan reads, and cuts it into splits.
//! - `read`: reads windows in parallel, as batches, columns, counts or aggregates.
//! - `reduce`: aggregates by groups that follow from indexes along dimensions, without batches.
#![forbid(unsafe_code)]
#![deny(clippy::exhaustive_enums, clippy::exhaustive_structs, clippy::missing_errors_doc)]

mod access;
mod bins;
mod plan;
pub mod pruner;
mod read;
mod reduce;
mod request;
mod table;
mod window;

pub use access::column_by_index::ColumnByIndex;
pub use bins::counter::BinCounter;
pub use bins::intervals::Bins;
pub use bins::number_types::{append_doubles, is_countable};
pub use plan::boxes::BoxSplit;
pub use plan::split::{Split, SplitPolicy};
pub use plan::targets::{PlacedSplit, interleaved};
pub use plan::top_bound::TopBound;
pub use plan::{ChunkCount, Plan, PlanExtent};
pub use read::aggregate::{Extremes, Number, Rule, Summary};
pub use read::batches::Batches;
pub use reduce::dimensions::Dimensions;
pub use reduce::expression::Expression;
pub use reduce::request::{LEFT_OUT, Measure, Reduction, SegmentClasses};
pub use reduce::split::{GroupedSplit, Groups, Measured};
pub use request::{DimensionRange, Layout, Naming, Nonconforming, ScanRequest, SortKey};
pub use table::along::AlongValues;
pub use table::array_part::ArrayPart;
pub use table::boundary::coordinate_of_bounds;
pub use table::column_order::ColumnOrder;
pub use table::connectivity::{Gaps, IndexRule};
pub use table::definition::SegmentDefinition;
pub use table::elements::Elements;
pub use table::file_names::matching_files;
pub use table::literal::Literal;
pub use table::mapping::{DimensionMapping, RowMapping};
pub use table::members::{Omitted, decoding_of};
pub use table::model::{ModelTables, SessionModels};
pub use table::owners::{OwnerStep, Ownership};
pub use table::patch_boxes::{PatchBox, PatchBoxes};
pub use table::patch_lists::{BlockGrid, BoxList};
pub use table::patches::{PatchValues, Patched};
pub use table::ragged::Bounds;
pub use table::repeated::RepeatedAxis;
pub use table::resolver::{expand, expand_path, file_columns, is_literal, natural};
pub use table::segment::{FILE, ROW, Segment, SegmentColumn, Source, array_column, capture_column, decoding, metadata_columns};
pub use table::values::{Term, UnitConversion, Values};
pub use table::wildcard::{FilePattern, column_names, file_column_names, has_wildcard, matched as matched_name, matched_file};
