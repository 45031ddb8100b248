//! Values of variable length: they go into global heap collections at the end of the file.

use hyperslab_array::{Elements, Error, HeapReference, Result};
use hyperslab_formats::hdf5::edit::FileEdit;
use hyperslab_formats::hdf5::writer::{HeapWriter, NewTarget, Pointed, TargetObject, TargetPart, number_references, values_in_file};

/// Bytes of a value that may follow into a collection that is kept.
const SMALL_VALUE_BYTES: usize = 256;

/// A collection that has room left: a collection takes at least 4 KiB, so small values share one.
pub(crate) type OpenCollection = Option<(u64, HeapWriter)>;

/// What references in values hold.
#[derive(Clone, Copy)]
pub(crate) enum References<'a> {
    /// Numbers of values of the heap, from 1 on. Such a value is the address of an object in 8 bytes, and what
    /// [`TargetPart::parse`] takes.
    Named,
    /// What this file has in another place.
    Copied,
    /// Numbers of these targets, from 1 on.
    Targets(&'a [NewTarget]),
}

/// Stores what elements point at. Returns them as they are in the file, with the sizes of [`FileEdit::stored_datatype`].
pub(crate) fn store(file: &FileEdit<'_>, elements: &Elements, references: References<'_>, open: &mut OpenCollection) -> Result<Vec<u8>> {
    if !elements.datatype.uses_heap() && !elements.datatype.has_references() {
        return Ok(elements.bytes.clone());
    }
    file.stored_datatype(&elements.datatype)?;
    if let References::Named = references
        && elements.datatype.has_references()
    {
        let mut numbered = elements.clone();
        let targets = number_references(&mut numbered, |_, size, found| found.chunks_exact(size).map(|element| named(elements, element)).collect())?;
        return store(file, &numbered, References::Targets(&targets), open);
    }
    let pointed = match references {
        References::Named | References::Copied => None,
        References::Targets(targets) => Some(Pointed { objects: &[], targets }),
    };
    let resolve = |reference: HeapReference| elements.heap.object(reference);
    let stored = |heap: &mut HeapWriter| values_in_file(&elements.datatype, &elements.bytes, &resolve, heap, file.address_bytes(), pointed);
    if let Some((address, heap)) = open.as_ref() {
        let mut more = heap.clone();
        let bytes = stored(&mut more)?;
        if more.is_small(0) {
            file.write(*address, &more.clone().finish())?;
            *open = Some((*address, more));
            return Ok(bytes);
        }
    }
    let mut bytes = Vec::new();
    let (address, heap) = file.put_heap(|heap| {
        bytes = stored(heap)?;
        Ok(())
    })?;
    if address > 0 && heap.is_small(SMALL_VALUE_BYTES) {
        *open = Some((address, heap));
    }
    Ok(bytes)
}

/// What an element of [`References::Named`] points at; `None` for null.
fn named(elements: &Elements, element: &[u8]) -> Result<Option<NewTarget>> {
    let bad = || Error::invalid_input("a reference that cannot be read");
    let number = element.iter().take(8).rev().fold(0u64, |number, byte| number << 8 | u64::from(*byte));
    let index = match u32::try_from(number) {
        Ok(0) => return Ok(None),
        Ok(index) => index,
        Err(_) => return Err(bad()),
    };
    let (address, part) = elements.heap.object(HeapReference { address: 1, index })?.split_first_chunk().ok_or_else(bad)?;
    let object = TargetObject::Address { file: None, address: u64::from_le_bytes(*address) };
    Ok(Some(NewTarget { object, part: TargetPart::parse(part)? }))
}
