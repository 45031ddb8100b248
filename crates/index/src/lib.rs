//! Value indexes: where in an array values are, without reading the array.
//!
//! ```text
//! let plan = IndexPlan::new(&files, &request, &cancellation)?;   // metadata, and samples of values
//! let fragment = plan.tasks(8)[0].run(&session, …)?;             // plain data both ways; a segment on the disk
//! commit(&fragments)?;                                           // the manifest is replaced: visible
//! ```
//!
//! An index consists of blocks of up to 65,536 elements that follow the chunks (`build::block_grid`). A block is sorted by
//! value (`build::sort`) and stores what its level asks for (`build::block`): minimum and maximum, every 64th value, the
//! positions in order, the values in order (`store::packed_keys`), or a bitmap for each distinct value (`store::bitmaps`).
//! Blocks lie in immutable index files (`store::index_file`) in a folder next to the data file; a manifest
//! (`store::manifest`) names them. Small datasets share index files (`store::shared_files`). An index may also lie at the
//! end of the data file (`store::embedded`).
//!
//! `registry` finds the index of an open file, and `freshness` makes sure that it belongs to that version of it; it is the
//! pruner that scans ask. `query` answers from the blocks.
#![forbid(unsafe_code)]

mod build;
mod freshness;
mod maintenance;
mod query;
mod registry;
mod store;

pub use build::commit::commit;
pub use build::plan::{IndexPlan, PlannedIndex};
pub use build::request::IndexRequest;
pub use build::task::{IndexFragment, IndexTask};
pub use maintenance::vacuum::tidy;
pub use maintenance::verify::verify;
pub use registry::extensions;
pub use store::embedded::{embed, stage, unstage};
