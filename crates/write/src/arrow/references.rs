//! References as a container stores them: as in HDF5 1.12 where HDF5 allows no older ones.

use hyperslab_array::StoredSelection;
use hyperslab_array::name::bytes_of;
use hyperslab_array::{Dataspace, Datatype, Error, Member, ReferenceKind, ReferencedPart, Result};
use hyperslab_container_format::REFERENCE_BYTES;
use hyperslab_formats::hdf5;

/// Types of references (`H5R_type_t`).
const OBJECT: u8 = 2;
const REGION: u8 = 3;
const ATTRIBUTE: u8 = 4;
/// Bytes of a token.
const TOKEN_BYTES: u8 = 8;
/// What `H5Sencode2` writes before the length of the extent, and that length.
const SPACE_HEAD_BYTES: usize = 3;
const LENGTH_BYTES: usize = 4;

/// The datatype with references of HDF5 1.12, if HDF5 allows no older ones in a container: next to values of variable length, and in
/// the attributes of dimension scales (`is_of_scales`), which the library itself writes so there.
pub(super) fn with_allowed_references(datatype: &Datatype, is_of_scales: bool) -> Datatype {
    if datatype.has_references() && (is_of_scales || datatype.uses_heap()) {
        with_standard_references(datatype).unwrap_or_else(|| datatype.clone())
    } else {
        datatype.clone()
    }
}

/// The datatype with references of HDF5 1.12, whose size differs: members after them move. `None` if members overlap.
fn with_standard_references(datatype: &Datatype) -> Option<Datatype> {
    Some(match datatype {
        Datatype::Reference { .. } => Datatype::Reference { size: REFERENCE_BYTES as u64, kind: ReferenceKind::Standard },
        Datatype::Sequence { size, base } => Datatype::Sequence { size: *size, base: Box::new(with_standard_references(base)?) },
        Datatype::Array { base, shape } => Datatype::Array { base: Box::new(with_standard_references(base)?), shape: shape.clone() },
        Datatype::Compound { size, members } => {
            let mut moved = members.iter().map(|member| Some((member, with_standard_references(&member.datatype)?))).collect::<Option<Vec<_>>>()?;
            moved.sort_by_key(|(member, _)| member.offset);
            let (mut end, mut grown) = (0u64, 0u64);
            let mut placed = Vec::with_capacity(moved.len());
            for (member, datatype) in moved {
                if member.offset < end {
                    return None;
                }
                end = member.offset.checked_add(member.datatype.size())?;
                let offset = member.offset.checked_add(grown)?;
                grown = grown.checked_add(datatype.size().checked_sub(member.datatype.size())?)?;
                placed.push(Member { name: member.name.clone(), offset, datatype });
            }
            // In the order that the members had.
            placed.sort_by_key(|one| members.iter().position(|member| member.name == one.name));
            Datatype::Compound { size: size.checked_add(grown)?, members: placed.into() }
        }
        other => other.clone(),
    })
}

/// A reference of HDF5 1.12: its type, and what follows its type and flags. `space` is the dataspace of a region's dataset.
pub(super) fn encode(id: u64, part: &ReferencedPart, space: impl Fn() -> Result<Dataspace>) -> Result<(u8, Vec<u8>)> {
    let mut out = vec![TOKEN_BYTES];
    out.extend(id.to_le_bytes());
    let kind = match part {
        ReferencedPart::Object => OBJECT,
        ReferencedPart::Region(selection) => {
            region(&space()?, selection, &mut out)?;
            REGION
        }
        ReferencedPart::Attribute(name) => {
            let name = bytes_of(name);
            let length = u16::try_from(name.len()).map_err(|_| Error::unsupported("a reference to an attribute with a name of 64 KiB"))?;
            out.extend(length.to_le_bytes());
            out.extend_from_slice(&name);
            ATTRIBUTE
        }
    };
    Ok((kind, out))
}

/// Size, number of dimensions and selection.
fn region(space: &Dataspace, selection: &StoredSelection, out: &mut Vec<u8>) -> Result<()> {
    let encoded = hdf5::encode_selection(space, selection)?;
    let too_short = || Error::internal("an encoded dataspace that is too short");
    let length = encoded.get(SPACE_HEAD_BYTES..).and_then(|rest| rest.first_chunk::<LENGTH_BYTES>()).ok_or_else(too_short)?;
    let selected = encoded.get(SPACE_HEAD_BYTES + LENGTH_BYTES + u32::from_le_bytes(*length) as usize..).ok_or_else(too_short)?;
    out.extend((selected.len() as u32).to_le_bytes());
    out.extend((space.shape().len() as u32).to_le_bytes());
    out.extend(selected);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reference(kind: ReferenceKind, size: u64) -> Datatype {
        Datatype::Reference { kind, size }
    }

    #[test]
    fn members_after_references_move() {
        let member = |name: &str, offset, datatype| Member { name: name.to_owned(), offset, datatype };
        let text =
            Datatype::VariableString { size: 16, padding: hyperslab_array::StringPadding::NullTerminated, character_set: hyperslab_array::CharacterSet::Utf8 };
        let before = Datatype::Compound {
            size: 48,
            members: vec![
                member("t", 20, text.clone()),
                member("r", 0, reference(ReferenceKind::Object, 8)),
                member("s", 8, reference(ReferenceKind::Region, 12)),
                member("u", 40, reference(ReferenceKind::Object, 8)),
            ]
            .into(),
        };
        let standard = reference(ReferenceKind::Standard, 18);
        let after = Datatype::Compound {
            size: 48 + 10 + 6 + 10,
            members: vec![member("t", 36, text), member("r", 0, standard.clone()), member("s", 18, standard.clone()), member("u", 56, standard)].into(),
        };
        assert_eq!(with_allowed_references(&before, false), after);
        let alone = reference(ReferenceKind::Object, 8);
        assert_eq!(with_allowed_references(&alone, false), alone);
        assert_ne!(with_allowed_references(&alone, true), alone);
    }
}
