//! Datatypes as a container keeps them.

use super::link::ObjectId;
use crate::elements::datatype::Datatype;

/// A datatype as HDF5 encodes it, and as the storage sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredDatatype {
    /// `H5Tencode`'s bytes.
    pub encoded: Vec<u8>,
    /// How its elements are stored.
    pub decoded: Datatype,
    /// The committed datatype that it was made from.
    pub committed: Option<ObjectId>,
}
