//! Datatype: how one element's bytes are laid out (HDF5 specification IV.A.2.d).

use std::sync::Arc;

/// Byte order of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ByteOrder {
    /// Least significant byte first.
    Little,
    /// Most significant byte first.
    Big,
}

/// Character set of a string.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CharacterSet {
    /// US-ASCII (in practice often Latin-1 or raw bytes).
    Ascii,
    /// UTF-8.
    Utf8,
}

/// How a string shorter than its field is filled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StringPadding {
    /// Ends at the first NUL.
    NullTerminated,
    /// Trailing NULs are padding.
    NullPadded,
    /// Trailing spaces are padding (Fortran).
    SpacePadded,
}

impl StringPadding {
    /// All kinds of padding.
    pub const ALL: [Self; 3] = [Self::NullTerminated, Self::NullPadded, Self::SpacePadded];

    /// The word for it: `null_terminated`, `null_padded` or `space_padded`.
    pub fn name(self) -> &'static str {
        match self {
            Self::NullTerminated => "null_terminated",
            Self::NullPadded => "null_padded",
            Self::SpacePadded => "space_padded",
        }
    }
}

/// How a float's leading mantissa bit is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mantissa {
    /// All bits are stored as they are, no normalization.
    AsStored,
    /// The most significant bit is always set and stored.
    AlwaysSet,
    /// The most significant bit is set and not stored (IEEE).
    Implied,
}

impl Mantissa {
    /// The word for it: `as_stored`, `always_set` or `implied`.
    pub fn name(self) -> &'static str {
        match self {
            Self::AsStored => "as_stored",
            Self::AlwaysSet => "always_set",
            Self::Implied => "implied",
        }
    }
}

/// The bits of a floating-point number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FloatFormat {
    /// IEEE 754 binary16, binary32 or binary64, by the type's size (2, 4, 8).
    Ieee,
    /// Anything else (bfloat16, x87 extended, N-bit …); converted to the next wider IEEE type.
    Custom(FloatLayout),
}

/// Where the parts of a floating-point number are, in bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FloatLayout {
    /// Position of the lowest significant bit.
    pub bit_offset: u16,
    /// Number of significant bits.
    pub bit_precision: u16,
    /// Bit position of the sign.
    pub sign_location: u8,
    /// Lowest bit of the exponent.
    pub exponent_location: u8,
    /// Bits of the exponent.
    pub exponent_size: u8,
    /// Lowest bit of the mantissa.
    pub mantissa_location: u8,
    /// Bits of the mantissa.
    pub mantissa_size: u8,
    /// What is subtracted from the stored exponent.
    pub exponent_bias: u32,
    /// Normalization.
    pub mantissa: Mantissa,
}

impl FloatLayout {
    /// The layout of an IEEE 754 number of 2, 4 or 8 bytes; `None` for other sizes.
    pub fn ieee(size: u64) -> Option<Self> {
        let (bit_precision, exponent_size, mantissa_size) = match size {
            2 => (16, 5, 10),
            4 => (32, 8, 23),
            8 => (64, 11, 52),
            _ => return None,
        };
        Some(Self {
            bit_offset: 0,
            bit_precision: u16::from(bit_precision),
            sign_location: bit_precision - 1,
            exponent_location: mantissa_size,
            exponent_size,
            mantissa_location: 0,
            mantissa_size,
            exponent_bias: (1 << (exponent_size - 1)) - 1,
            mantissa: Mantissa::Implied,
        })
    }
}

/// What the bytes of a time mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TimeEncoding {
    /// A signed integer. HDF5 does not say what it counts, or from when.
    Stored,
    /// 8 bytes: signed seconds in the upper half and signed microseconds in the lower, as PyTables stores times. Shown as seconds.
    SecondsAndMicroseconds,
}

/// What a reference points at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ReferenceKind {
    /// An object (8-byte object header address).
    Object,
    /// A region of a dataset (global-heap reference).
    Region,
    /// The encoded references of HDF5 1.12 and later (object, region or attribute).
    Standard,
}

/// A member of a compound datatype.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Member {
    /// Name, unique in the compound.
    pub name: String,
    /// Byte offset in the compound element.
    pub offset: u64,
    /// The member's own datatype.
    pub datatype: Datatype,
}

/// A name of an enumeration.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct EnumMember {
    /// The name.
    pub name: String,
    /// The value, already converted from the base type's bytes (i128 holds i64 and u64 alike).
    pub value: i128,
}

/// The datatype of one element. `size()` bytes in the file, whatever the class.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Datatype {
    /// Fixed-point number.
    Integer {
        /// Bytes; 1 to 16.
        size: u64,
        /// Two's complement when true.
        signed: bool,
        /// Byte order.
        order: ByteOrder,
        /// Lowest significant bit; 0 for ordinary integers.
        bit_offset: u16,
        /// Significant bits; `8 * size` for ordinary integers.
        bit_precision: u16,
    },
    /// Floating-point number.
    Float {
        /// Bytes; 1 to 16.
        size: u64,
        /// Byte order.
        order: ByteOrder,
        /// Bit layout.
        format: FloatFormat,
    },
    /// String of fixed length.
    FixedString {
        /// Bytes, padding included.
        size: u64,
        /// Padding.
        padding: StringPadding,
        /// Character set.
        character_set: CharacterSet,
    },
    /// String of variable length; the element is a [`crate::HeapReference`] of `size` bytes.
    VariableString {
        /// Bytes of the stored reference: 4 (length) + size of offsets + 4 (index).
        size: u64,
        /// Padding.
        padding: StringPadding,
        /// Character set.
        character_set: CharacterSet,
    },
    /// Bits without a numeric meaning; shown as an unsigned integer, as h5py does.
    Bitfield {
        /// Bytes.
        size: u64,
        /// Byte order.
        order: ByteOrder,
    },
    /// Time.
    Time {
        /// Bytes; 4 or 8.
        size: u64,
        /// Byte order.
        order: ByteOrder,
        /// What they mean.
        encoding: TimeEncoding,
    },
    /// Uninterpreted bytes.
    Opaque {
        /// Bytes.
        size: u64,
        /// What the writer called them.
        tag: String,
    },
    /// Named members at byte offsets.
    Compound {
        /// Bytes, padding included.
        size: u64,
        /// Members in the file's order. Copies share them: many datasets may have one committed type.
        members: Arc<[Member]>,
    },
    /// Reference to an object, elements of a dataset, or an attribute.
    Reference {
        /// Bytes.
        size: u64,
        /// What it points at.
        kind: ReferenceKind,
    },
    /// Integer with names. h5py's boolean is the enum `FALSE = 0, TRUE = 1` over int8.
    Enum {
        /// An `Integer`.
        base: Box<Datatype>,
        /// Names in the file's order.
        members: Arc<[EnumMember]>,
    },
    /// Sequence of variable length; the element is a [`crate::HeapReference`] of `size` bytes.
    Sequence {
        /// Bytes of the stored reference.
        size: u64,
        /// Datatype of the sequence's elements.
        base: Box<Datatype>,
    },
    /// Array of fixed shape.
    Array {
        /// Datatype of the array's elements.
        base: Box<Datatype>,
        /// Extents, slowest first.
        shape: Vec<u64>,
    },
    /// A class that we refuse by name; the bytes can be skipped but not shown.
    Unsupported {
        /// Bytes.
        size: u64,
        /// The class's name, for the error message (`"VAX floating-point"`, …).
        class: String,
    },
}

impl Datatype {
    /// An ordinary integer of `size` bytes.
    pub fn integer(size: u64, signed: bool, order: ByteOrder) -> Self {
        let bit_precision = u16::try_from(size.saturating_mul(8)).unwrap_or(u16::MAX);
        Self::Integer { size, signed, order, bit_offset: 0, bit_precision }
    }
    /// An IEEE float of 2, 4 or 8 bytes.
    pub fn float(size: u64, order: ByteOrder) -> Self {
        Self::Float { size, order, format: FloatFormat::Ieee }
    }
    /// Bytes of one element in the file.
    pub fn size(&self) -> u64 {
        match self {
            Self::Integer { size, .. }
            | Self::Float { size, .. }
            | Self::FixedString { size, .. }
            | Self::VariableString { size, .. }
            | Self::Bitfield { size, .. }
            | Self::Time { size, .. }
            | Self::Opaque { size, .. }
            | Self::Compound { size, .. }
            | Self::Reference { size, .. }
            | Self::Sequence { size, .. }
            | Self::Unsupported { size, .. } => *size,
            Self::Enum { base, .. } => base.size(),
            Self::Array { base, shape } => shape.iter().fold(base.size(), |size, &extent| size.saturating_mul(extent)),
        }
    }
    /// Whether this is a boolean, as h5py writes it: an enum of exactly FALSE = 0 and TRUE = 1, over any integer.
    pub fn is_boolean(&self) -> bool {
        match self {
            Self::Enum { base, members } => {
                matches!(**base, Self::Integer { .. })
                    && members.len() == 2
                    && members.iter().any(|m| m.name == "FALSE" && m.value == 0)
                    && members.iter().any(|m| m.name == "TRUE" && m.value == 1)
            }
            _ => false,
        }
    }
    /// Whether some part of an element lives in a heap, so that bytes alone do not hold its value.
    pub fn uses_heap(&self) -> bool {
        match self {
            Self::VariableString { .. } | Self::Sequence { .. } => true,
            Self::Compound { members, .. } => members.iter().any(|m| m.datatype.uses_heap()),
            Self::Array { base, .. } => base.uses_heap(),
            _ => false,
        }
    }
    /// Whether some part of an element is a reference.
    pub fn has_references(&self) -> bool {
        match self {
            Self::Reference { .. } => true,
            Self::Compound { members, .. } => members.iter().any(|m| m.datatype.has_references()),
            Self::Array { base, .. } | Self::Sequence { base, .. } => base.has_references(),
            _ => false,
        }
    }
    /// The same with plain bytes in place of references.
    pub fn with_references_as_bytes(&self) -> Self {
        match self {
            Self::Reference { size, .. } => Self::Opaque { size: *size, tag: String::new() },
            Self::Compound { size, members } => {
                let member = |m: &Member| Member { datatype: m.datatype.with_references_as_bytes(), ..m.clone() };
                Self::Compound { size: *size, members: members.iter().map(member).collect() }
            }
            Self::Array { base, shape } => Self::Array { base: Box::new(base.with_references_as_bytes()), shape: shape.clone() },
            Self::Sequence { size, base } => Self::Sequence { size: *size, base: Box::new(base.with_references_as_bytes()) },
            other => other.clone(),
        }
    }
    /// Whether some part of an element is a time of seconds and microseconds.
    pub fn has_timevals(&self) -> bool {
        match self {
            Self::Time { encoding, .. } => *encoding == TimeEncoding::SecondsAndMicroseconds,
            Self::Compound { members, .. } => members.iter().any(|m| m.datatype.has_timevals()),
            Self::Array { base, .. } | Self::Sequence { base, .. } => base.has_timevals(),
            _ => false,
        }
    }
    /// The same with this encoding of times of 8 bytes.
    #[must_use]
    pub fn with_times(&self, encoding: TimeEncoding) -> Self {
        let of = |base: &Self| Box::new(base.with_times(encoding));
        match self {
            Self::Time { size: 8, order, .. } => Self::Time { size: 8, order: *order, encoding },
            Self::Compound { size, members } => {
                let member = |m: &Member| Member { datatype: m.datatype.with_times(encoding), ..m.clone() };
                Self::Compound { size: *size, members: members.iter().map(member).collect() }
            }
            Self::Array { base, shape } => Self::Array { base: of(base), shape: shape.clone() },
            Self::Sequence { size, base } => Self::Sequence { size: *size, base: of(base) },
            other => other.clone(),
        }
    }
    /// The name of an unsupported class within, if any.
    pub fn unsupported_class(&self) -> Option<&str> {
        match self {
            Self::Unsupported { class, .. } => Some(class),
            Self::Compound { members, .. } => members.iter().find_map(|m| m.datatype.unsupported_class()),
            Self::Array { base, .. } | Self::Sequence { base, .. } | Self::Enum { base, .. } => base.unsupported_class(),
            _ => None,
        }
    }
}
