//! What a file is made of: objects, the links between them, their attributes.
//!
//! - [`tree`]: everything in one file; [`object`]: groups, datasets, committed datatypes; [`link`]: what leads to them
//! - [`dataset`]: dataspace and values; [`attribute`]: a value in memory; [`datatype`]: HDF5's bytes and ours

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
