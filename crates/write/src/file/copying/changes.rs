//! What a copy could not keep, or was asked to change.

use hyperslab_array::{Datatype, ReferenceKind};

/// Something of an object that is not in the copy as it was in the original.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct Change {
    /// Path of the object.
    pub path: String,
    /// What is different, in words.
    pub text: String,
}

impl Change {
    /// A change of the object at `path`.
    pub fn new(path: impl Into<String>, text: impl Into<String>) -> Self {
        Self { path: path.into(), text: text.into() }
    }
}

/// The change of a list of dimension scales, which are written with references of HDF5 before 1.12.
pub(crate) fn older_references(path: &str, list: &str, datatype: &Datatype) -> Option<Change> {
    let text = || format!("the references of its {list} had the form of HDF5 1.12, and have the older one now");
    has_standard_references(datatype).then(|| Change::new(path, text()))
}

fn has_standard_references(datatype: &Datatype) -> bool {
    match datatype {
        Datatype::Reference { kind, .. } => *kind == ReferenceKind::Standard,
        Datatype::Array { base, .. } | Datatype::Sequence { base, .. } => has_standard_references(base),
        Datatype::Compound { members, .. } => members.iter().any(|member| has_standard_references(&member.datatype)),
        _ => false,
    }
}
