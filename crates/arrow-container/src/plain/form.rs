//! Maps Arrow types to HDF5 datatypes.

use arrow_schema::{DataType, Field, IntervalUnit, TimeUnit};

/// Maximum nesting depth of types.
const DEPTH: usize = 32;
/// Maximum number of members of a compound, which HDF5 stores in two bytes.
pub(super) const MAX_MEMBERS: usize = 65_535;
/// Maximum size of an element, which HDF5 stores in four bytes.
const MAX_ELEMENT_BYTES: usize = 1 << 31;

/// The HDF5 datatype of a value.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Form {
    Integer {
        bytes: usize,
        signed: bool,
    },
    Float {
        bytes: usize,
    },
    /// An enumeration of FALSE and TRUE; with nulls also NULL.
    Flag {
        nulls: bool,
    },
    /// Opaque bytes without a tag: HDF5 converts only between equal tags, and h5py sets none.
    Opaque {
        bytes: usize,
    },
    /// A variable-length UTF-8 string.
    Text,
    /// A variable-length sequence of bytes.
    Bytes,
    /// A variable-length sequence.
    List(Box<Form>),
    /// A fixed-size array.
    Array(usize, Box<Form>),
    Struct(Vec<(String, Form)>),
}

impl Form {
    /// The form of an Arrow type, or the reason why there is none. `nulls`: whether the values may contain nulls.
    pub(super) fn of(data_type: &DataType, nulls: bool) -> Result<Self, String> {
        let form = Self::at_depth(data_type, nulls, 0)?;
        if form.memory_bytes() < MAX_ELEMENT_BYTES { Ok(form) } else { Err(format!("{data_type}: elements exceed HDF5's limit of 2 GiB")) }
    }

    /// The size of a value in a program's memory: strings are pointers, sequences are a length and a pointer.
    pub(super) fn memory_bytes(&self) -> usize {
        match self {
            Self::Integer { bytes, .. } | Self::Float { bytes } | Self::Opaque { bytes } => *bytes,
            Self::Flag { .. } => 1,
            Self::Text => 8,
            Self::Bytes | Self::List(_) => 16,
            Self::Array(count, element) => count * element.memory_bytes(),
            Self::Struct(members) => members.iter().map(|(_, member)| member.memory_bytes()).sum(),
        }
    }

    fn at_depth(data_type: &DataType, nulls: bool, depth: usize) -> Result<Self, String> {
        if depth > DEPTH {
            return Err("types are nested more than 32 levels deep".to_owned());
        }
        let below = |field: &Field| Self::at_depth(field.data_type(), nulls, depth + 1);
        let integer = |bytes, signed| Ok(Self::Integer { bytes, signed });
        let opaque = |bytes: i32| match usize::try_from(bytes) {
            Ok(bytes) if bytes > 0 => Ok(Self::Opaque { bytes }),
            _ => Err(format!("{data_type}: elements have zero bytes")),
        };
        match data_type {
            DataType::Int8 => integer(1, true),
            DataType::Int16 => integer(2, true),
            DataType::Int32 | DataType::Date32 | DataType::Time32(_) | DataType::Interval(IntervalUnit::YearMonth) => integer(4, true),
            DataType::Int64 | DataType::Date64 | DataType::Time64(_) | DataType::Timestamp(..) | DataType::Duration(_) => integer(8, true),
            DataType::UInt8 => integer(1, false),
            DataType::UInt16 => integer(2, false),
            DataType::UInt32 => integer(4, false),
            DataType::UInt64 => integer(8, false),
            DataType::Float16 => Ok(Self::Float { bytes: 2 }),
            DataType::Float32 => Ok(Self::Float { bytes: 4 }),
            DataType::Float64 => Ok(Self::Float { bytes: 8 }),
            DataType::Boolean => Ok(Self::Flag { nulls }),
            DataType::FixedSizeBinary(bytes) => opaque(*bytes),
            DataType::Interval(IntervalUnit::DayTime) => opaque(8),
            DataType::Interval(IntervalUnit::MonthDayNano) => opaque(16),
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Ok(Self::Text),
            DataType::Decimal32(..) | DataType::Decimal64(..) | DataType::Decimal128(..) | DataType::Decimal256(..) => Ok(Self::Text),
            DataType::Binary | DataType::LargeBinary | DataType::BinaryView => Ok(Self::Bytes),
            DataType::List(field) | DataType::LargeList(field) | DataType::Map(field, _) => Ok(Self::List(Box::new(below(field)?))),
            DataType::FixedSizeList(field, count) => match usize::try_from(*count) {
                Ok(count) if count > 0 => Ok(Self::Array(count, Box::new(below(field)?))),
                _ => Err(format!("{data_type}: lists have zero elements")),
            },
            DataType::Struct(fields) if fields.is_empty() || fields.len() > MAX_MEMBERS => {
                Err(format!("a struct has {} fields; HDF5 allows 1 to 65535", fields.len()))
            }
            DataType::Struct(fields) => {
                let mut members: Vec<(String, Self)> = Vec::with_capacity(fields.len());
                for field in fields {
                    if field.name().is_empty() || field.name().contains('\0') || members.iter().any(|(name, _)| name == field.name()) {
                        return Err(format!("a struct has a field '{}', which is empty, duplicate or contains a zero byte", field.name()));
                    }
                    members.push((field.name().clone(), below(field)?));
                }
                Ok(Self::Struct(members))
            }
            // A dictionary stands for its values.
            DataType::Dictionary(_, values) => Self::at_depth(values, nulls, depth + 1),
            other => Err(other.to_string()),
        }
    }

    /// The value that replaces a null: netCDF's fill value for integers, NaN for floats.
    pub(super) fn stand_in(&self) -> Option<Vec<u8>> {
        Some(match self {
            Self::Integer { bytes: 1, signed: true } => (-127i8).to_le_bytes().to_vec(),
            Self::Integer { bytes: 1, signed: false } => vec![u8::MAX],
            Self::Integer { bytes: 2, signed: true } => (-32_767i16).to_le_bytes().to_vec(),
            Self::Integer { bytes: 2, signed: false } => u16::MAX.to_le_bytes().to_vec(),
            Self::Integer { bytes: 4, signed: true } => (-2_147_483_647i32).to_le_bytes().to_vec(),
            Self::Integer { bytes: 4, signed: false } => u32::MAX.to_le_bytes().to_vec(),
            Self::Integer { signed: true, .. } => (-9_223_372_036_854_775_806i64).to_le_bytes().to_vec(),
            Self::Integer { .. } => 18_446_744_073_709_551_614u64.to_le_bytes().to_vec(),
            Self::Float { bytes: 2 } => 0x7e00u16.to_le_bytes().to_vec(),
            Self::Float { bytes: 4 } => f32::NAN.to_le_bytes().to_vec(),
            Self::Float { .. } => f64::NAN.to_le_bytes().to_vec(),
            _ => return None,
        })
    }
}

/// The units of a temporal type, as in the CF conventions.
pub(super) fn units(data_type: &DataType) -> Option<String> {
    let word = |unit: &TimeUnit| match unit {
        TimeUnit::Second => "seconds",
        TimeUnit::Millisecond => "milliseconds",
        TimeUnit::Microsecond => "microseconds",
        TimeUnit::Nanosecond => "nanoseconds",
    };
    Some(match data_type {
        DataType::Timestamp(unit, _) => format!("{} since 1970-01-01 00:00:00", word(unit)),
        DataType::Date32 => "days since 1970-01-01".to_owned(),
        DataType::Date64 => "milliseconds since 1970-01-01".to_owned(),
        DataType::Time32(unit) | DataType::Time64(unit) | DataType::Duration(unit) => word(unit).to_owned(),
        DataType::Interval(IntervalUnit::YearMonth) => "months".to_owned(),
        _ => return None,
    })
}
