//! Containers that HDF5 programs wrote through the VOL connector, a folder or one file, as an `ArrayFile`.
//!
//! A dataset's values are columns of an Arrow file. Here each dataset has a place in a range of bytes that no file has as such
//! ([`storage`]): reading there reads the columns and joins them to elements as a native HDF5 file would store them. So whatever
//! reads contiguous datasets reads containers.
//!
//! - [`datatype`]: encoded datatypes, as elements are shown and as columns store them; [`properties`]: creation property lists
//! - [`encode`]: encoded datatypes and property lists of new containers
//! - [`form`]: how elements are stored, and how they are shown; [`attribute`]: values in memory, converted
//! - [`column`]: where a column's values are; [`joined`]: elements joined from columns; [`values`]: the Arrow file of a dataset
//! - [`place`]: the files of a container; [`storage`]: all datasets as one range of bytes
//! - [`tree`]: objects, attributes and links; [`file`]: the `ArrayFile`
#![forbid(unsafe_code)]

mod attribute;
mod column;
mod datatype;
mod encode;
mod file;
mod form;
mod joined;
mod place;
mod properties;
mod storage;
mod tree;
mod values;

pub use datatype::{Decoded, decode};
pub use encode::{FILTER_NAME_BYTES, encode_datatype, encode_properties};
pub use file::ContainerFile;
pub use form::{Form, FormMember, REFERENCE_BYTES};
pub use place::{catalog_of, is_folder, is_one_file};
