//! References: values that point at objects, elements of datasets or attributes, dereferenced to the object, possibly in
//! another file.

use hyperslab_array::{Error, ReferenceKind, ReferenceTarget, ReferencedPart, Result, StoredReference};
use hyperslab_formats::ObjectId;

use crate::File;

/// What a reference points at.
#[derive(Clone)]
#[non_exhaustive]
pub struct Referenced {
    /// The file that the object is in.
    pub file: File,
    /// The object.
    pub object: ObjectId,
    /// The part of the object that the reference means.
    pub part: ReferencedPart,
}

impl File {
    /// What each stored reference (whole elements of `size` bytes) points at; `None` for null references.
    ///
    /// # Errors
    /// `NotFound` for a dangling reference, at whose address there is no object; `Unsupported` if the path policy
    /// forbids the object's file; `Corrupt` for bytes that are not references.
    pub fn dereference(&self, kind: ReferenceKind, size: usize, elements: &[u8]) -> Result<Vec<Option<Referenced>>> {
        let stored = self.array_file().references(kind, size, elements);
        let follow = |reference: Option<StoredReference>| reference.map(|reference| self.follow(reference)).transpose();
        let followed = stored.and_then(|stored| stored.into_iter().map(follow).collect());
        followed.map_err(|error: Error| error.in_file(self.name()))
    }

    fn follow(&self, reference: StoredReference) -> Result<Referenced> {
        let file = match &reference.file {
            None => self.clone(),
            Some(name) => self
                .linked_file(name)
                .map_err(|error| Error::new(error.kind(), format!("the file {name:?} that a reference points into: {}", error.message())))?,
        };
        let address = reference.address;
        let object = file.at_address(address).ok_or_else(|| {
            Error::not_found(format!("the object at address {address:#x} that a reference points at")).at_offset(address).in_file(file.name())
        })?;
        if let ReferencedPart::Region(selection) = &reference.part {
            let ndim = file.dataset(object)?.dataspace.shape().len() as u64;
            if selection.ndim().is_some_and(|own| own != ndim) {
                let message = format!("a reference selects in {:?} dimensions of a dataset of {ndim}", selection.ndim().unwrap_or(0));
                return Err(file.place(object, Error::corrupt(message)));
            }
        }
        Ok(Referenced { file, object, part: reference.part })
    }
}

/// The kind of target of a stored reference, without following it; `None` for a null reference.
///
/// # Errors
/// `Corrupt` for bytes that are not a reference of this kind.
pub fn reference_target(kind: ReferenceKind, element: &[u8]) -> Result<Option<ReferenceTarget>> {
    hyperslab_formats::reference_target(kind, element)
}
