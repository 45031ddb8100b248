//! Writing: files that any HDF5 tool opens.
//!
//! [`Subfile`] writes one complete HDF5 file: groups, datasets, attributes; nothing is visible before it is
//! finished, and then all of it is.
//!
//! Many writers follow a [`WritePlan`]: each [`Task`] writes a subfile of its own and gives a [`Fragment`], and
//! [`WritePlan::commit`] makes a master file of virtual datasets over all of them. Plans and fragments are plain
//! bytes. Writers never wait for each other, and readers see the old state or the new one.
#![forbid(unsafe_code)]

mod boxes;
mod bytes;
mod checksum;
mod claim;
mod commit;
mod completion;
mod carried;
mod continued;
mod copying;
mod dataset;
mod definition;
mod definitions;
mod description;
mod elements;
mod finish;
mod dimensions;
mod folder;
mod fragment;
mod fuse;
mod gather;
mod growing;
mod lineage;
mod links;
mod master;
mod names;
mod ordered;
mod plan;
mod pointers;
mod reread;
mod resize;
mod room;
mod scales;
mod seal;
mod sharing;
mod state;
mod steps;
mod subfile;
mod tail;
mod targets;
mod task;
mod tidy;
mod touched;
mod unwritten;
mod verify;

pub use boxes::Region;
pub use commit::{Commit, Committed};
pub use definition::{AttributeValue, DatasetDefinition};
pub use definitions::Definitions;
pub use fragment::Fragment;
pub use fuse::{Fused, fuse};
pub use hyperslab_storage::Existing;
pub use links::Link;
pub use names::{Kind, Known};
pub use plan::{WriteMode, WritePlan};
pub use state::{COMMIT_ATTRIBUTE, SubfileRecord};
pub use steps::without_steps;
pub use subfile::{Subfile, no_heap};
pub use targets::Target;
pub use task::{Extent, Task};
pub use tidy::{Tidied, TidyOptions, tidy};
pub use verify::{Verification, verify};
