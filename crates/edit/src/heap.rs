//! Values of variable length: they go into global heap collections at the end of the file.

use hyperslab_array::{Elements, Error, Result};
use hyperslab_formats::hdf5::edit::FileEdit;
use hyperslab_formats::hdf5::writer::{HeapWriter, store_values_with_addresses as store_values};

/// Bytes of a value that may follow into a collection that is kept.
const SMALL_VALUE_BYTES: usize = 256;

/// A collection that has room left: a collection takes at least 4 KiB, so small values share one.
pub(crate) type OpenCollection = Option<(u64, HeapWriter)>;

/// Stores what elements point at. Returns them as they are in the file.
pub(crate) fn store(file: &FileEdit<'_>, elements: &Elements, open: &mut OpenCollection) -> Result<Vec<u8>> {
    let mut bytes = elements.bytes.clone();
    if !elements.datatype.uses_heap() && !elements.datatype.has_references() {
        return Ok(bytes);
    }
    if !file.has_wide_addresses() {
        return Err(Error::unsupported(
            "values of variable length and references in a file whose addresses or lengths have fewer than 8 bytes cannot be written yet",
        ));
    }
    let resolve = |reference| elements.heap.object(reference);
    if let Some((address, heap)) = open.as_ref() {
        let mut more = heap.clone();
        store_values(&elements.datatype, &mut bytes, &resolve, &mut more)?;
        if more.is_small(0) {
            file.write(*address, &more.clone().finish())?;
            *open = Some((*address, more));
            return Ok(bytes);
        }
        bytes.clone_from(&elements.bytes);
    }
    // References have absolute addresses: the length is found first, then the place.
    let mut sized = HeapWriter::new(0);
    store_values(&elements.datatype, &mut bytes.clone(), &resolve, &mut sized)?;
    let length = sized.finish().len() as u64;
    let address = if length == 0 { 0 } else { file.allocate(length)? };
    let mut heap = HeapWriter::new(address);
    store_values(&elements.datatype, &mut bytes, &resolve, &mut heap)?;
    if length > 0 {
        file.write(address, &heap.clone().finish())?;
        if heap.is_small(SMALL_VALUE_BYTES) {
            *open = Some((address, heap));
        }
    }
    Ok(bytes)
}
