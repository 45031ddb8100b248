//! Stored reference: a reference as HDF5 stores it (specification IV.A.2.d, class 7; since HDF5 1.12
//! the reference encodings of its appendix).

use crate::StoredSelection;

/// A reference as a file stores it: the address of an object, and the part of it that is meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredReference {
    /// The name of the file that the object is in; `None` is the file that the reference is in.
    pub file: Option<String>,
    /// Address of the object's header, relative to the base address of that file.
    pub address: u64,
    /// The part of the object that is meant.
    pub part: ReferencedPart,
}

/// The part of an object that a reference means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReferencedPart {
    /// The object itself.
    Object,
    /// Elements of a dataset.
    Region(StoredSelection),
    /// The attribute of this name.
    Attribute(String),
}

/// The kind of part that a reference means, known without following it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ReferenceTarget {
    /// An object.
    Object,
    /// Elements of a dataset.
    Region,
    /// An attribute of an object.
    Attribute,
}
