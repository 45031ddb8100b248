//! Attribute: a small named value of an object (HDF5 specification IV.A.2.m).

use crate::{Dataspace, Elements, Error};

/// A named value. The value is read when the object is opened; one that cannot be read keeps its
/// reason instead of making the object unreadable.
#[derive(Debug, Clone)]
pub struct Attribute {
    /// Name, unique on its object.
    pub name: String,
    /// Extent of the value.
    pub dataspace: Dataspace,
    /// The value, or why there is none.
    pub value: Result<Elements, Error>,
}
