//! Metadata of an array (`.zarray` of Zarr, version 2) as a dataset.

use hyperslab_array::{ChunkGrid, Dataspace, Datatype, Error, MAX_NDIM, Result};
use serde_json::{Map, Value};

use super::element::{datatype, element};
use crate::filter::{Filter, Pipeline};
use crate::{Dataset, Limits};

/// An array: its dataset, the filters of its chunks, and what separates the numbers in their keys.
pub(super) struct ArrayMetadata {
    pub dataset: Dataset,
    pub pipeline: Pipeline,
    pub separator: char,
}

/// Parses `.zarray`.
///
/// # Errors
/// `Corrupt` for what is missing or contradicts itself; `Unsupported` for another version.
pub(super) fn array(said: &Value, limits: &Limits) -> Result<ArrayMetadata> {
    let corrupt = |what: &str| Error::corrupt(format!("metadata of an array without {what}"));
    let said = said.as_object().ok_or_else(|| corrupt("members"))?;
    let version = said.get("zarr_format").and_then(Value::as_u64);
    if version != Some(2) {
        return Err(Error::unsupported(format!("metadata of Zarr's version {version:?}: 2 is read")));
    }
    let extents = |name: &str| -> Option<Vec<u64>> { said.get(name)?.as_array()?.iter().map(Value::as_u64).collect() };
    let shape = extents("shape").ok_or_else(|| corrupt("a shape"))?;
    let chunks = extents("chunks").filter(|chunks| chunks.len() == shape.len()).ok_or_else(|| corrupt("as many extents of a chunk as dimensions"))?;
    if shape.len() > MAX_NDIM {
        return Err(Error::unsupported(format!("{} dimensions: at most {MAX_NDIM} are read", shape.len())));
    }
    let chunks: Vec<u64> = chunks.into_iter().map(|extent| extent.max(1)).collect();
    let datatype = datatype(said.get("dtype").ok_or_else(|| corrupt("a dtype"))?)?;
    let chunk_bytes = chunks.iter().try_fold(datatype.size(), |n, extent| n.checked_mul(*extent));
    if chunk_bytes.is_none_or(|bytes| bytes > limits.chunk_bytes) {
        return Err(Error::limit_exceeded(format!("a chunk of shape {chunks:?}")));
    }
    let dataspace = match shape.as_slice() {
        [] => Dataspace::Scalar,
        _ => Dataspace::Simple { shape: shape.clone(), max_shape: shape.iter().map(|extent| Some(*extent)).collect() },
    };
    dataspace.element_count()?;
    let mut dataset = Dataset::new(datatype, dataspace, ChunkGrid::new(shape.clone(), chunks.clone())?);
    dataset.chunk_shape = (!shape.is_empty()).then_some(chunks);
    let mut refusal = dataset.datatype.unsupported_class().map(|class| Error::unsupported(class.to_owned()));
    if said.get("order").is_some_and(|order| order != "C") && shape.len() > 1 {
        refusal.get_or_insert_with(|| Error::unsupported("chunks in column-major order"));
    }
    let pipeline = match pipeline(said, &dataset.datatype) {
        Ok(pipeline) => pipeline,
        Err(error) => {
            refusal.get_or_insert(error);
            Pipeline::default()
        }
    };
    if let Some(value) = said.get("fill_value").filter(|value| !value.is_null()) {
        dataset.fill_value = element(value, &dataset.datatype);
        if dataset.fill_value.is_none() {
            refusal.get_or_insert_with(|| Error::corrupt(format!("the fill value {value} of elements that have no such value")));
        }
    }
    dataset.filters = pipeline.describe();
    dataset.refusal = refusal;
    let separator = match said.get("dimension_separator").map(Value::as_str) {
        None | Some(Some(".")) => '.',
        Some(Some("/")) => '/',
        Some(_) => return Err(corrupt("a separator that is . or /")),
    };
    Ok(ArrayMetadata { dataset, pipeline, separator })
}

/// The codecs of numcodecs that make the same bytes as filters of HDF5.
fn pipeline(said: &Map<String, Value>, datatype: &Datatype) -> Result<Pipeline> {
    let filters = said.get("filters").and_then(Value::as_array).into_iter().flatten();
    let compressor = said.get("compressor").filter(|compressor| !compressor.is_null());
    let filters = filters.chain(compressor).map(|codec| filter(codec, datatype)).collect::<Result<Vec<_>>>()?;
    let pipeline = Pipeline { filters };
    pipeline.refusal().map_or(Ok(pipeline), Err)
}

fn filter(codec: &Value, datatype: &Datatype) -> Result<Filter> {
    let name = codec.get("id").and_then(Value::as_str).ok_or_else(|| Error::corrupt(format!("the codec {codec}")))?;
    let parameter = |name: &str| codec.get(name).and_then(Value::as_u64).and_then(|value| u32::try_from(value).ok());
    let (id, parameters) = match name {
        "zlib" => (1, vec![parameter("level").unwrap_or(1)]),
        "shuffle" => (2, vec![parameter("elementsize").or_else(|| u32::try_from(datatype.size()).ok()).unwrap_or(1)]),
        "fletcher32" => (3, Vec::new()),
        "bz2" => (307, vec![parameter("level").unwrap_or(1)]),
        "zstd" => (32015, Vec::new()),
        "blosc" => (32001, Vec::new()),
        other => return Err(Error::unsupported(format!("the codec {other} of numcodecs"))),
    };
    Ok(Filter { id, name: None, optional: false, parameters })
}
