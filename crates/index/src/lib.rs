//! Value indexes: find where values are in an array without reading the array.
//!
//! ```text
//! let plan = IndexPlan::new(&files, &request, &cancellation)?;   // reads metadata and samples of values
//! let fragment = plan.tasks(8)[0].run(&session, …)?;             // tasks and fragments are plain data; writes an index file
//! commit(&fragments)?;                                           // replaces the manifest: the index becomes visible
//! ```
//!
//! The index of a dataset consists of blocks of up to 65,536 elements, which follow the chunks. The level of an index decides
//! what each block stores of its sorted values:
//!
//! | level | stores | answers |
//! |---|---|---|
//! | `Zone` | minimum, maximum, counts | which blocks cannot match |
//! | `Keys` | and every 64th value | counts within tight bounds |
//! | `Positions` | and the position of each value | exact rows, after reading a few values of the data |
//! | `Exact` | and all values | rows, counts and values, without the data |
//! | `Bitmaps` | the positions of each distinct value | rows and counts of few distinct values |
//! | `Words` | the positions of each word of texts | texts with words |
//! | `Composite` | the values of several datasets together, grouped by nearness | rows and counts of boxes |
//!
//! Blocks are stored in immutable index files in a folder next to the data file, the sidecar, or at the end of the data file.
//! A manifest names the index files. Each row and page has a checksum: damaged parts are read from the data instead.
//!
//! Rooms; each uses only those before it:
//!
//! - `block`: the index of one block in memory. No I/O.
//! - `store`: index files, manifests, sidecars.
//! - `freshness`: whether an index still describes the values of a file.
//! - `query`: answers questions about one column from its blocks.
//! - `trust`, `notices`: whose indexes are used, and what users must hear of them.
//! - `registry`: finds the index of an open file; the pruner of scans.
//! - `build`: plan, tasks, commit.
//! - `maintenance`: embed, status, verify, vacuum.
#![forbid(unsafe_code)]
#![deny(clippy::exhaustive_enums, clippy::exhaustive_structs, clippy::missing_errors_doc)]

mod block;
mod build;
mod freshness;
mod maintenance;
mod notices;
mod query;
mod registry;
mod store;
mod trust;

pub use build::commit::commit;
pub use build::plan::{IndexPlan, PlannedIndex};
pub use build::request::IndexRequest;
pub use build::task::{IndexFragment, IndexTask};
pub use maintenance::embed::{embed, stage, unstage};
pub use maintenance::status::status;
pub use maintenance::vacuum::vacuum;
pub use maintenance::verify::verify;
pub use notices::take_notices;
pub use registry::extensions;
pub use trust::IndexTrust;
