//! A plain Arrow IPC (Feather) or Parquet file as an HDF5 file for reading: a dataset a column, and the table as a
//! compound dataset.
//!
//! - [`form`]: which HDF5 datatype a column gets, in `H5Tencode`'s bytes ([`message`])
//! - [`source`]: the file: its schema, its rows, its columns when they are asked for
//! - [`normal`]: Arrow arrays as the values of those datatypes; nulls get their stand-ins here
//! - [`tree`]: the groups, datasets and attributes; [`values`]: the values of one dataset

mod form;
mod message;
mod normal;
mod source;
mod tree;
mod values;

pub(crate) use source::{is_plain, other_form};
pub(crate) use tree::open;
