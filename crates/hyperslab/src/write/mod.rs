//! Writing: files that any HDF5 tool opens.
//!
//! [`Subfile`] writes one complete HDF5 file: groups, datasets, attributes; nothing is visible before it is
//! finished, and then all of it is.

mod boxes;
mod dataset;
mod definition;
mod subfile;

pub use boxes::Region;
pub use definition::{AttributeValue, DatasetDefinition};
pub use hyperslab_storage::Existing;
pub use subfile::{Subfile, no_heap};
