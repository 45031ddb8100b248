//! Values whose parts lie in heaps: from wherever they were to the heaps of the file that is written.

use hyperslab_array::{Datatype, Error, HeapReference, ReferenceKind, Result};

use super::super::heap::HeapWriter;

/// What variable-length parts point at, by reference.
type Resolve<'a> = &'a dyn Fn(HeapReference) -> Result<&'a [u8]>;

/// Puts what the elements in `bytes` point at into `heap` and points them there.
pub fn store_values<'a>(datatype: &Datatype, bytes: &mut [u8], resolve: Resolve<'a>, heap: &mut HeapWriter) -> Result<()> {
    place_values(datatype, bytes, resolve, heap, None)
}

/// As [`store_values`], with the addresses of the objects that references may point at, by number.
pub fn place_values<'a>(datatype: &Datatype, bytes: &mut [u8], resolve: Resolve<'a>, heap: &mut HeapWriter, objects: Option<&[u64]>) -> Result<()> {
    if !datatype.uses_heap() && !datatype.has_references() {
        return Ok(());
    }
    let size = usize::try_from(datatype.size()).unwrap_or(usize::MAX).max(1);
    if !bytes.len().is_multiple_of(size) {
        return Err(Error::internal(format!("{} bytes in elements of {size}", bytes.len())));
    }
    for element in bytes.chunks_exact_mut(size) {
        place(datatype, element, resolve, heap, objects)?;
    }
    Ok(())
}

fn place<'a>(datatype: &Datatype, element: &mut [u8], resolve: Resolve<'a>, heap: &mut HeapWriter, objects: Option<&[u64]>) -> Result<()> {
    match datatype {
        Datatype::VariableString { .. } => variable(None, element, resolve, heap, objects),
        Datatype::Sequence { base, .. } => variable(Some(base), element, resolve, heap, objects),
        Datatype::Compound { members, .. } => {
            for member in members {
                let start = usize::try_from(member.offset).unwrap_or(usize::MAX);
                let size = usize::try_from(member.datatype.size()).unwrap_or(usize::MAX);
                let part = start.checked_add(size).and_then(|end| element.get_mut(start..end));
                let part = part.ok_or_else(|| Error::internal("a member outside of its compound"))?;
                place_values(&member.datatype, part, resolve, heap, objects)?;
            }
            Ok(())
        }
        Datatype::Array { base, .. } => place_values(base, element, resolve, heap, objects),
        Datatype::Reference { kind: ReferenceKind::Object, .. } => {
            let number = element.iter().rev().try_fold(0u64, |n, byte| n.checked_mul(256)?.checked_add(u64::from(*byte)));
            let number = number.ok_or_else(|| Error::internal("a reference beyond 64 bits"))?;
            let Some(number) = number.checked_sub(1) else { return Ok(()) };
            let address = usize::try_from(number).ok().and_then(|number| objects?.get(number));
            let address = address.ok_or_else(|| Error::unsupported("writing references in datasets"))?;
            let target = element.get_mut(..8).ok_or_else(|| Error::internal("a reference of fewer than 8 bytes"))?;
            target.copy_from_slice(&address.to_le_bytes());
            Ok(())
        }
        Datatype::Reference { .. } => Err(Error::unsupported("writing references to regions or attributes")),
        _ => Ok(()),
    }
}

fn variable<'a>(base: Option<&Datatype>, element: &mut [u8], resolve: Resolve<'a>, heap: &mut HeapWriter, objects: Option<&[u64]>) -> Result<()> {
    let (count, reference) = HeapReference::parse(element)?;
    let stored: &mut [u8; 16] = element.try_into().map_err(|_| Error::unsupported("writing variable-length elements of other than 16 bytes"))?;
    let Some(reference) = reference else {
        *stored = [0; 16];
        return Ok(());
    };
    let bytes = u64::from(count).checked_mul(base.map_or(1, Datatype::size));
    let value = resolve(reference)?;
    let value = bytes.and_then(|bytes| value.get(..usize::try_from(bytes).ok()?));
    let value = value.ok_or_else(|| Error::invalid_input(format!("a variable-length value of {count} items is shorter than that")))?;
    let place = match base.filter(|base| base.uses_heap() || base.has_references()) {
        None => heap.insert(value),
        Some(base) => {
            let mut value = value.to_vec();
            place_values(base, &mut value, resolve, heap, objects)?;
            heap.insert(&value)
        }
    };
    let (_, target) = stored.split_at_mut(4);
    let (address, index) = target.split_at_mut(8);
    address.copy_from_slice(&place.address.to_le_bytes());
    index.copy_from_slice(&place.index.to_le_bytes());
    Ok(())
}
