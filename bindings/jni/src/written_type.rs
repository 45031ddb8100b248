//! Written type: converts a Spark type, in Spark's JSON, to the datatype that stores it.

use arrow_schema::DataType;
use hyperslab::columns::datatype_of;
use hyperslab::{ByteOrder, Datatype, Error, Member, Result};
use serde_json::Value;

/// Size in bytes of a variable-length element: length, address, index.
const REFERENCE_BYTES: u64 = 16;

/// The CF attribute `units` of a type of times; `None` for other types.
pub(crate) fn units(spark_type: &Value) -> Option<&'static str> {
    match spark_type.as_str() {
        Some("timestamp" | "timestamp_ntz") => Some("microseconds since 1970-01-01 00:00:00"),
        Some("date") => Some("days since 1970-01-01 00:00:00"),
        _ => None,
    }
}

/// The datatype of a column of this type. Elements are packed and little endian, and variable-length values are references;
/// `Encoder.java` must encode them the same way. `Unsupported` for types that HDF5 cannot store.
pub(crate) fn datatype(spark_type: &Value) -> Result<Datatype> {
    if let Some(bytes) = units(spark_type).map(|units| if units.starts_with("days") { 4 } else { 8 }) {
        return Ok(Datatype::integer(bytes, true, ByteOrder::Little));
    }
    of_value(spark_type)
}

fn of_value(spark_type: &Value) -> Result<Datatype> {
    let sequence = |base: Datatype| Datatype::Sequence { size: REFERENCE_BYTES, base: Box::new(base) };
    let plain = |arrow: DataType| datatype_of(&arrow);
    match spark_type {
        Value::String(name) => match name.as_str() {
            "boolean" => plain(DataType::Boolean),
            "byte" => plain(DataType::Int8),
            "short" => plain(DataType::Int16),
            "integer" => plain(DataType::Int32),
            "long" => plain(DataType::Int64),
            "float" => plain(DataType::Float32),
            "double" => plain(DataType::Float64),
            "string" => plain(DataType::Utf8),
            // The type in which unsigned 64-bit integers are read.
            "decimal(20,0)" => plain(DataType::UInt64),
            "binary" => Ok(sequence(plain(DataType::UInt8)?)),
            "date" | "timestamp" | "timestamp_ntz" => {
                Err(Error::unsupported(format!("a {name} within an array, a struct or a record cannot be stored: HDF5 has no attribute for its units there")))
            }
            other => Err(Error::unsupported(format!("Spark type {other} cannot be stored in HDF5"))),
        },
        Value::Object(object) => match object.get("type").and_then(Value::as_str) {
            Some("array") => Ok(sequence(of_value(object.get("elementType").unwrap_or(&Value::Null))?)),
            Some("struct") => compound(object.get("fields").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()),
            other => Err(Error::unsupported(format!("Spark type {} cannot be stored in HDF5", other.unwrap_or("without a name")))),
        },
        other => Err(Error::invalid_input(format!("{other} is not a Spark type"))),
    }
}

/// A packed compound of the fields of a struct.
pub(crate) fn compound(fields: &[Value]) -> Result<Datatype> {
    let (mut offset, mut members) = (0u64, Vec::with_capacity(fields.len()));
    for field in fields {
        let name = field.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
        let datatype =
            of_value(field.get("type").unwrap_or(&Value::Null)).map_err(|error| Error::new(error.kind(), format!("member {name:?}: {}", error.message())))?;
        let size = datatype.size();
        members.push(Member { name, offset, datatype });
        offset = offset.checked_add(size).ok_or_else(|| Error::unsupported("a struct exceeds 2^64 bytes"))?;
    }
    if members.is_empty() {
        return Err(Error::unsupported("a struct without members cannot be stored in HDF5"));
    }
    Ok(Datatype::Compound { size: offset, members: members.into() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn elements_are_packed() -> Result<()> {
        let struct_type = json!({"type": "struct", "fields": [
            {"name": "a", "type": "byte"}, {"name": "b", "type": "double"},
            {"name": "c", "type": {"type": "array", "elementType": "string", "containsNull": false}},
        ]});
        let Datatype::Compound { size, members } = datatype(&struct_type)? else { return Err(Error::internal("no compound")) };
        assert_eq!((size, members.iter().map(|m| m.offset).collect::<Vec<_>>()), (25, vec![0, 1, 9]));
        assert_eq!((datatype(&json!("date"))?.size(), datatype(&json!("timestamp"))?.size()), (4, 8));
        Ok(())
    }

    #[test]
    fn unsupported_types_are_errors_by_name() {
        for (spark_type, word) in [
            (json!("decimal(10,2)"), "decimal(10,2)"),
            (json!("void"), "void"),
            (json!({"type": "map", "keyType": "string", "valueType": "long"}), "map"),
            (json!({"type": "array", "elementType": "date"}), "date within"),
            (json!({"type": "struct", "fields": []}), "without members"),
        ] {
            assert!(datatype(&spark_type).is_err_and(|error| error.to_string().contains(word)), "{spark_type}");
        }
    }
}
