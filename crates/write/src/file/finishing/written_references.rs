//! Writes the references in datasets once every object has an address.

use std::cell::RefCell;
use std::collections::HashMap;

use hyperslab_array::{Datatype, Error, HeapObjects, HeapReference, Result};
use hyperslab_formats::hdf5::writer::{HeapWriter, NewFile, Pointed, each_reference, stored_offsets, stored_values};

use crate::file::file_writer::FileWriter;
use crate::file::memory_length::memory_length;
use crate::file::references::targets::Target;

/// File offset and bytes.
type Placed = (u64, Vec<u8>);

impl FileWriter {
    /// The target with this id.
    pub fn target_of(&self, id: u64) -> Option<&Target> {
        self.targets.get(id)
    }

    /// Allocates space for region references and returns its address.
    pub(crate) fn place_regions(&mut self, file: &NewFile) -> Result<u64> {
        let nowhere = vec![0; file.objects.len()];
        let at = self.allocator.open_end()?;
        let (_, heap) = self.placed(file, at, &nowhere)?;
        let heap = heap.finish();
        if !heap.is_empty() {
            self.allocator.write_open(at, &heap)?;
        }
        Ok(at)
    }

    /// Writes the references of all datasets, with the final addresses of objects.
    pub(crate) fn place_references(&mut self, file: &NewFile, regions: u64, addresses: &[u64]) -> Result<()> {
        let (placed, heap) = self.placed(file, regions, addresses)?;
        for (address, bytes) in placed {
            self.allocator.write_at(address, &bytes)?;
        }
        let heap = heap.finish();
        if !heap.is_empty() {
            self.allocator.write_at(regions, &heap)?;
        }
        Ok(())
    }

    /// The elements of all datasets with references and their addresses, and the heap of references at `at`. Sequences of variable length
    /// are in the file already: their items follow the elements.
    fn placed(&self, file: &NewFile, at: u64, addresses: &[u64]) -> Result<(Vec<Placed>, HeapWriter)> {
        let pointed = Pointed { objects: addresses, targets: &file.targets };
        let (mut placed, mut heap) = (Vec::new(), HeapWriter::in_pages(at, self.allocator.page_bytes()));
        for (_, dataset) in self.datasets().filter(|(_, dataset)| dataset.definition().datatype.has_references()) {
            let datatype = &dataset.definition().datatype;
            for (address, length) in dataset.stored_ranges()? {
                let mut bytes = vec![0; memory_length(length)?];
                self.allocator.read_at(address, &mut bytes)?;
                let stored = if datatype.uses_heap() { self.stored(datatype, &bytes)? } else { HeapObjects::default() };
                let changed: RefCell<HashMap<HeapReference, Vec<u8>>> = RefCell::default();
                let resolve = |place| stored.object(place);
                let mut put = |place, items| {
                    changed.borrow_mut().insert(place, items);
                    Ok(place)
                };
                self.targets.place(datatype, &mut bytes, &resolve, &mut put, &mut heap, pointed)?;
                placed.push((address, bytes));
                placed.extend(self.in_sequences(changed.into_inner())?);
            }
            if let Some(fill) = dataset.definition().fill_value.as_ref().filter(|_| datatype.uses_heap()) {
                placed.extend(self.placed_fill(datatype, fill, &mut heap, pointed)?);
            }
        }
        Ok((placed, heap))
    }

    /// The sequences of a fill value. The metadata has the references that are not in sequences.
    fn placed_fill(&self, datatype: &Datatype, fill: &[u8], heap: &mut HeapWriter, pointed: Pointed<'_>) -> Result<Vec<Placed>> {
        let mut bytes = fill.to_vec();
        each_reference(datatype, &mut bytes, &mut |_, element| {
            element.fill(0);
            Ok(())
        })?;
        let stored = self.stored(datatype, &bytes)?;
        let mut changed = HashMap::new();
        let resolve = |place| stored.object(place);
        let mut put = |place, items| {
            changed.insert(place, items);
            Ok(place)
        };
        self.targets.place(datatype, &mut bytes, &resolve, &mut put, heap, pointed)?;
        self.in_sequences(changed)
    }

    /// Sequences by their places in heaps, with their offsets in the file.
    fn in_sequences(&self, changed: HashMap<HeapReference, Vec<u8>>) -> Result<Vec<Placed>> {
        if changed.is_empty() {
            return Ok(Vec::new());
        }
        let places: Vec<HeapReference> = changed.keys().copied().collect();
        let offsets = stored_offsets(self.allocator.storage()?, self.allocator.user_block(), &places)?;
        let placed = changed.into_iter().map(|(place, items)| {
            let offset = offsets.get(&place).ok_or_else(|| Error::internal("a sequence that is not in the file"))?;
            Ok((*offset, items))
        });
        placed.collect()
    }

    fn stored(&self, datatype: &Datatype, bytes: &[u8]) -> Result<HeapObjects> {
        stored_values(self.allocator.storage()?, self.allocator.user_block(), datatype, bytes)
    }
}
