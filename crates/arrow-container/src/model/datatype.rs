//! Datatypes of datasets and attributes.

use super::link::ObjectId;
use crate::elements::datatype::Datatype;

/// The datatype of a dataset or attribute. It is not called `Datatype` because that is only its decoded part.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct StoredDatatype {
    /// The bytes of `H5Tencode`.
    pub encoded: Vec<u8>,
    /// The same, decoded: the layout of its elements.
    pub decoded: Datatype,
    /// The committed datatype that it refers to.
    pub committed: Option<ObjectId>,
}

impl StoredDatatype {
    /// A datatype that is not committed.
    pub fn new(encoded: Vec<u8>, decoded: Datatype) -> Self {
        Self { encoded, decoded, committed: None }
    }
}
