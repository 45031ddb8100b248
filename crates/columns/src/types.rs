//! The one table of types: `Datatype` to Arrow and back.

use std::sync::Arc;

use arrow_schema::{DataType, Field, Fields};
use hyperslab_array::{
    ByteOrder, CharacterSet, Datatype, EnumMember, Error, FloatFormat, FloatLayout, Mantissa, Member, ReferenceKind, Result, StringPadding, TimeEncoding,
};

pub(super) fn length(size: u64) -> Result<i32> {
    i32::try_from(size).map_err(|_| Error::unsupported(format!("an element of {size} bytes or items in Arrow")))
}

/// The Arrow type of elements of `datatype`.
///
/// # Errors
/// `Unsupported` for a datatype without one, which the error names.
pub fn arrow_type(datatype: &Datatype) -> Result<DataType> {
    Ok(match datatype {
        Datatype::Integer { signed, bit_precision, .. } => integer(*signed, u64::from(*bit_precision))?,
        Datatype::Bitfield { size, .. } => integer(false, size.saturating_mul(8))?,
        Datatype::Time { encoding: TimeEncoding::SecondsAndMicroseconds, .. } => DataType::Float64,
        Datatype::Time { size, .. } => integer(true, size.saturating_mul(8))?,
        Datatype::Float { size, format, .. } => float(*size, format)?,
        Datatype::FixedString { .. } | Datatype::VariableString { .. } => DataType::Utf8,
        Datatype::Opaque { size, .. } => DataType::FixedSizeBinary(length(*size)?),
        Datatype::Reference { .. } => DataType::Utf8,
        Datatype::Enum { .. } if datatype.is_boolean() => DataType::Boolean,
        Datatype::Enum { base, .. } => {
            arrow_type(base)?;
            DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8))
        }
        Datatype::Compound { members, .. } => {
            DataType::Struct(members.iter().map(|m| Ok(field(&m.name, &m.datatype, arrow_type(&m.datatype)?))).collect::<Result<Fields>>()?)
        }
        Datatype::Sequence { base, .. } => DataType::List(Arc::new(field("item", base, arrow_type(base)?))),
        Datatype::Array { base, shape } => {
            let mut inner = arrow_type(base)?;
            for (depth, &extent) in shape.iter().rev().enumerate() {
                inner = DataType::FixedSizeList(Arc::new(array_item(base, inner, depth)), length(extent)?);
            }
            inner
        }
        Datatype::Unsupported { class, .. } => return Err(Error::unsupported(format!("datatype class {class}"))),
    })
}

/// The field of a column's part: what was never set is null, and what a reference means is in the metadata.
pub(super) fn field(name: &str, datatype: &Datatype, data_type: DataType) -> Field {
    let field = Field::new(name, data_type, matches!(datatype, Datatype::Reference { .. }));
    match reference_metadata(datatype) {
        Some((key, value)) => field.with_metadata(std::collections::HashMap::from([(key, value)])),
        None => field,
    }
}

/// The field of an array's items along its last dimension but `depth`.
pub(super) fn array_item(base: &Datatype, data_type: DataType, depth: usize) -> Field {
    if depth == 0 { field("item", base, data_type) } else { Field::new("item", data_type, false) }
}

/// What a column of references says of them in its field's metadata.
pub(super) fn reference_metadata(datatype: &Datatype) -> Option<(String, String)> {
    let Datatype::Reference { kind, .. } = datatype else { return None };
    let form = match kind {
        ReferenceKind::Object => "object: path",
        ReferenceKind::Region => "region: path[selection]",
        ReferenceKind::Standard => "object: path, region: path[selection], or attribute: path@name; in another file: file:path",
    };
    Some(("hdf5.reference".to_owned(), form.to_owned()))
}

fn integer(signed: bool, bits: u64) -> Result<DataType> {
    Ok(match (bits, signed) {
        (1..=8, true) => DataType::Int8,
        (1..=8, false) => DataType::UInt8,
        (9..=16, true) => DataType::Int16,
        (9..=16, false) => DataType::UInt16,
        (17..=32, true) => DataType::Int32,
        (17..=32, false) => DataType::UInt32,
        (33..=64, true) => DataType::Int64,
        (33..=64, false) => DataType::UInt64,
        _ => return Err(Error::unsupported(format!("an integer of {bits} bits in Arrow"))),
    })
}

fn float(size: u64, format: &FloatFormat) -> Result<DataType> {
    let FloatFormat::Custom(FloatLayout { exponent_size, mantissa_size, exponent_bias, mantissa, .. }) = *format else {
        return match size {
            2 => Ok(DataType::Float16),
            4 => Ok(DataType::Float32),
            8 => Ok(DataType::Float64),
            _ => Err(Error::unsupported(format!("an IEEE float of {size} bytes"))),
        };
    };
    // Only formats whose values are all exact in the Arrow type.
    let lowest = 1 - i64::from(exponent_bias) - i64::from(mantissa_size);
    let highest = (1i64 << exponent_size.min(32)) - 2 - i64::from(exponent_bias);
    match mantissa {
        Mantissa::Implied if mantissa_size <= 23 && exponent_size <= 8 && lowest >= -149 && highest <= 127 => Ok(DataType::Float32),
        Mantissa::Implied if mantissa_size <= 52 && exponent_size <= 11 && lowest >= -1074 && highest <= 1023 => Ok(DataType::Float64),
        _ => Err(Error::unsupported(format!("a float of {mantissa_size} mantissa bits and {exponent_size} exponent bits with bias {exponent_bias}"))),
    }
}

/// The datatype that stores an Arrow type (little endian).
///
/// # Errors
/// `Unsupported` for a type without one, which the error names.
pub fn datatype_of(data_type: &DataType) -> Result<Datatype> {
    let little = ByteOrder::Little;
    Ok(match data_type {
        DataType::Int8 => Datatype::integer(1, true, little),
        DataType::Int16 => Datatype::integer(2, true, little),
        DataType::Int32 => Datatype::integer(4, true, little),
        DataType::Int64 => Datatype::integer(8, true, little),
        DataType::UInt8 => Datatype::integer(1, false, little),
        DataType::UInt16 => Datatype::integer(2, false, little),
        DataType::UInt32 => Datatype::integer(4, false, little),
        DataType::UInt64 => Datatype::integer(8, false, little),
        DataType::Float16 => Datatype::float(2, little),
        DataType::Float32 => Datatype::float(4, little),
        DataType::Float64 => Datatype::float(8, little),
        DataType::Boolean => Datatype::Enum {
            base: Box::new(Datatype::integer(1, true, little)),
            members: [EnumMember { name: "FALSE".into(), value: 0 }, EnumMember { name: "TRUE".into(), value: 1 }].into(),
        },
        DataType::Utf8 | DataType::LargeUtf8 => {
            Datatype::VariableString { size: 16, padding: StringPadding::NullTerminated, character_set: CharacterSet::Utf8 }
        }
        DataType::FixedSizeBinary(size) => {
            Datatype::Opaque { size: u64::try_from(*size).map_err(|_| Error::invalid_input("a binary of negative size"))?, tag: String::new() }
        }
        DataType::List(item) => Datatype::Sequence { size: 16, base: Box::new(datatype_of(item.data_type())?) },
        DataType::FixedSizeList(item, extent) => {
            let extent = u64::try_from(*extent).map_err(|_| Error::invalid_input("a list of negative size"))?;
            match datatype_of(item.data_type())? {
                Datatype::Array { base, mut shape } => {
                    shape.insert(0, extent);
                    Datatype::Array { base, shape }
                }
                base => Datatype::Array { base: Box::new(base), shape: vec![extent] },
            }
        }
        DataType::Struct(fields) => {
            let (mut offset, mut members) = (0u64, Vec::with_capacity(fields.len()));
            for field in fields {
                let datatype = datatype_of(field.data_type())?;
                let size = datatype.size();
                members.push(Member { name: field.name().clone(), offset, datatype });
                offset = offset.checked_add(size).ok_or_else(|| Error::unsupported("a struct this large"))?;
            }
            Datatype::Compound { size: offset, members: members.into() }
        }
        other => return Err(Error::unsupported(format!("Arrow type {other} in HDF5"))),
    })
}
