//! An HDF5 file as a folder of Arrow IPC files, or as one file of them, in plain Rust: it knows no HDF5 library.
//!
//! - [`kind`]: datatypes as columns; [`shape`]: dataspaces; [`values`]: elements to arrays and back
//! - [`table`]: a dataset's values; [`ipc`]: the frame of its file; [`blob`]: variable-length data while open
//! - [`plain`]: an Arrow IPC or Parquet file that knows nothing of HDF5, for reading
//! - [`ranks`]: processes that have one file open together; [`together`]: how they create, open and publish it
//! - [`model`]: groups, links, attributes; [`catalog`]: how they are stored
//! - [`folder`]: where the files lie; [`archive`]: the one file; [`open`]: files, publishing, who has what open;
//!   [`guarded`]: one writer, and what a killed one left

pub(crate) mod archive;
pub(crate) mod blob;
pub(crate) mod catalog;
pub(crate) mod fault;
pub(crate) mod folder;
pub(crate) mod guarded;
pub(crate) mod ipc;
pub(crate) mod kind;
pub(crate) mod model;
pub(crate) mod open;
pub(crate) mod path;
pub(crate) mod plain;
pub(crate) mod ranks;
pub(crate) mod shape;
pub(crate) mod table;
mod together;
pub(crate) mod values;

#[cfg(test)]
mod tests;

pub(crate) use open::unique_name;
