//! Reads a plain Arrow IPC (Feather) or Parquet file as an HDF5 file: one dataset per column, and the table as a compound
//! dataset.
//!
//! - `form`: the HDF5 datatype of a column; `message`: its encoding, as by `H5Tencode`
//! - `source`: the file: its schema and rows, and its columns on demand
//! - `normal`: converts Arrow arrays to values of those datatypes, and replaces nulls
//! - `tree`: groups, datasets and attributes; `values`: the values of one dataset

mod form;
mod message;
mod normal;
mod source;
mod tree;
mod values;

pub(crate) use source::{is_plain, other_form};
pub(crate) use tree::open;
