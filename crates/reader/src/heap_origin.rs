//! Heap references of several files in one array. A heap reference is an address in one file; its upper bits hold the
//! index of that file among the files that a virtual dataset reads from: its origin.

use hyperslab_array::{Datatype, Error, HeapReference, Result};

/// The upper bits of an address from here on hold the origin: addresses up to 256 TiB.
const ORIGIN_SHIFT: u32 = 48;

/// Marks every heap reference in `bytes` (whole elements of `datatype`) with the file that it comes from.
/// References inside the referenced values are marked when those values are read.
pub(crate) fn mark(datatype: &Datatype, bytes: &mut [u8], origin: u16) -> Result<()> {
    let size = usize::try_from(datatype.size()).ok().filter(|n| *n > 0);
    let size = size.ok_or_else(|| Error::corrupt("an element without bytes"))?;
    match datatype {
        Datatype::VariableString { .. } | Datatype::Sequence { .. } => bytes.chunks_exact_mut(size).try_for_each(|element| mark_element(element, origin)),
        Datatype::Array { base, .. } => self::mark(base, bytes, origin),
        Datatype::Compound { members, .. } => {
            for element in bytes.chunks_exact_mut(size) {
                for member in members.iter().filter(|member| member.datatype.uses_heap()) {
                    let start = usize::try_from(member.offset).ok();
                    let range = start.zip(usize::try_from(member.datatype.size()).ok());
                    let part = range.and_then(|(start, n)| element.get_mut(start..start.checked_add(n)?));
                    let part = part.ok_or_else(|| Error::corrupt(format!("member {} lies outside of its compound", member.name)))?;
                    self::mark(&member.datatype, part, origin)?;
                }
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

fn mark_element(element: &mut [u8], origin: u16) -> Result<()> {
    let (_, Some(reference)) = HeapReference::parse(element)? else { return Ok(()) };
    // Length (4 bytes), address (8), index (4).
    match element {
        [_, _, _, _, address @ .., _, _, _, _] if address.len() == 8 && reference.address >> ORIGIN_SHIFT == 0 => {
            address.copy_from_slice(&(reference.address | (u64::from(origin) << ORIGIN_SHIFT)).to_le_bytes());
            Ok(())
        }
        _ => Err(Error::unsupported("variable-length values of virtual datasets of virtual datasets, or of files with short addresses")),
    }
}

/// The origin of a marked reference, and the reference as its own file has it.
pub(crate) fn split(reference: HeapReference) -> (u16, HeapReference) {
    let origin = u16::try_from(reference.address >> ORIGIN_SHIFT).unwrap_or(u16::MAX);
    let address = reference.address & ((1 << ORIGIN_SHIFT) - 1);
    (origin, HeapReference { address, ..reference })
}
