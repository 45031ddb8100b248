//! Forms: how the elements of a datatype are stored in a container, and how they are shown, which is how a native HDF5 file has
//! them. Both differ only in values of variable length and references.

use hyperslab_arrow_container::elements::{Datatype as Stored, Member as StoredMember, REFERENCE_BYTES as STORED_REFERENCE_BYTES};

/// Bytes of a value of variable length in its element, as shown: length, address, index.
pub(crate) const HEAP_BYTES: usize = 16;
/// Bytes of a reference of HDF5 1.12, as shown.
pub const REFERENCE_BYTES: usize = 18;
/// Bytes of such a reference in a sequence, where HDF5 stores it as it is in memory.
pub(crate) const MEMORY_REFERENCE_BYTES: usize = 64;

/// The form of a datatype's elements.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Form {
    /// Bytes that are stored as they are shown, but for the byte order of numbers.
    Plain(Stored),
    /// A string of variable length.
    Text,
    /// A reference of HDF5 1.12.
    Reference,
    /// The same in a sequence.
    MemoryReference,
    /// A sequence of variable length.
    Sequence(Box<Form>),
    /// An array of a fixed number of elements.
    Array {
        /// Number of elements, over all dimensions.
        count: usize,
        /// The form of each.
        element: Box<Form>,
    },
    /// Members.
    Compound {
        /// Size of an element as shown.
        bytes: usize,
        /// Size of an element as stored.
        stored_bytes: usize,
        /// In the order of the columns.
        members: Vec<FormMember>,
    },
}

/// A member of a compound.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct FormMember {
    /// Its name.
    pub name: String,
    /// Its offset in an element as shown.
    pub offset: usize,
    /// Its offset in an element as stored.
    pub stored_offset: usize,
    /// Its form.
    pub form: Form,
}

impl Form {
    /// Size of an element as shown.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Plain(stored) => stored.bytes(),
            Self::Text | Self::Sequence(_) => HEAP_BYTES,
            Self::Reference | Self::MemoryReference => REFERENCE_BYTES,
            Self::Array { count, element } => count.saturating_mul(element.bytes()),
            Self::Compound { bytes, .. } => *bytes,
        }
    }

    /// Whether part of a value is stored elsewhere, so that both forms may differ in size.
    pub fn has_heap(&self) -> bool {
        match self {
            Self::Plain(_) => false,
            Self::Text | Self::Reference | Self::MemoryReference | Self::Sequence(_) => true,
            Self::Array { element, .. } => element.has_heap(),
            Self::Compound { members, .. } => members.iter().any(|member| member.form.has_heap()),
        }
    }

    /// Whether elements have bytes that belong to no member.
    pub fn has_gaps(&self) -> bool {
        match self {
            Self::Array { element, .. } => element.has_gaps(),
            Self::Compound { bytes, members, .. } => {
                members.iter().map(|member| member.form.bytes()).sum::<usize>() < *bytes || members.iter().any(|member| member.form.has_gaps())
            }
            _ => false,
        }
    }

    /// The datatype as the container stores it.
    pub fn stored(&self) -> Stored {
        match self {
            Self::Plain(stored) => stored.clone(),
            Self::Text => Stored::Text,
            Self::Reference => Stored::Reference,
            Self::MemoryReference => Stored::Fixed(MEMORY_REFERENCE_BYTES),
            Self::Sequence(element) => Stored::Sequence(Box::new(element.stored())),
            Self::Array { count, element } => Stored::Array { count: *count, element: Box::new(element.stored()) },
            Self::Compound { stored_bytes, members, .. } => Stored::Compound {
                bytes: *stored_bytes,
                members: members.iter().map(|member| StoredMember::new(member.name.clone(), member.stored_offset, member.form.stored())).collect(),
            },
        }
    }
}

/// The reference of HDF5 1.12 that a sequence holds, as shown: the encoded reference at the beginning of its 64 bytes, or, from some
/// versions of HDF5, the reference as it is in memory. `None` if it is not one of an object.
pub(crate) fn shown_memory_reference(stored: &[u8]) -> Option<[u8; REFERENCE_BYTES]> {
    /// Offset of the type in `H5R_ref_t`, and `H5R_OBJECT2`.
    const KIND: usize = 44;
    const OBJECT: u8 = 2;
    /// Type, flags and the size of the token of an encoded reference.
    const ENCODED: [u8; 3] = [OBJECT, 0, 8];
    let mut shown = [0; REFERENCE_BYTES];
    if stored.iter().all(|byte| *byte == 0) {
        return Some(shown);
    }
    shown[..3].copy_from_slice(&ENCODED);
    let token = if stored.starts_with(&ENCODED) { stored.get(3..11) } else { stored.get(..8).filter(|_| stored.get(KIND) == Some(&OBJECT)) };
    shown[3..11].copy_from_slice(token?);
    Some(shown)
}

/// Size of a stored reference.
pub(crate) const fn stored_reference_bytes() -> usize {
    STORED_REFERENCE_BYTES
}
