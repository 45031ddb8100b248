//! The objects of a file, the links between them, and their attributes.
//!
//! - `tree`: all objects of a file; `object`: groups, datasets, committed datatypes; `link`: links between objects
//! - `dataset`: dataspace and values; `attribute`: a value in memory; `datatype`: a datatype as HDF5 encodes it, and decoded

mod attribute;
mod dataset;
mod datatype;
mod link;
mod object;
mod tree;

pub use attribute::{Attribute, AttributeValue};
pub use dataset::{Dataset, Extent, TableSource};
pub use datatype::StoredDatatype;
pub use link::{Link, ObjectId, ROOT, Target, path_names};
pub use object::{Body, Object};
pub use tree::{Region, Tree};
