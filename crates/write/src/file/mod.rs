//! One HDF5 file under way: objects, values, metadata.

pub(crate) mod allocator;
pub(crate) mod continued;
pub(crate) mod copied_chunks;
pub(crate) mod copied_objects;
pub(crate) mod dataset;
pub(crate) mod definition;
pub(crate) mod description;
pub(crate) mod dimension_scales;
pub(crate) mod dimensions;
pub(crate) mod elements;
pub(crate) mod file_writer;
pub(crate) mod finish;
pub(crate) mod growing;
pub(crate) mod links;
pub(crate) mod names;
pub(crate) mod object_references;
pub(crate) mod ordered;
pub(crate) mod reference_targets;
pub(crate) mod region;
pub(crate) mod reread;
pub(crate) mod resize;
pub(crate) mod strided_regions;
pub(crate) mod touched_chunks;
pub(crate) mod unwritten_regions;
