//! The references among stored elements.

use hyperslab_array::{Datatype, Error, HeapObjects, HeapReference, ReferenceKind, Result};

/// Takes the kind of references, their size, and their bytes, which lie side by side.
pub type TakeReferences<'a> = dyn FnMut(ReferenceKind, usize, &[u8]) -> Result<()> + 'a;

/// Gives all references in `bytes`, elements of `datatype`, and in the objects of `heap` that they use, to `take`.
///
/// # Errors
/// `Corrupt` for elements that cannot be read; the errors of `take`.
pub fn each_reference(datatype: &Datatype, bytes: &[u8], heap: &HeapObjects, take: &mut TakeReferences<'_>) -> Result<()> {
    if !datatype.has_references() {
        return Ok(());
    }
    let size = usize::try_from(datatype.size()).ok().filter(|n| *n > 0).ok_or_else(|| Error::corrupt("references of no size"))?;
    match datatype {
        Datatype::Reference { kind, .. } => take(*kind, size, bytes),
        Datatype::Array { base, .. } => each_reference(base, bytes, heap, take),
        Datatype::Compound { members, .. } => {
            for member in members.iter().filter(|member| member.datatype.has_references()) {
                let range = usize::try_from(member.offset).ok().zip(usize::try_from(member.datatype.size()).ok());
                let range = range.and_then(|(start, n)| Some(start..start.checked_add(n)?));
                for element in bytes.chunks_exact(size) {
                    let part = range.clone().and_then(|range| element.get(range));
                    let part = part.ok_or_else(|| Error::corrupt(format!("member {} lies outside of its compound", member.name)))?;
                    each_reference(&member.datatype, part, heap, take)?;
                }
            }
            Ok(())
        }
        Datatype::Sequence { base, .. } => {
            for element in bytes.chunks_exact(size) {
                if HeapReference::parse(element)?.1.is_some() {
                    each_reference(base, heap.value(element, base.size())?, heap, take)?;
                }
            }
            Ok(())
        }
        _ => Ok(()),
    }
}
