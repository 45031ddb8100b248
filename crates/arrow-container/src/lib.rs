//! An HDF5 file as a folder of Arrow IPC files, or as one file of them, in plain Rust: it knows no HDF5 library.
//!
//! From the bottom up, each room knows only those before it:
//!
//! - [`elements`]: datatypes and dataspaces, and elements as Arrow arrays
//! - [`files`]: the files of a container: in a folder, or in one file; one writer at a time
//! - [`ranks`]: processes that have one file open together
//! - [`table`]: a dataset's values
//! - [`model`]: groups, links, attributes
//! - `catalog`: how these are stored
//! - `plain`: an Arrow IPC or Parquet file that knows nothing of HDF5, for reading
//! - [`container`]: files: creating, opening, publishing, and who has what open
//!
//! `unsafe` is denied but for three modules of `table`: a memory map, and a kernel of vector instructions.
#![deny(unsafe_code)]

mod catalog;
pub mod container;
pub mod elements;
pub mod error;
pub mod files;
mod lock;
pub mod model;
mod plain;
pub mod ranks;
pub mod table;

#[cfg(test)]
mod tests;

pub use lock::lock;
