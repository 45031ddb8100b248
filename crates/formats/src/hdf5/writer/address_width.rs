//! Datatypes of files whose addresses have another number of bytes: values of variable length and references have another size there.

use hyperslab_array::{Datatype, Error, Member, ReferenceKind};

/// Bytes of a value of variable length besides the address: a count, and a number in the heap.
const VARIABLE_BYTES: u64 = 8;
/// Bytes of an address in memory, and in files that are created.
pub(super) const WIDE_ADDRESS_BYTES: u8 = 8;
pub(super) const WIDE: u64 = WIDE_ADDRESS_BYTES as u64;

/// A datatype as a file stores it whose addresses have `address_bytes`. Members of records keep their order and what is between them.
pub(crate) fn with_addresses(datatype: &Datatype, address_bytes: u8) -> Datatype {
    if !datatype.uses_heap() && !datatype.has_references() {
        return datatype.clone();
    }
    let width = u64::from(address_bytes);
    match datatype {
        Datatype::VariableString { padding, character_set, .. } => {
            Datatype::VariableString { size: VARIABLE_BYTES + width, padding: *padding, character_set: *character_set }
        }
        Datatype::Sequence { base, .. } => Datatype::Sequence { size: VARIABLE_BYTES + width, base: Box::new(item_with_addresses(base, address_bytes)) },
        Datatype::Reference { kind, .. } => Datatype::Reference { size: reference_bytes(*kind, width), kind: *kind },
        Datatype::Array { base, shape } => Datatype::Array { base: Box::new(with_addresses(base, address_bytes)), shape: shape.clone() },
        Datatype::Compound { size, members } => {
            let datatypes: Vec<Datatype> = members.iter().map(|member| with_addresses(&member.datatype, address_bytes)).collect();
            // Those in front of an offset move it.
            let moved = |offset: u64| {
                let before = members.iter().zip(&datatypes).filter(|(member, _)| member.offset < offset);
                before.fold(offset, |offset, (member, datatype)| offset.saturating_add(datatype.size()).saturating_sub(member.datatype.size()))
            };
            let (offsets, size): (Vec<u64>, u64) = (members.iter().map(|member| moved(member.offset)).collect(), moved(*size));
            let members = members.iter().zip(datatypes).zip(offsets);
            Datatype::Compound { size, members: members.map(|((member, datatype), offset)| Member { name: member.name.clone(), offset, datatype }).collect() }
        }
        other => other.clone(),
    }
}

/// A datatype of any file, as files that are created store it.
pub fn widened_datatype(datatype: &Datatype) -> Datatype {
    with_addresses(datatype, WIDE_ADDRESS_BYTES)
}

/// The items of a sequence. The library keeps those that are references as they are in memory.
fn item_with_addresses(item: &Datatype, address_bytes: u8) -> Datatype {
    match item {
        Datatype::Reference { kind, .. } => Datatype::Reference { size: reference_bytes(*kind, WIDE), kind: *kind },
        other => with_addresses(other, address_bytes),
    }
}

/// Why values of this datatype cannot be stored in files with narrow addresses: the HDF5 library does not read them, or reads something else.
pub(crate) fn narrow_refusal(datatype: &Datatype) -> Option<Error> {
    match datatype {
        Datatype::Sequence { base, .. } if matches!(**base, Datatype::Reference { kind: ReferenceKind::Region | ReferenceKind::Standard, .. }) => {
            Some(Error::unsupported("sequences of such references in a file whose addresses have fewer than 8 bytes"))
        }
        Datatype::Sequence { base, .. } | Datatype::Array { base, .. } => narrow_refusal(base),
        Datatype::Compound { members, .. } => members.iter().find_map(|member| narrow_refusal(&member.datatype)),
        _ => None,
    }
}

/// Bytes of a reference in a file whose addresses have `width` bytes.
pub(super) fn reference_bytes(kind: ReferenceKind, width: u64) -> u64 {
    match kind {
        ReferenceKind::Object => width,
        ReferenceKind::Region => 4 + width,
        ReferenceKind::Standard => 10 + width,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyperslab_array::{ByteOrder, CharacterSet, StringPadding};

    #[test]
    fn records_shrink_and_grow_with_their_members() {
        let text = |size| Datatype::VariableString { size, padding: StringPadding::NullTerminated, character_set: CharacterSet::Utf8 };
        let number = Datatype::integer(4, true, ByteOrder::Little);
        let member = |name: &str, offset, datatype: &Datatype| Member { name: name.to_owned(), offset, datatype: datatype.clone() };
        // Out of order, with a gap of two bytes in front of `c` and one of three at the end.
        let record = |at: [u64; 3], size, width: u64| {
            let reference = Datatype::Reference { size: width, kind: ReferenceKind::Object };
            let texts = Datatype::Array { base: Box::new(text(8 + width)), shape: vec![2] };
            Datatype::Compound { size, members: [member("a", at[0], &texts), member("b", at[1], &number), member("c", at[2], &reference)].into() }
        };
        let (wide, narrow) = (record([4, 0, 38], 49, 8), record([4, 0, 30], 37, 4));
        assert_eq!(with_addresses(&wide, 4), narrow);
        assert_eq!(with_addresses(&narrow, 8), wide);
        assert_eq!(with_addresses(&wide, 8), wide);
        let list = |width: u64| Datatype::Sequence { size: 8 + width, base: Box::new(record([4, 0, 38], 49, 8)) };
        assert_eq!(with_addresses(&list(8), 4), Datatype::Sequence { size: 12, base: Box::new(narrow) });
    }
}
