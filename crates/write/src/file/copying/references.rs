//! References in values of another file, as a file that is written takes them: by the path of the object, and the part of it.

use hyperslab_array::{Elements, ReferenceKind, Result, StoredReference};
use hyperslab_formats::hdf5::writer::{TargetPart, number_references};

use crate::file::references::targets::{Referenced, Target};

/// The file that references are copied from.
pub(crate) trait ReferencedObjects {
    /// References of one kind, elements of `size` bytes. Those that cannot be read may be null references.
    fn stored_references(&self, kind: ReferenceKind, size: usize, bytes: &[u8]) -> Result<Vec<Option<StoredReference>>>;
    /// Path of the object at an address of the file; `None` if it is not copied.
    fn path_at(&self, address: u64) -> Result<Option<String>>;
    /// Number of dimensions of the dataset at an address of the file.
    fn ndim_at(&self, address: u64) -> Result<usize>;
}

/// Replaces the references in elements of `source` by the numbers of their targets, from 1 on; null references are 0.
///
/// # Errors
/// `Unsupported` for references to objects that are not in the file; `Corrupt`.
pub(crate) fn name_references(source: &dyn ReferencedObjects, elements: &mut Elements) -> Result<Vec<Target>> {
    number_references(elements, |kind, size, bytes| {
        let stored = source.stored_references(kind, size, bytes)?.into_iter();
        stored.map(|reference| reference.map(|reference| target_of(source, reference)).transpose().map(Option::flatten)).collect()
    })
}

/// The target of a reference. `None` if the object is not copied.
fn target_of(source: &dyn ReferencedObjects, reference: StoredReference) -> Result<Option<Target>> {
    let StoredReference { file, address, part } = reference;
    let is_other = file.is_some();
    let object = match file {
        Some(file) => Referenced::Other { file, address },
        None => match source.path_at(address)? {
            None => return Ok(None),
            Some(path) => Referenced::Path(path.trim_start_matches('/').to_owned()),
        },
    };
    // A selection of all or nothing in a dataset of another file, which is not looked at.
    let part = TargetPart::of(part, || if is_other { Ok(1) } else { source.ndim_at(address).map(|ndim| ndim as u64) })?;
    Ok(Some(Target { object, part }))
}
