//! Datatypes as the storage sees them: which bytes of an element go into which Arrow column.

use std::sync::Arc;

use arrow_schema::{DataType, Field, Fields};

use crate::error::Result;

/// The bytes of a variable-length element within a record: its length (4) and the name of its blob (16).
pub(crate) const HEAP_NAME_BYTES: usize = 20;
/// The bytes of a reference within a record: two of its own, the length of its blob (4) and its name (16).
pub const REFERENCE_BYTES: usize = 22;

/// A datatype in its form in the file.
#[derive(Debug, Clone, PartialEq)]
pub enum Datatype {
    /// An integer of 1, 2, 4 or 8 bytes that uses all of its bits; also what an enumeration or a bit field is.
    Integer {
        /// Its length.
        bytes: usize,
        /// Whether it has a sign.
        signed: bool,
        /// Whether its bytes are in the other order than this machine's.
        swapped: bool,
    },
    /// An IEEE number of 2, 4 or 8 bytes.
    Float {
        /// Its length.
        bytes: usize,
        /// Whether its bytes are in the other order than this machine's.
        swapped: bool,
    },
    /// Bytes that Arrow gives as they are: strings of a fixed length, opaque values, numbers of other forms.
    Fixed(usize),
    /// Named members at offsets.
    Compound {
        /// Length of an element, with gaps between members.
        bytes: usize,
        /// The members, in the order of the datatype.
        members: Vec<Member>,
    },
    /// `count` elements, one after the other.
    Array {
        /// Number of elements, over all dimensions.
        count: usize,
        /// What each of them is.
        element: Box<Datatype>,
    },
    /// Text of any length.
    Text,
    /// A sequence of any length.
    Sequence(Box<Datatype>),
    /// A reference to an object, a selection or an attribute.
    Reference,
}

/// Decodes a datatype that `H5Tencode` encoded. The HDF5 library does that; this crate does not know it.
pub type DecodeDatatype<'a> = &'a dyn Fn(&[u8]) -> Result<Datatype>;

/// A member of a compound.
#[derive(Debug, Clone, PartialEq)]
pub struct Member {
    /// Its name.
    pub name: String,
    /// Where it begins in an element, in bytes.
    pub offset: usize,
    /// Its datatype.
    pub datatype: Datatype,
}

impl Datatype {
    /// The length of an element within a record, in bytes.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Integer { bytes, .. } | Self::Float { bytes, .. } | Self::Fixed(bytes) | Self::Compound { bytes, .. } => *bytes,
            Self::Array { count, element } => count.saturating_mul(element.bytes()),
            Self::Text | Self::Sequence(_) => HEAP_NAME_BYTES,
            Self::Reference => REFERENCE_BYTES,
        }
    }

    /// Whether part of the value lies in blobs.
    pub fn has_heap(&self) -> bool {
        match self {
            Self::Integer { .. } | Self::Float { .. } | Self::Fixed(_) => false,
            Self::Compound { members, .. } => members.iter().any(|m| m.datatype.has_heap()),
            Self::Array { element, .. } => element.has_heap(),
            Self::Text | Self::Sequence(_) | Self::Reference => true,
        }
    }

    /// The Arrow type of one element.
    pub(crate) fn data_type(&self) -> DataType {
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
            Self::Compound { members, .. } => {
                DataType::Struct(members.iter().map(|m| Field::new(&m.name, m.datatype.data_type(), true)).collect::<Fields>())
            }
            Self::Array { count, element } => list_of(*count as u64, element.data_type()),
            Self::Text => DataType::LargeUtf8,
            Self::Sequence(element) => DataType::LargeList(Arc::new(Field::new("item", element.data_type(), true))),
            Self::Reference => DataType::LargeBinary,
        }
    }
}

/// A list of a fixed length.
pub(crate) fn list_of(count: u64, element: DataType) -> DataType {
    DataType::FixedSizeList(Arc::new(Field::new("item", element, true)), i32::try_from(count).unwrap_or(i32::MAX))
}

/// Bytes of an element that lie side by side in an Arrow buffer: a column without nesting.
#[derive(Debug, Clone, PartialEq)]
pub struct Leaf {
    /// Where the leaf begins in an element, in bytes.
    pub offset: usize,
    /// Its length in an element.
    pub(crate) bytes: usize,
    /// The length of the numbers whose bytes are the wrong way round in an element; 1: none.
    pub(crate) swap_bytes: usize,
}

/// A column of a dataset's table: a member of a compound, or all there is.
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    pub(crate) name: String,
    pub(crate) offset: usize,
    pub(crate) datatype: Datatype,
    /// One for each Arrow buffer in the order of the buffers, or the whole member where the values must be
    /// taken apart one by one.
    pub leaves: Vec<Leaf>,
    /// Whether the leaves are the Arrow buffers.
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

/// The columns of a type, in the order of its members.
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
