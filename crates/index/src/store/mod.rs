//! Storage: index files, the manifest that names them, and the places where they may be.

pub(crate) mod audit_memory;
pub(crate) mod block_directory;
pub(crate) mod catalog;
pub(crate) mod embedded;
pub(crate) mod index_file;
pub(crate) mod index_file_name;
pub(crate) mod index_files;
pub(crate) mod index_reader;
pub(crate) mod manifest;
pub(crate) mod places;
pub(crate) mod seal;
pub(crate) mod shared_file;
pub(crate) mod stamp;
pub(crate) mod sweep;
