//! Space for values of variable length, in the heap of the file that is written.

use hyperslab_array::{Elements, HeapReference, Result};
use hyperslab_formats::hdf5::writer::{FillObjects, HeapWriter, store_values_with};

use super::allocator::Allocator;

/// Maximum bytes of elements in a write that may share a heap collection with other writes.
const MAX_SMALL_BYTES: usize = 4096;
/// A heap collection is kept open for later writes while it has room for a value of this many bytes.
const SMALL_VALUE_BYTES: usize = 256;

impl Allocator {
    /// Stores what `put` puts into the heap for elements of `bytes` bytes, and returns what it returns. `put` may be called twice, and puts the
    /// same each time. Small writes share a collection, because one takes at least 4 KiB.
    ///
    /// # Errors
    /// That of `put`; `Unsupported` in a shared subfile, which has no heap; `Io`.
    pub fn put_in_heap<T>(&mut self, bytes: usize, mut put: impl FnMut(&mut HeapWriter) -> Result<T>) -> Result<T> {
        let is_small = bytes <= MAX_SMALL_BYTES;
        if let Some((at, heap)) = self.open_heap.as_ref().filter(|_| is_small) {
            let (at, mut more) = (*at, heap.clone());
            let found = put(&mut more)?;
            if more.is_small(0) {
                self.write_at(at, &more.clone().finish())?;
                self.open_heap = Some((at, more));
                return Ok(found);
            }
        }
        let at = self.open_end()?;
        let mut heap = HeapWriter::in_pages(at, self.page_bytes());
        let found = put(&mut heap)?;
        let collection = heap.clone().finish();
        self.write_open(at, &collection)?;
        // If all values are empty, there is no collection to keep.
        if is_small && !collection.is_empty() && heap.is_small(SMALL_VALUE_BYTES) {
            self.open_heap = Some((at, heap));
        }
        Ok(found)
    }

    /// Stores what elements without references point at. Returns them as they are in the file.
    ///
    /// # Errors
    /// As [`Allocator::put_in_heap`].
    pub fn store_elements(&mut self, elements: &Elements) -> Result<Vec<u8>> {
        self.put_in_heap(elements.bytes.len(), |heap| {
            let mut bytes = elements.bytes.clone();
            store_values_with(&elements.datatype, &mut bytes, &|reference: HeapReference| elements.heap.object(reference), heap, &mut |_, _| Ok(()))?;
            Ok(bytes)
        })
    }

    /// Gives elements that refer to the objects of the fill value objects of their own.
    ///
    /// # Errors
    /// As [`FillObjects::separate`].
    pub fn separate(&mut self, fill: Option<&mut FillObjects>, bytes: &mut [u8]) -> Result<()> {
        fill.map_or(Ok(()), |fill| fill.separate(bytes, &mut |elements| self.store_elements(elements)))
    }
}
