//! An HDF5 file as a folder of Arrow IPC files, or as one file of them, in plain Rust: it knows no HDF5 library.
//!
//! - [`kind`]: datatypes as columns; [`shape`]: dataspaces; [`values`]: elements to arrays and back
//! - [`table`]: a dataset's values; [`ipc`]: the frame of its file; [`blob`]: variable-length data while open
//! - [`plain`]: an Arrow IPC or Parquet file that knows nothing of HDF5, for reading
//! - [`ranks`]: processes that have one file open together; [`together`]: how they create, open and publish it
//! - [`model`]: groups, links, attributes; [`catalog`]: how they are stored
//! - [`folder`]: where the files lie; [`archive`]: the one file; [`open`]: files, publishing, who has what open;
//!   [`guarded`]: one writer, and what a killed one left
//!
//! `unsafe` is denied but for three modules of `table`: a memory map, and a kernel of vector instructions.
#![deny(unsafe_code)]

pub mod archive;
pub mod blob;
pub mod catalog;
pub mod fault;
pub mod folder;
pub mod guarded;
pub mod ipc;
pub mod kind;
pub mod model;
pub mod open;
pub mod path;
pub mod plain;
pub mod ranks;
pub mod shape;
pub mod table;
mod together;
pub mod values;

#[cfg(test)]
mod tests;

pub use open::unique_name;
