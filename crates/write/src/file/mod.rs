//! Writes one HDF5 file: objects, values, metadata. Knows no other room of the crate.
//!
//! `file_writer` is the open file, `names` and `elements` are its further methods. `copying` and `finishing` are above it. Below it are
//! `dataset` (the values of one dataset), `references` (how objects name others), `definition`, and `regions`.

pub(crate) mod allocator;
pub(crate) mod copying;
pub(crate) mod dataset;
pub(crate) mod definition;
mod elements;
pub(crate) mod file_writer;
mod finishing;
mod heap_space;
pub(crate) mod memory_length;
pub(crate) mod names;
pub(crate) mod object;
pub(crate) mod ordered;
pub(crate) mod reading_session;
pub(crate) mod references;
pub(crate) mod regions;
mod replaced_file;
pub(crate) mod reserved_attributes;
mod virtual_mappings;
