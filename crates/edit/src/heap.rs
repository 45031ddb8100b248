//! Values of variable length: they go into global heap collections at the end of the file.

use hyperslab_array::{Elements, Error, HeapReference, ReferenceKind, Result};
use hyperslab_formats::hdf5::edit::FileEdit;
use hyperslab_formats::hdf5::writer::{HeapWriter, NewTarget, Pointed, place_values, store_values_with};

/// Bytes of a value that may follow into a collection that is kept.
const SMALL_VALUE_BYTES: usize = 256;

/// A collection that has room left: a collection takes at least 4 KiB, so small values share one.
pub(crate) type OpenCollection = Option<(u64, HeapWriter)>;

/// What references in values hold.
#[derive(Clone, Copy)]
pub(crate) enum References<'a> {
    /// Addresses of objects, as they are stored; others are refused.
    Addresses,
    /// What this file has in another place.
    Copied,
    /// Numbers of these targets, from 1 on.
    Targets(&'a [NewTarget]),
}

/// Stores what elements point at. Returns them as they are in the file.
pub(crate) fn store(file: &FileEdit<'_>, elements: &Elements, references: References<'_>, open: &mut OpenCollection) -> Result<Vec<u8>> {
    let mut bytes = elements.bytes.clone();
    if !elements.datatype.uses_heap() && !elements.datatype.has_references() {
        return Ok(bytes);
    }
    if !file.has_wide_addresses() {
        return Err(Error::unsupported(
            "values of variable length and references in a file whose addresses or lengths have fewer than 8 bytes cannot be written yet",
        ));
    }
    let resolve = |reference: HeapReference| elements.heap.object(reference);
    let store_values = |bytes: &mut [u8], heap: &mut HeapWriter| match references {
        References::Addresses => store_values_with(&elements.datatype, bytes, &resolve, heap, &mut check_address),
        References::Copied => store_values_with(&elements.datatype, bytes, &resolve, heap, &mut |_, _| Ok(())),
        References::Targets(targets) => place_values(&elements.datatype, bytes, &resolve, heap, Some(Pointed { objects: &[], targets })),
    };
    if let Some((address, heap)) = open.as_ref() {
        let mut more = heap.clone();
        store_values(&mut bytes, &mut more)?;
        if more.is_small(0) {
            file.write(*address, &more.clone().finish())?;
            *open = Some((*address, more));
            return Ok(bytes);
        }
        bytes.clone_from(&elements.bytes);
    }
    // References have absolute addresses: the length is found first, then the place.
    let mut sized = HeapWriter::new(0);
    store_values(&mut bytes.clone(), &mut sized)?;
    let length = sized.finish().len() as u64;
    let address = if length == 0 { 0 } else { file.allocate(length)? };
    let mut heap = HeapWriter::new(address);
    store_values(&mut bytes, &mut heap)?;
    if length > 0 {
        file.write(address, &heap.clone().finish())?;
        if heap.is_small(SMALL_VALUE_BYTES) {
            *open = Some((address, heap));
        }
    }
    Ok(bytes)
}

/// Checks that a reference is the address of an object, or null.
fn check_address(kind: ReferenceKind, element: &mut [u8]) -> Result<()> {
    if (kind == ReferenceKind::Object && element.len() == size_of::<u64>()) || element.iter().all(|byte| *byte == 0) {
        return Ok(());
    }
    Err(Error::unsupported("references to regions, and those of HDF5 1.12, cannot be written into an existing file yet"))
}
