//! Spark type: converts an Arrow schema to Spark's JSON of a `StructType`.

use std::collections::BTreeMap;

use arrow_schema::{DataType, Field, Schema, TimeUnit};
use hyperslab::{Error, Result};
use serde_json::{Map, Value, json};

/// Converts a schema to the JSON that Spark's `DataType.fromJson` reads. Attributes become metadata of the fields;
/// `long_name` and `units` become the comment that `DESCRIBE` shows.
pub(crate) fn struct_type(schema: &Schema) -> Result<Value> {
    let fields = schema.fields().iter().map(|f| field(f)).collect::<Result<Vec<_>>>()?;
    Ok(json!({"type": "struct", "fields": fields}))
}

/// Maximum bytes of the name and value of an attribute in a schema, which Spark sends with each plan.
const MAX_ATTRIBUTE_BYTES: usize = 4096;

/// Metadata key with the names of the attributes that are larger.
const OMITTED: &str = "hyperslab.omitted_attributes";

/// Maximum number of characters of such a name.
const MAX_NAME_CHARS: usize = 256;

/// Name of the attribute with the Spark type of a column that was written as counts with units.
pub(crate) const SPARK_TYPE: &str = "spark_type";

/// The type that a column of times had in Spark, `date` or `timestamp`. Its values are in UTC, as Hyperslab's times are.
pub(crate) fn time_of_spark(field: &Field) -> Option<&'static str> {
    let attribute = |name: &str| field.metadata().get(name).map(String::as_str);
    if *field.data_type() != DataType::Timestamp(TimeUnit::Microsecond, None) {
        return None;
    }
    match (attribute(SPARK_TYPE), attribute("units")) {
        (Some("timestamp"), _) => Some("timestamp"),
        (Some("date"), Some(units)) if units.starts_with("days since") => Some("date"),
        _ => None,
    }
}

fn field(field: &Field) -> Result<Value> {
    if let Some(name) = time_of_spark(field) {
        return Ok(described(field, json!(name)));
    }
    let data_type = data_type(field.data_type()).map_err(|error| Error::unsupported(format!("column {:?}: {}", field.name(), error.message())))?;
    Ok(described(field, data_type))
}

fn described(field: &Field, data_type: Value) -> Value {
    let (kept, omitted): (BTreeMap<_, _>, BTreeMap<_, _>) = field.metadata().iter().partition(|(name, value)| name.len() + value.len() <= MAX_ATTRIBUTE_BYTES);
    let mut metadata: Map<String, Value> = kept.iter().map(|(k, v)| ((*k).clone(), json!(v))).collect();
    if let Some(comment) = comment(&kept) {
        metadata.insert("comment".to_owned(), json!(comment));
    }
    if !omitted.is_empty() {
        let names: Vec<&str> = omitted.keys().map(|name| shortened(name)).collect();
        metadata.insert(OMITTED.to_owned(), json!(names));
    }
    json!({"name": field.name(), "type": data_type, "nullable": field.is_nullable(), "metadata": metadata})
}

/// The beginning of a name that may be long.
fn shortened(name: &str) -> &str {
    name.char_indices().nth(MAX_NAME_CHARS).map_or(name, |(end, _)| name.get(..end).unwrap_or(name))
}

fn comment(metadata: &BTreeMap<&String, &String>) -> Option<String> {
    // Values are JSON, so strings have quotes.
    let plain = |name: &str| metadata.get(&name.to_owned()).map(|text| serde_json::from_str(text).unwrap_or_else(|_| (*text).clone()));
    match (plain("long_name"), plain("units")) {
        (Some(name), Some(units)) => Some(format!("{name} [{units}]")),
        (Some(name), None) => Some(name),
        (None, Some(units)) => Some(format!("[{units}]")),
        (None, None) => None,
    }
}

/// Converts a type. Spark has no unsigned types and no 16-bit floats, so these become the next wider type.
fn data_type(data_type: &DataType) -> Result<Value> {
    Ok(match data_type {
        DataType::Boolean => json!("boolean"),
        DataType::Int8 => json!("byte"),
        DataType::Int16 | DataType::UInt8 => json!("short"),
        DataType::Int32 | DataType::UInt16 => json!("integer"),
        DataType::Int64 | DataType::UInt32 => json!("long"),
        DataType::UInt64 => json!("decimal(20,0)"),
        DataType::Float16 | DataType::Float32 => json!("float"),
        DataType::Float64 => json!("double"),
        DataType::Utf8 => json!("string"),
        DataType::Dictionary(key, value) if **key == DataType::Int32 && **value == DataType::Utf8 => json!("string"),
        DataType::Binary | DataType::FixedSizeBinary(_) => json!("binary"),
        DataType::Timestamp(TimeUnit::Microsecond, None) => json!("timestamp_ntz"),
        DataType::List(item) | DataType::FixedSizeList(item, _) => json!({
            "type": "array",
            "elementType": self::data_type(item.data_type())?,
            "containsNull": item.is_nullable(),
        }),
        DataType::Struct(fields) => {
            let fields = fields.iter().map(|f| field(f)).collect::<Result<Vec<_>>>()?;
            json!({"type": "struct", "fields": fields})
        }
        other => return Err(Error::unsupported(format!("Arrow type {other} has no Spark type"))),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    #[test]
    fn unsigned_types_become_types_that_hold_all_values() -> Result<()> {
        let types = [DataType::UInt8, DataType::UInt16, DataType::UInt32, DataType::UInt64].map(|t| data_type(&t).ok());
        assert_eq!(types, ["short", "integer", "long", "decimal(20,0)"].map(|t| Some(json!(t))));
        Ok(())
    }

    #[test]
    fn a_schema_has_small_attributes_and_the_names_of_the_others() -> Result<()> {
        let texts = [("units".to_owned(), "\"K\"".to_owned()), ("long_name".to_owned(), "x".repeat(5000)), ("é".repeat(5000), "1".to_owned())];
        let field = Field::new("t", DataType::Int8, false).with_metadata(HashMap::from(texts));
        let found = struct_type(&Schema::new(vec![field]))?;
        let wanted = json!({"units": "\"K\"", "comment": "[K]", "hyperslab.omitted_attributes": ["long_name", "é".repeat(256)]});
        assert_eq!(found.pointer("/fields/0/metadata"), Some(&wanted));
        Ok(())
    }

    #[test]
    fn a_type_without_spark_type_is_an_error_with_the_column() {
        let schema = Schema::new(vec![Field::new("d", DataType::Duration(TimeUnit::Second), false)]);
        let message = struct_type(&schema).map_err(|e| e.to_string());
        assert!(message.is_err_and(|text| text.contains("column \"d\"") && text.contains("Unsupported")));
    }
}
