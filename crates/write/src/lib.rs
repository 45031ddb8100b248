//! Writes HDF5 files: alone, or by many tasks into one container.
//!
//! - `file`: [`FileWriter`] writes one complete HDF5 file: groups, datasets, attributes. The file appears when it is finished.
//! - `container`: many writers follow a [`WritePlan`]. Each [`Task`] writes a subfile of its own and returns a [`Fragment`];
//!   [`WritePlan::commit`] makes a master file of virtual datasets over all subfiles. Plans and fragments are plain bytes.
//!   Writers never wait for each other, and readers see either the old state or the new one.
//! - `shared`: subfiles that several tasks write together.
//! - `arrow`: copies a file into a container of Arrow files.
//! - `encoding`: checksums and bytes in JSON.
//! - `maintenance`: verify a container, remove leftover files, fuse it into one file; copy a file with other chunks and filters.
//!
//! Rooms depend one way: maintenance, container, shared, arrow, file; each knows those after it. `encoding` knows none of them.
#![forbid(unsafe_code)]
#![deny(clippy::exhaustive_enums, clippy::exhaustive_structs, clippy::missing_errors_doc)]

mod arrow;
mod container;
mod encoding;
mod file;
mod maintenance;
mod shared;

pub use arrow::convert::to_container;
pub use container::commit::{Commit, Committed};
pub use container::definitions::Definitions;
pub use container::fragment::{Fragment, WrittenDataset};
pub use container::merge::datatype_name;
pub use container::plan::{WriteMode, WritePlan};
pub use container::record::SubfileRecord;
pub use container::staged::{Staged, StagedBase};
pub use container::task::{Extent, Task};
pub use file::copying::changes::Change;
pub use file::copying::joined::Merging;
pub use file::definition::{AttributeValue, DatasetDefinition};
pub use file::file_writer::{FileWriter, no_heap};
pub use file::names::{ObjectInfo, ObjectKind};
pub use file::references::links::Link;
pub use file::references::targets::Target;
pub use file::regions::region::Region;
pub use file::regions::strided::without_steps;
pub use file::reserved_attributes::COMMIT_ATTRIBUTE;
pub use hyperslab_formats::hdf5::writer::LibraryVersion;
pub use hyperslab_storage::Existing;
pub use maintenance::fuse::{Fused, fuse, fuse_file, merge_files};
pub use maintenance::repack::{Repacking, repack};
pub use maintenance::salvage::{Loss, salvage};
pub use maintenance::vacuum::{VacuumOptions, VacuumResult, vacuum};
pub use maintenance::vacuum_store::vacuum_at;
pub use maintenance::verify::{Verification, verify};
