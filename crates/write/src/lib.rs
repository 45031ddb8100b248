//! Writing: files that any HDF5 tool opens.
//!
//! [`Subfile`] writes one complete HDF5 file: groups, datasets, attributes; nothing is visible before it is
//! finished, and then all of it is.
//!
//! Many writers follow a [`WritePlan`]: each [`Task`] writes a subfile of its own and gives a [`Fragment`], and
//! [`WritePlan::commit`] makes a master file of virtual datasets over all of them. Plans and fragments are plain
//! bytes. Writers never wait for each other, and readers see the old state or the new one.
#![forbid(unsafe_code)]


mod file;
mod container;
mod shared;
mod maintenance;
pub use file::region::Region;
pub use container::commit::{Commit, Committed};
pub use file::definition::{AttributeValue, DatasetDefinition};
pub use container::definitions::Definitions;
pub use container::fragment::Fragment;
pub use maintenance::fuse::{Fused, fuse};
pub use hyperslab_storage::Existing;
pub use file::links::Link;
pub use file::names::{Kind, Known};
pub use container::plan::{WriteMode, WritePlan};
pub use container::state::{COMMIT_ATTRIBUTE, SubfileRecord};
pub use file::strided_regions::without_steps;
pub use file::file_writer::{Subfile, no_heap};
pub use file::reference_targets::Target;
pub use container::task::{Extent, Task};
pub use maintenance::vacuum::{Tidied, TidyOptions, tidy};
pub use maintenance::verify::{Verification, verify};
