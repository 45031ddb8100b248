//! Arrow values as plain data: constants and short coordinate lists in definitions of tables.

use arrow_array::{ArrayRef, RecordBatch};
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{Field, Schema};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::sync::Arc;

/// An Arrow array that is serialized with its type, as an Arrow IPC stream in base64. JSON has neither NaN nor all integers.
#[derive(Debug, Clone)]
#[expect(clippy::exhaustive_structs, reason = "a wrapper that only adds a serialization")]
pub struct Literal(pub ArrayRef);

fn to_text(values: &ArrayRef) -> Result<String, arrow_schema::ArrowError> {
    let schema = Arc::new(Schema::new(vec![Field::new("values", values.data_type().clone(), true)]));
    let mut writer = StreamWriter::try_new(Vec::new(), &schema)?;
    writer.write(&RecordBatch::try_new(schema, vec![values.clone()])?)?;
    Ok(STANDARD.encode(writer.into_inner()?))
}

fn of_text(text: &str) -> Result<ArrayRef, String> {
    let bytes = STANDARD.decode(text).map_err(|error| error.to_string())?;
    let mut reader = StreamReader::try_new(bytes.as_slice(), None).map_err(|error| error.to_string())?;
    let batch = reader.next().ok_or("a literal without values")?.map_err(|error| error.to_string())?;
    batch.columns().first().cloned().ok_or_else(|| "a literal without a column".to_owned())
}

impl Serialize for Literal {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        to_text(&self.0).map_err(serde::ser::Error::custom)?.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Literal {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        of_text(&String::deserialize(deserializer)?).map(Self).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{Float64Array, Int64Array, StringArray, UInt64Array};

    #[test]
    fn literals_survive_serialization_exactly() -> Result<(), Box<dyn std::error::Error>> {
        let floats: ArrayRef = Arc::new(Float64Array::from(vec![0.1 + 0.2, f64::MIN_POSITIVE, f64::INFINITY]));
        let nulls: ArrayRef = Arc::new(Int64Array::from(vec![None, Some(i64::MIN)]));
        let texts: ArrayRef = Arc::new(StringArray::from(vec!["a\u{0}b", "ü"]));
        let large: ArrayRef = Arc::new(UInt64Array::from(vec![u64::MAX]));
        for values in [floats, nulls, texts, large] {
            let json = serde_json::to_string(&Literal(values.clone()))?;
            assert_eq!(serde_json::from_str::<Literal>(&json)?.0.as_ref(), values.as_ref());
        }
        assert!(serde_json::from_str::<Literal>("\"AAAA\"").is_err());
        Ok(())
    }
}
