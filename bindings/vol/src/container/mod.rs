//! An HDF5 file as a folder of Arrow IPC files, in plain Rust: it knows no HDF5 library.
//!
//! - [`kind`]: datatypes as columns; [`shape`]: dataspaces; [`values`]: elements to arrays and back
//! - [`table`]: a dataset's values; [`ipc`]: the frame of its file; [`blob`]: variable-length data while open
//! - [`ranks`]: processes that have one file open together
//! - [`model`]: groups, links, attributes; [`catalog`]: how they are stored; [`open`]: files, publishing, who
//!   has what open

pub(crate) mod blob;
pub(crate) mod catalog;
pub(crate) mod fault;
pub(crate) mod ipc;
pub(crate) mod kind;
pub(crate) mod model;
pub(crate) mod open;
pub(crate) mod path;
pub(crate) mod ranks;
pub(crate) mod shape;
pub(crate) mod table;
pub(crate) mod values;

#[cfg(test)]
mod tests;

pub(crate) use open::unique_name;
