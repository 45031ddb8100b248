//! Heap salt: elements of several files side by side. A heap reference is an address in one file; a
//! salt in its upper bits says which file of a virtual dataset it is of.

use hyperslab_array::{Datatype, Error, HeapReference, Result};

/// Addresses below this leave room for the salt: 256 TiB.
const SALT_SHIFT: u32 = 48;

/// Marks every heap reference in `bytes` (whole elements of `datatype`) with `salt`; those within what they point
/// at are marked when that is read.
pub(crate) fn salt(datatype: &Datatype, bytes: &mut [u8], salt: u16) -> Result<()> {
    let size = usize::try_from(datatype.size()).ok().filter(|n| *n > 0);
    let size = size.ok_or_else(|| Error::corrupt("an element without bytes"))?;
    match datatype {
        Datatype::VariableString { .. } | Datatype::Sequence { .. } => {
            bytes.chunks_exact_mut(size).try_for_each(|element| salt_one(element, salt))
        }
        Datatype::Array { base, .. } => self::salt(base, bytes, salt),
        Datatype::Compound { members, .. } => {
            for element in bytes.chunks_exact_mut(size) {
                for member in members.iter().filter(|member| member.datatype.uses_heap()) {
                    let start = usize::try_from(member.offset).ok();
                    let range = start.zip(usize::try_from(member.datatype.size()).ok());
                    let part = range.and_then(|(start, n)| element.get_mut(start..start.checked_add(n)?));
                    let part = part.ok_or_else(|| Error::corrupt(format!("member {} lies outside of its compound", member.name)))?;
                    self::salt(&member.datatype, part, salt)?;
                }
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

fn salt_one(element: &mut [u8], salt: u16) -> Result<()> {
    let (_, Some(reference)) = HeapReference::parse(element)? else { return Ok(()) };
    // Length (4 bytes), address (8), index (4).
    match element {
        [_, _, _, _, address @ .., _, _, _, _] if address.len() == 8 && reference.address >> SALT_SHIFT == 0 => {
            address.copy_from_slice(&(reference.address | (u64::from(salt) << SALT_SHIFT)).to_le_bytes());
            Ok(())
        }
        _ => Err(Error::unsupported(
            "variable-length values of virtual datasets of virtual datasets, or of files with short addresses",
        )),
    }
}

/// The salt of a reference, and the reference as it is in its own file.
pub(crate) fn unsalted(reference: HeapReference) -> (u16, HeapReference) {
    let salt = u16::try_from(reference.address >> SALT_SHIFT).unwrap_or(u16::MAX);
    let address = reference.address & ((1 << SALT_SHIFT) - 1);
    (salt, HeapReference { address, ..reference })
}
