//! Value indexes: where in an array values are, without reading the array.
//!
//! ```text
//! let plan = IndexPlan::new(&files, &request, &cancellation)?;   // metadata, and samples of values
//! let fragment = plan.tasks(8)[0].run(&session, …)?;             // plain data both ways; a segment on the disk
//! commit(&fragments)?;                                           // the manifest is replaced: visible
//! ```
//!
//! An index is of blocks of 65,536 elements that follow the chunks (`grid`). A block is sorted by value
//! (`sort`), and knows what its level asks for (`block`): least and greatest, every 64th value, the
//! positions in order, the values in order (`packed`), or a bitmap for each distinct value (`bitmaps`).
//! Blocks lie in immutable `segment`s in a folder beside the file, and a `manifest` says what is in them.
//! The segments of small datasets share a file (`shared_segments`); each file is opened once (`segment_files`), and a
//! `catalog` finds a dataset in the manifest. `task` is what other processes build, of one dataset or many (`fragment`).
//! `indexes` finds the index of an open file and makes sure that it is of just this file (`source`); it is
//! the session's `Pruner`. An index may also lie at the end of its file (`embedded`). `column` answers from a `table` of blocks.
#![forbid(unsafe_code)]

mod build;
mod store;
mod query;
mod freshness;
mod maintenance;
mod registry;

pub use build::commit::commit;
pub use store::embedded::{embed, stage, unstage};
pub use registry::extensions;
pub use build::plan::{IndexPlan, PlannedIndex};
pub use build::request::IndexRequest;
pub use build::task::{IndexFragment, IndexTask};
pub use maintenance::vacuum::tidy;
pub use maintenance::verify::verify;
