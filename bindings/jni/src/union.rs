//! Union: merges the columns of files into the columns of one table.

use arrow_schema::{DataType, Field, Schema};
use hyperslab::{Error, Result};

use crate::request::Nonconforming;
use crate::spark_type::{SPARK_TYPE, time_of_spark};

/// Merges the schemas of files, given with their paths. If files may differ, a column gets the narrowest type that holds the
/// values of every file, and can be null if a file lacks it. Otherwise `InvalidInput` names two files that differ.
pub(crate) fn union<'a>(files: impl IntoIterator<Item = (&'a str, &'a Schema)>, nonconforming: Nonconforming) -> Result<Schema> {
    let mut files = files.into_iter();
    let Some((first_file, first)) = files.next() else { return Ok(Schema::empty()) };
    // Each column with the first file that has it.
    let mut fields: Vec<(Field, &str)> = first.fields().iter().map(|f| (f.as_ref().clone(), first_file)).collect();
    for (file, schema) in files {
        for field in schema.fields() {
            match fields.iter_mut().find(|(merged, _)| merged.name() == field.name()) {
                Some((merged, merged_file)) => {
                    let nullable = merged.is_nullable() || field.is_nullable();
                    let data_type = common(merged.data_type(), field.data_type(), nonconforming).map_err(|reason| {
                        Error::invalid_input(format!(
                            "{merged_file} and {file} do not form one table: column {:?} is {} in the first and {} in the second; {reason}",
                            field.name(),
                            merged.data_type(),
                            field.data_type()
                        ))
                    })?;
                    if time_of_spark(merged) != time_of_spark(field) {
                        // Dates in one file and times in another become times.
                        merged.metadata_mut().remove(SPARK_TYPE);
                    }
                    *merged = merged.clone().with_data_type(data_type).with_nullable(nullable);
                }
                None if nonconforming != Nonconforming::Error => fields.push((field.as_ref().clone().with_nullable(true), file)),
                None => return Err(missing(field.name(), file, first_file)),
            }
        }
        for (merged, merged_file) in &mut fields {
            if schema.field_with_name(merged.name()).is_err() {
                if nonconforming == Nonconforming::Error {
                    return Err(missing(merged.name(), merged_file, file));
                }
                *merged = merged.clone().with_nullable(true);
            }
        }
    }
    Ok(Schema::new(fields.into_iter().map(|(field, _)| field).collect::<Vec<_>>()))
}

fn missing(column: &str, with: &str, without: &str) -> Error {
    Error::invalid_input(format!(
        "{with} and {without} do not form one table: only the first has column {column:?}; set option nonconforming=null to read nulls instead"
    ))
}

/// The common type of two columns, or the reason why there is none and what to do.
fn common(a: &DataType, b: &DataType, nonconforming: Nonconforming) -> Result<DataType, &'static str> {
    if a == b {
        return Ok(a.clone());
    }
    match (wider(a, b), nonconforming) {
        (Some(wider), Nonconforming::Null) => Ok(wider),
        (Some(_), Nonconforming::Merge) => Err("option mergeSchema keeps types; set option nonconforming=null instead to convert to a type that holds both"),
        (Some(_), Nonconforming::Error) => Err("set option nonconforming=null to convert to a type that holds both"),
        (None, _) => Err("no type holds the values of both"),
    }
}

/// The Arrow type of the narrowest Spark type that holds every value of both types.
fn wider(a: &DataType, b: &DataType) -> Option<DataType> {
    if a == b {
        return Some(a.clone());
    }
    match (a, b) {
        (DataType::FixedSizeList(x, n), DataType::FixedSizeList(y, m)) if n == m => Some(DataType::FixedSizeList(item(x, y)?.into(), *n)),
        (DataType::List(x) | DataType::FixedSizeList(x, _), DataType::List(y) | DataType::FixedSizeList(y, _)) => Some(DataType::List(item(x, y)?.into())),
        _ if is_text(a) && is_text(b) => Some(DataType::Utf8),
        _ if is_bytes(a) && is_bytes(b) => Some(DataType::Binary),
        _ => {
            let (a, b) = (Number::of(a)?, Number::of(b)?);
            match (a, b) {
                (Number::Integer(x), Number::Integer(y)) => Some(Number::Integer(x.max(y))),
                (Number::Float(x), Number::Float(y)) => Some(Number::Float(x.max(y))),
                // A float holds integers exactly if they have fewer bits than its significand.
                (Number::Integer(bits), Number::Float(float)) | (Number::Float(float), Number::Integer(bits)) => match bits {
                    ..=16 => Some(Number::Float(float)),
                    17..=32 => Some(Number::Float(64)),
                    _ => None,
                },
            }
            .map(Number::data_type)
        }
    }
}

fn item(a: &Field, b: &Field) -> Option<Field> {
    Some(a.clone().with_data_type(wider(a.data_type(), b.data_type())?).with_nullable(a.is_nullable() || b.is_nullable()))
}

fn is_text(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Utf8) || matches!(data_type, DataType::Dictionary(_, value) if **value == DataType::Utf8)
}

fn is_bytes(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Binary | DataType::FixedSizeBinary(_))
}

/// A numeric type by the width in bits of its Spark type; 65 for unsigned 64-bit integers, which are decimals.
#[derive(Debug, Clone, Copy)]
enum Number {
    Integer(u8),
    Float(u8),
}

impl Number {
    fn of(data_type: &DataType) -> Option<Self> {
        Some(match data_type {
            DataType::Int8 => Self::Integer(8),
            DataType::Int16 | DataType::UInt8 => Self::Integer(16),
            DataType::Int32 | DataType::UInt16 => Self::Integer(32),
            DataType::Int64 | DataType::UInt32 => Self::Integer(64),
            DataType::UInt64 => Self::Integer(65),
            DataType::Float16 | DataType::Float32 => Self::Float(32),
            DataType::Float64 => Self::Float(64),
            _ => return None,
        })
    }

    fn data_type(self) -> DataType {
        match self {
            Self::Integer(8) => DataType::Int8,
            Self::Integer(16) => DataType::Int16,
            Self::Integer(32) => DataType::Int32,
            Self::Integer(64) => DataType::Int64,
            Self::Integer(_) => DataType::UInt64,
            Self::Float(32) => DataType::Float32,
            Self::Float(_) => DataType::Float64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_widened_only_if_lossless() {
        use DataType::{Boolean, Float16, Float32, Float64, Int8, Int16, Int32, Int64, UInt8, UInt16, UInt32, UInt64, Utf8};
        for (a, b, both) in [
            (Float32, Float64, Some(Float64)),
            (Int32, Int64, Some(Int64)),
            (Int8, UInt8, Some(Int16)),
            (UInt32, Int32, Some(Int64)),
            (UInt64, Int64, Some(UInt64)),
            (UInt64, Int8, Some(UInt64)),
            (Int16, Float32, Some(Float32)),
            (UInt8, Float16, Some(Float32)),
            (Int32, Float32, Some(Float64)),
            (UInt16, Float64, Some(Float64)),
            (Int64, Float64, None),
            (UInt32, Float64, None),
            (UInt64, Float32, None),
            (Boolean, Int8, None),
            (Utf8, Int32, None),
            (Float16, Float32, Some(Float32)),
        ] {
            assert_eq!(wider(&a, &b), both, "{a} {b}");
            assert_eq!(wider(&b, &a), both, "{b} {a}");
        }
        let list = |item: DataType, n| DataType::FixedSizeList(Field::new("item", item, true).into(), n);
        assert_eq!(wider(&list(Float32, 3), &list(Float64, 3)), Some(list(Float64, 3)));
        assert_eq!(wider(&list(Float32, 3), &list(Float32, 2)), Some(DataType::List(Field::new("item", Float32, true).into())));
    }
}
