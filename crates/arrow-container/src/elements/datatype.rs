//! Datatypes: which bytes of an element belong to which Arrow column.

use std::sync::Arc;

use arrow_schema::{DataType, Field, Fields};

use crate::error::Result;

/// Bytes of a variable-length value in its element: its length (4) and the name of its blob (16).
pub(crate) const HEAP_NAME_BYTES: usize = 20;
/// Bytes of a reference in its element: two of its own, the length of its blob (4) and the blob's name (16).
pub const REFERENCE_BYTES: usize = 22;

/// A datatype as its elements are laid out in a container.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Datatype {
    /// An integer of 1, 2, 4 or 8 bytes that uses all of its bits. Enumerations and bit fields are stored like this, too.
    Integer {
        /// Its size.
        bytes: usize,
        /// Whether it is signed.
        signed: bool,
        /// Whether its byte order is the opposite of this machine's.
        swapped: bool,
    },
    /// An IEEE 754 number of 2, 4 or 8 bytes.
    Float {
        /// Its size.
        bytes: usize,
        /// Whether its byte order is the opposite of this machine's.
        swapped: bool,
    },
    /// A number of bytes that Arrow stores unchanged: fixed-length strings, opaque values, nonstandard numbers.
    Fixed(usize),
    /// A compound: named members at offsets.
    Compound {
        /// Size of an element, including gaps between members.
        bytes: usize,
        /// The members in their order in the datatype.
        members: Vec<Member>,
    },
    /// A fixed-size array of `count` contiguous elements.
    Array {
        /// Number of elements, over all dimensions.
        count: usize,
        /// The datatype of each element.
        element: Box<Datatype>,
    },
    /// A variable-length string.
    Text,
    /// A variable-length sequence.
    Sequence(Box<Datatype>),
    /// A reference to an object, a selection or an attribute.
    Reference,
}

/// Decodes the bytes of `H5Tencode`. The caller provides it, because this crate does not link the HDF5 library.
pub type DecodeDatatype<'a> = &'a dyn Fn(&[u8]) -> Result<Datatype>;

/// A member of a compound datatype.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Member {
    /// Its name.
    pub name: String,
    /// Its byte offset in an element.
    pub offset: usize,
    /// Its datatype.
    pub datatype: Datatype,
}

impl Member {
    /// A member at a byte offset.
    pub fn new(name: impl Into<String>, offset: usize, datatype: Datatype) -> Self {
        Self { name: name.into(), offset, datatype }
    }
}

impl Datatype {
    /// The size of an element, in bytes.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Integer { bytes, .. } | Self::Float { bytes, .. } | Self::Fixed(bytes) | Self::Compound { bytes, .. } => *bytes,
            Self::Array { count, element } => count.saturating_mul(element.bytes()),
            Self::Text | Self::Sequence(_) => HEAP_NAME_BYTES,
            Self::Reference => REFERENCE_BYTES,
        }
    }

    /// Whether part of a value is stored in blobs.
    pub fn has_heap(&self) -> bool {
        match self {
            Self::Integer { .. } | Self::Float { .. } | Self::Fixed(_) => false,
            Self::Compound { members, .. } => members.iter().any(|m| m.datatype.has_heap()),
            Self::Array { element, .. } => element.has_heap(),
            Self::Text | Self::Sequence(_) | Self::Reference => true,
        }
    }

    /// The size of numbers whose byte order is not Arrow's; 1 if there are none, or none of one size.
    pub fn swap_bytes(&self) -> usize {
        match self {
            Self::Integer { bytes, swapped: true, .. } | Self::Float { bytes, swapped: true } => *bytes,
            _ => 1,
        }
    }

    /// The Arrow type of one element.
    pub fn data_type(&self) -> DataType {
        match self {
            Self::Integer { bytes: 1, signed: true, .. } => DataType::Int8,
            Self::Integer { bytes: 2, signed: true, .. } => DataType::Int16,
            Self::Integer { bytes: 4, signed: true, .. } => DataType::Int32,
            Self::Integer { signed: true, .. } => DataType::Int64,
            Self::Integer { bytes: 1, .. } => DataType::UInt8,
            Self::Integer { bytes: 2, .. } => DataType::UInt16,
            Self::Integer { bytes: 4, .. } => DataType::UInt32,
            Self::Integer { .. } => DataType::UInt64,
            Self::Float { bytes: 2, .. } => DataType::Float16,
            Self::Float { bytes: 4, .. } => DataType::Float32,
            Self::Float { .. } => DataType::Float64,
            Self::Fixed(bytes) => DataType::FixedSizeBinary(i32::try_from(*bytes).unwrap_or(i32::MAX)),
            Self::Compound { members, .. } => DataType::Struct(members.iter().map(|m| Field::new(&m.name, m.datatype.data_type(), true)).collect::<Fields>()),
            Self::Array { count, element } => list_of(*count as u64, element.data_type()),
            Self::Text => DataType::LargeUtf8,
            Self::Sequence(element) => DataType::LargeList(Arc::new(Field::new("item", element.data_type(), true))),
            Self::Reference => DataType::LargeBinary,
        }
    }
}

/// Arrow's list of a fixed length.
pub(crate) fn list_of(count: u64, element: DataType) -> DataType {
    DataType::FixedSizeList(Arc::new(Field::new("item", element, true)), i32::try_from(count).unwrap_or(i32::MAX))
}

/// Bytes of an element that one Arrow buffer holds: a column without nesting.
#[derive(Debug, Clone, PartialEq)]
pub struct Leaf {
    /// Its byte offset in an element.
    pub offset: usize,
    /// Its size in an element.
    pub(crate) bytes: usize,
    /// The size of the numbers whose bytes must be swapped; 1: none.
    pub(crate) swap_bytes: usize,
}

/// A column of a dataset's table: a member of a compound, or the whole element of any other datatype.
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    pub(crate) name: String,
    pub(crate) offset: usize,
    pub(crate) datatype: Datatype,
    /// One leaf for each Arrow buffer, in the order of the buffers; a single leaf (the whole member) if the values must
    /// be converted one by one.
    pub leaves: Vec<Leaf>,
    /// Whether the leaves correspond to Arrow buffers.
    pub direct: bool,
}

fn collect(datatype: &Datatype, offset: usize, leaves: &mut Vec<Leaf>) -> bool {
    match datatype {
        Datatype::Integer { bytes, swapped, .. } | Datatype::Float { bytes, swapped } => {
            leaves.push(Leaf { offset, bytes: *bytes, swap_bytes: if *swapped { *bytes } else { 1 } });
            true
        }
        Datatype::Fixed(bytes) => {
            leaves.push(Leaf { offset, bytes: *bytes, swap_bytes: 1 });
            true
        }
        Datatype::Compound { members, .. } => members.iter().all(|m| collect(&m.datatype, offset.saturating_add(m.offset), leaves)),
        Datatype::Array { count, element } => {
            let mut inner = Vec::new();
            if !collect(element, offset, &mut inner) || matches!(innermost(element), Datatype::Compound { .. }) {
                return false;
            }
            leaves.extend(inner.into_iter().map(|leaf| Leaf { bytes: leaf.bytes.saturating_mul(*count), ..leaf }));
            true
        }
        Datatype::Text | Datatype::Sequence(_) | Datatype::Reference => false,
    }
}

fn innermost(datatype: &Datatype) -> &Datatype {
    match datatype {
        Datatype::Array { element, .. } => innermost(element),
        other => other,
    }
}

/// The columns of a datatype, in the order of its members.
pub fn columns(datatype: &Datatype) -> Vec<Column> {
    let one = |name: &str, offset: usize, datatype: &Datatype| {
        let mut leaves = Vec::new();
        let direct = collect(datatype, offset, &mut leaves);
        if !direct {
            leaves = vec![Leaf { offset, bytes: datatype.bytes(), swap_bytes: 1 }];
        }
        Column { name: name.to_owned(), offset, datatype: datatype.clone(), leaves, direct }
    };
    match datatype {
        Datatype::Compound { members, .. } => members.iter().map(|m| one(&m.name, m.offset, &m.datatype)).collect(),
        other => vec![one("value", 0, other)],
    }
}
