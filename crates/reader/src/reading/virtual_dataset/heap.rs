//! The heap objects of a virtual dataset's elements, each fetched from the heap of its own file.

use hyperslab_array::{Datatype, Error, HeapObjects, HeapReference, Result};
use hyperslab_formats::collect_heap_references;

use crate::File;
use crate::reading::heap_origin;

/// Fetches the objects that the marked references in `bytes` point at, each from its own file.
pub(crate) fn resolve_heap(file: &File, datatype: &Datatype, bytes: &[u8], objects: &mut HeapObjects) -> Result<()> {
    let mut marked = Vec::new();
    let mut nested: Vec<(HeapReference, usize, Datatype)> = Vec::new();
    let mut value_bytes = 0u64;
    collect_heap_references(datatype, bytes, &mut |base, element, reference| {
        let (count, _) = HeapReference::parse(element)?;
        let bytes = u64::from(count).saturating_mul(base.map_or(1, Datatype::size));
        value_bytes = value_bytes.saturating_add(bytes);
        marked.push(reference);
        if let Some(base) = base.filter(|base| base.uses_heap()) {
            nested.push((reference, usize::try_from(bytes).unwrap_or(usize::MAX), base.clone()));
        }
        Ok(())
    })?;
    marked.sort_unstable();
    marked.dedup();
    for group in marked.chunk_by(|a, b| heap_origin::origin(*a) == heap_origin::origin(*b)) {
        let Some(first) = group.first() else { continue };
        let other = heap_origin::file_of(file, heap_origin::origin(*first))?;
        let own: Vec<_> = group.iter().map(|reference| heap_origin::unmarked(*reference)).collect();
        let room = file.session().limits().heap_budget(other.array_file().storage().len());
        objects.allow(room);
        let mut found = HeapObjects::limited(room);
        other.array_file().heap_objects(&own, &mut found)?;
        for (marked, own) in group.iter().zip(&own) {
            objects.insert(*marked, found.object(*own)?.into());
        }
    }
    objects.charge(value_bytes)?;
    // Elements may share a value: mark it once, with the longest length.
    nested.sort_unstable_by_key(|(reference, length, _)| (*reference, std::cmp::Reverse(*length)));
    nested.dedup_by_key(|(reference, ..)| *reference);
    // Nested values come from the same file. The limit on the nesting of datatypes bounds this recursion.
    for (reference, length, base) in nested {
        let value = objects.object(reference)?;
        let mut value = value.get(..length).ok_or_else(|| Error::corrupt("a variable-length value is shorter than its length"))?.to_vec();
        heap_origin::mark_as(heap_origin::origin(reference), &base, &mut value)?;
        resolve_heap(file, &base, &value, objects)?;
        objects.insert(reference, value.into());
    }
    Ok(())
}
