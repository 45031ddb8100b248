//! Write request: parses the JSON request for the datasets of a Spark write.

use std::sync::Arc;

use arrow_schema::DataType;
use hyperslab::columns::datatype_of;
use hyperslab::filter::{Filter, Pipeline};
use hyperslab::write::{AttributeValue, DatasetDefinition, Extent, Task};
use hyperslab::{Dataspace, Datatype, Elements, Error, HeapObjects, HeapReference, Result};
use serde::Deserialize;
use serde_json::Value;

use crate::spark_type::SPARK_TYPE;
use crate::written_type::{compound, datatype, units};

/// Default size of a chunk, in bytes.
const CHUNK_BYTES: u64 = 1 << 20;

/// Name of the attribute with the time zone of instants, the same as in `write_table` of Python.
const TIME_ZONE: &str = "time_zone";

/// Attributes of columns that still apply to the written values.
const COPIED_ATTRIBUTES: [&str; 4] = ["long_name", "standard_name", "units", "description"];

/// Whether columns become datasets of a group, or rows become elements of one compound dataset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Layout {
    Columns,
    Records,
}

/// A table to write.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct WriteRequest {
    dataset: String,
    layout: Option<Layout>,
    /// A `StructType` in Spark's JSON.
    schema: Value,
    compression: Option<String>,
    level: Option<u32>,
    #[serde(default)]
    shuffle: bool,
    chunk_rows: Option<u64>,
}

/// Where the columns of a table are stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Place {
    /// In one dataset of this path: a single column, or records.
    Dataset(String),
    /// In datasets of the group of this path, which is empty for the root.
    Group(String),
}

/// A dataset to create.
#[derive(Debug, Clone)]
pub(crate) struct Written {
    pub path: String,
    pub definition: DatasetDefinition,
    attributes: Vec<(String, String)>,
}

impl WriteRequest {
    pub fn parse(json: &str) -> Result<Self> {
        serde_json::from_str(json).map_err(|e| Error::invalid_input(format!("invalid write request: {e}")))
    }

    fn fields(&self) -> &[Value] {
        self.schema.get("fields").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
    }

    /// The names of the columns, in order.
    pub fn names(&self) -> Vec<String> {
        self.fields().iter().map(|field| field.get("name").and_then(Value::as_str).unwrap_or_default().to_owned()).collect()
    }

    /// Whether rows become elements of one compound dataset.
    pub fn is_records(&self) -> bool {
        self.layout == Some(Layout::Records)
    }

    /// Where the columns are stored.
    pub fn place(&self) -> Place {
        let path = self.dataset.trim_matches('/');
        match (self.layout, self.fields().len()) {
            (Some(Layout::Records), _) => Place::Dataset(if path.is_empty() { "table" } else { path }.to_owned()),
            (None, 1) if !path.is_empty() => Place::Dataset(path.to_owned()),
            _ => Place::Group(path.to_owned()),
        }
    }

    /// The datasets in the order of the columns. In the records layout, a single dataset with all columns as members.
    pub fn datasets(&self) -> Result<Vec<Written>> {
        let fields = self.fields();
        if fields.is_empty() {
            return Err(Error::invalid_input("the table has no columns"));
        }
        let path = match (self.place(), fields) {
            (Place::Dataset(path), _) if self.is_records() => return Ok(vec![self.written(path, compound(fields)?, Vec::new())?]),
            (Place::Dataset(path), [only, ..]) => return Ok(vec![self.column(path, only)?]),
            (Place::Dataset(path) | Place::Group(path), _) => path,
        };
        let columns = fields.iter().map(|field| {
            let name = field.get("name").and_then(Value::as_str).unwrap_or_default();
            if name.is_empty() || name.contains('/') || name == "." {
                return Err(Error::invalid_input(format!("column {name:?} cannot be a dataset: its name must not be empty, \".\" or contain \"/\"")));
            }
            self.column(if path.is_empty() { name.to_owned() } else { format!("{path}/{name}") }, field)
        });
        columns.collect()
    }

    fn column(&self, path: String, field: &Value) -> Result<Written> {
        let spark_type = field.get("type").unwrap_or(&Value::Null);
        let datatype = datatype(spark_type).map_err(|error| Error::new(error.kind(), format!("column {path:?}: {}", error.message())))?;
        let mut attributes: Vec<(String, String)> = Vec::new();
        if let Some(units) = units(spark_type) {
            attributes.push(("units".to_owned(), units.to_owned()));
            attributes.push(("calendar".to_owned(), "proleptic_gregorian".to_owned()));
        }
        if let Some(name @ ("date" | "timestamp")) = spark_type.as_str() {
            // Other readers see times without a zone; Spark restores the type from this attribute.
            attributes.push((SPARK_TYPE.to_owned(), name.to_owned()));
            if name == "timestamp" {
                attributes.push((TIME_ZONE.to_owned(), "UTC".to_owned()));
            }
        }
        for name in COPIED_ATTRIBUTES {
            let text = field.get("metadata").and_then(|metadata| metadata.get(name)).and_then(Value::as_str);
            // Metadata of columns that Hyperslab read is JSON, with quotes.
            let text = text.map(|text| serde_json::from_str(text).unwrap_or_else(|_| text.to_owned()));
            if let Some(text) = text.filter(|text: &String| !text.is_empty() && !attributes.iter().any(|(existing, _)| existing == name)) {
                attributes.push((name.to_owned(), text));
            }
        }
        self.written(path, datatype, attributes)
    }

    fn written(&self, path: String, datatype: Datatype, attributes: Vec<(String, String)>) -> Result<Written> {
        let rows = self.chunk_rows.unwrap_or_else(|| CHUNK_BYTES / datatype.size().max(1)).max(1);
        let dataspace = Dataspace::Simple { shape: vec![0], max_shape: vec![None] };
        let definition = DatasetDefinition::new(datatype, dataspace).with_chunk_shape(Some(vec![rows])).with_filters(self.filters()?);
        Ok(Written { path, definition, attributes })
    }

    fn filters(&self) -> Result<Pipeline> {
        let filter = |id: u16, name: Option<&str>, parameters: Vec<u32>| Filter { id, name: name.map(str::to_owned), optional: true, parameters };
        let mut filters = Vec::new();
        if self.shuffle {
            filters.push(filter(2, None, Vec::new()));
        }
        match self.compression.as_deref() {
            None | Some("none") => {
                if self.level.is_some() {
                    return Err(Error::invalid_input("option level requires option compression"));
                }
            }
            Some("gzip") => filters.push(filter(1, None, vec![self.level.unwrap_or(4)])),
            Some("zstd") => filters.push(filter(32015, Some("zstd"), vec![self.level.unwrap_or(3)])),
            Some("lz4") if self.level.is_none() => filters.push(filter(32004, Some("lz4"), Vec::new())),
            Some("lz4") => return Err(Error::invalid_input("compression lz4 does not have option level")),
            Some(other) => return Err(Error::unsupported(format!("compression {other:?} is not supported: use gzip, zstd, lz4 or none"))),
        }
        if let Some(compression) = filters.last() {
            // Reports an invalid level on the driver, before tasks begin.
            Pipeline { filters: vec![compression.clone()] }.encode(vec![0; 64])?;
        }
        Ok(Pipeline { filters })
    }
}

impl Written {
    /// Names and values of the attributes.
    pub fn attributes(&self) -> impl Iterator<Item = (&str, &str)> {
        self.attributes.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Creates the dataset in a task, which then writes its rows.
    pub fn define(&self, task: &mut Task) -> Result<()> {
        task.create_dataset(&self.path, self.definition.clone(), Extent::Rows)?;
        self.attributes.iter().try_for_each(|(name, value)| task.set_attribute(&self.path, name, text(value)?))
    }
}

/// A variable-length string attribute, as h5py writes a `str`.
fn text(value: &str) -> Result<AttributeValue> {
    let reference = HeapReference { address: 1, index: 1 };
    let length = u32::try_from(value.len()).map_err(|_| Error::unsupported("the value of an attribute exceeds 4 GiB"))?;
    let bytes = [length.to_le_bytes().as_slice(), &reference.address.to_le_bytes(), &reference.index.to_le_bytes()].concat();
    let mut heap = HeapObjects::default();
    heap.insert(reference, Arc::from(value.as_bytes()));
    let value = Elements { datatype: datatype_of(&DataType::Utf8)?, bytes, heap };
    Ok(AttributeValue::new(Dataspace::Scalar, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(json: &str) -> Result<Vec<String>> {
        Ok(WriteRequest::parse(json)?.datasets()?.into_iter().map(|written| written.path).collect())
    }

    #[test]
    fn columns_become_datasets_and_a_single_column_the_dataset() -> Result<()> {
        let two = r#""schema": {"fields": [{"name": "a", "type": "long"}, {"name": "b", "type": "string"}]}"#;
        let one = r#""schema": {"fields": [{"name": "a", "type": "long"}]}"#;
        assert_eq!(paths(&format!(r#"{{"dataset": "/g", {two}}}"#))?, ["g/a", "g/b"]);
        assert_eq!(paths(&format!(r#"{{"dataset": "/", {two}}}"#))?, ["a", "b"]);
        assert_eq!(paths(&format!(r#"{{"dataset": "/g/t", {one}}}"#))?, ["g/t"]);
        assert_eq!(paths(&format!(r#"{{"dataset": "/g", "layout": "columns", {one}}}"#))?, ["g/a"]);
        assert_eq!(paths(&format!(r#"{{"dataset": "/g", "layout": "records", {two}}}"#))?, ["g"]);
        Ok(())
    }

    #[test]
    fn unknown_compression_is_an_error() -> Result<()> {
        let ask = |more: &str| {
            let json = format!(r#"{{"dataset": "/x", "schema": {{"fields": [{{"name": "a", "type": "long"}}]}}, {more}}}"#);
            Ok::<_, Error>(WriteRequest::parse(&json)?.datasets()?.remove(0).definition.filters.filters.len())
        };
        assert_eq!(ask(r#""compression": "gzip", "shuffle": true"#)?, 2);
        assert!(ask(r#""compression": "gzip", "level": 99"#).is_err_and(|error| error.to_string().contains("0 to 9")));
        assert!(ask(r#""compression": "zstd", "level": 99"#).is_err());
        assert!(ask(r#""compression": "brotli""#).is_err() && ask(r#""level": 3"#).is_err() && ask(r#""compresion": "gzip""#).is_err());
        Ok(())
    }
}
