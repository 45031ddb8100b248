//! Elements: their datatypes, dataspaces, and conversion to Arrow arrays.
//!
//! - `datatype`: which bytes of an element belong to which Arrow column
//! - `dataspace`: number of elements, and its maximum
//! - `arrow_arrays`: elements to Arrow arrays and back, one by one
//! - `blob`: variable-length data while a file is open

pub(crate) mod arrow_arrays;
pub(crate) mod blob;
pub(crate) mod dataspace;
pub(crate) mod datatype;

pub use arrow_arrays::is_whole;
pub use blob::{Arena, BlobName, is_null, with_blob};
pub use dataspace::Dataspace;
pub use datatype::{Column, Datatype, DecodeDatatype, Leaf, Member, REFERENCE_BYTES, columns};
