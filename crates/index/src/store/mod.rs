//! Storing: index files, the manifest that names them, and where they may lie.

pub(crate) mod bitmaps;
pub(crate) mod catalog;
pub(crate) mod embedded;
pub(crate) mod index_file;
pub(crate) mod index_files;
pub(crate) mod index_reader;
pub(crate) mod manifest;
pub(crate) mod packed_keys;
pub(crate) mod places;
pub(crate) mod shared_files;
pub(crate) mod sweep;
