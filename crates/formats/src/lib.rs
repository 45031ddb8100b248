//! HDF5 and netCDF: from bytes to arrays. Each format has a folder and implements [`ArrayFile`].
//!
//! A format describes, locates and decodes. It never fetches chunk bytes, spawns threads, or knows
//! Arrow. Input is not trusted: every offset, count and depth is checked and charged
//! against [`Limits`].
#![forbid(unsafe_code)]
#![deny(clippy::missing_errors_doc)]

mod array_file;
mod budget;
pub mod filter;
mod format;
pub mod hdf5;
mod header_pattern;
mod limits;
pub mod netcdf3;
pub mod netcdf4;
mod object;
mod object_properties;
mod open;
mod other_format;
mod poison;
mod portable;
mod recent;
pub mod references;
mod target;
mod tree;
mod tree_in_memory;

pub use array_file::{ArrayFile, ChunkLocation, ChunkLocations, ChunkSource, collect_heap_references};
pub use format::Format;
pub use hdf5::reference_target;
pub use header_pattern::HeaderPattern;
pub use limits::Limits;
pub use object::{
    AllocationTime, Attributes, BLOCK_BYTES, Dataset, Dimension, DimensionScale, ExternalFile, FillTime, FilterDescription, Link, LinkTarget, Links, Object,
    ObjectId, Requested, Storage as StorageLayout, VirtualMapping, block_shape,
};
pub use object_properties::{CreationOrder, ObjectProperties, ObjectTimes};
pub use open::{Interpretation, OpenOptions, open};
pub use poison::poison;
pub use target::Target;
pub use tree::{PathOf, Tree};
pub use tree_in_memory::{Content, Group, Node, TreeBuilder, TreeInMemory};
