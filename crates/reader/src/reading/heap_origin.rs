//! Heap references of several files in one array. A heap reference is an address in one file; its upper bits hold the
//! number of that file among the files that a virtual dataset reads from: its origin.

use hyperslab_array::{Datatype, Error, HeapReference, Result};

use crate::File;

/// The upper bits of an address from here on hold the origin: addresses up to 256 TiB.
const ORIGIN_SHIFT: u32 = 48;
/// The file of the virtual dataset itself. It is not kept among its linked files, which it would keep alive for ever. Other
/// files have the numbers after it, and references that were not marked have 0.
const OWN: u16 = 1;

/// The origin of heap references of `other` in virtual datasets of `file`.
fn of(file: &File, other: &File) -> Result<u16> {
    if file == other {
        return Ok(OWN);
    }
    let index = u16::try_from(file.linked_files().index_of_origin(other)).ok();
    let origin = index.and_then(|index| index.checked_add(OWN + 1));
    origin.ok_or_else(|| Error::unsupported("variable-length values of more than 65534 files in one dataset"))
}

/// The file with this origin.
pub(crate) fn file_of(file: &File, origin: u16) -> Result<File> {
    match origin.checked_sub(OWN) {
        None => None,
        Some(0) => Some(file.clone()),
        Some(number) => file.linked_files().origin(usize::from(number - 1)),
    }
    .ok_or_else(|| Error::internal("a heap reference of no file"))
}

/// Marks every heap reference in `bytes` (whole elements of `datatype`), which `other` gave, for a virtual dataset of `file`.
/// If the dataset of `other` is virtual, its references name one of its own sources. References inside the referenced values are
/// marked when those values are read.
pub(crate) fn mark_from(file: &File, other: &File, is_virtual: bool, datatype: &Datatype, bytes: &mut [u8]) -> Result<()> {
    if is_virtual {
        return mark(datatype, bytes, &mut |known| of(file, &file_of(other, known)?));
    }
    mark_as(of(file, other)?, datatype, bytes)
}

/// Marks every heap reference in `bytes` (whole elements of `datatype`) with `origin`.
pub(crate) fn mark_as(origin: u16, datatype: &Datatype, bytes: &mut [u8]) -> Result<()> {
    let long_address = || Error::unsupported("variable-length values of virtual datasets at addresses above 256 TiB");
    mark(datatype, bytes, &mut |known| if known == 0 { Ok(origin) } else { Err(long_address()) })
}

/// Replaces the origin of every heap reference in `bytes` by `new(origin)`.
fn mark(datatype: &Datatype, bytes: &mut [u8], new: &mut dyn FnMut(u16) -> Result<u16>) -> Result<()> {
    let size = usize::try_from(datatype.size()).ok().filter(|n| *n > 0);
    let size = size.ok_or_else(|| Error::corrupt("an element without bytes"))?;
    match datatype {
        Datatype::VariableString { .. } | Datatype::Sequence { .. } => bytes.chunks_exact_mut(size).try_for_each(|element| mark_element(element, new)),
        Datatype::Array { base, .. } => self::mark(base, bytes, new),
        Datatype::Compound { members, .. } => {
            for element in bytes.chunks_exact_mut(size) {
                for member in members.iter().filter(|member| member.datatype.uses_heap()) {
                    let start = usize::try_from(member.offset).ok();
                    let range = start.zip(usize::try_from(member.datatype.size()).ok());
                    let part = range.and_then(|(start, n)| element.get_mut(start..start.checked_add(n)?));
                    let part = part.ok_or_else(|| Error::corrupt(format!("member {} lies outside of its compound", member.name)))?;
                    self::mark(&member.datatype, part, new)?;
                }
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

fn mark_element(element: &mut [u8], new: &mut dyn FnMut(u16) -> Result<u16>) -> Result<()> {
    let (_, Some(reference)) = HeapReference::parse(element)? else { return Ok(()) };
    // Length (4 bytes), address (8), index (4).
    match element {
        [_, _, _, _, address @ .., _, _, _, _] if address.len() == 8 => {
            let marked = unmarked(reference).address | (u64::from(new(origin(reference))?) << ORIGIN_SHIFT);
            address.copy_from_slice(&marked.to_le_bytes());
            Ok(())
        }
        _ => Err(Error::unsupported("variable-length values in virtual datasets of files with short addresses")),
    }
}

/// The origin of a reference; 0 if it is not marked.
pub(crate) fn origin(reference: HeapReference) -> u16 {
    u16::try_from(reference.address >> ORIGIN_SHIFT).unwrap_or(u16::MAX)
}

/// The reference as its own file has it.
pub(crate) fn unmarked(reference: HeapReference) -> HeapReference {
    HeapReference { address: reference.address & ((1 << ORIGIN_SHIFT) - 1), ..reference }
}
