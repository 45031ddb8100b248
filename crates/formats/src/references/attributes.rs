//! Attributes: values of JSON as attributes of HDF5.

use std::borrow::Cow;

use hyperslab_array::{Attribute, ByteOrder, CharacterSet, Dataspace, Datatype, Elements, EnumMember, HeapObjects, HeapReference, StringPadding};
use serde_json::{Map, Value};

use super::element::element;
use crate::Dataset;

/// The names of an array's dimensions, which some writers keep among its attributes.
pub(super) const DIMENSIONS: &str = "_ARRAY_DIMENSIONS";
/// The value that stands for missing ones has the datatype of the array.
const FILL_VALUE: &str = "_FillValue";
/// The address of a heap of one attribute; any but 0.
const HEAP: u64 = 1;

/// The attributes of an object. JSON values that HDF5 cannot represent (objects, mixed lists) are stored as JSON text.
pub(super) fn attributes(said: &Map<String, Value>, of: Option<&Datatype>) -> Vec<Attribute> {
    let visible = said.iter().filter(|(name, _)| *name != DIMENSIONS);
    visible.map(|(name, value)| attribute(name, value, of.filter(|_| name == FILL_VALUE))).collect()
}

/// The attribute of missing values, of a document that has them as Zarr's fill value: if no attribute says it, and it is not zero, which
/// is the fill value of arrays without missing values unless these have none.
pub(super) fn missing_value(said: &Map<String, Value>, dataset: &Dataset, zero_is_missing: bool) -> Option<Attribute> {
    let bytes = dataset.fill_value.as_ref().filter(|bytes| zero_is_missing || bytes.iter().any(|byte| *byte != 0))?;
    let is_number = matches!(dataset.datatype, Datatype::Integer { .. } | Datatype::Float { .. });
    (is_number && !said.contains_key(FILL_VALUE)).then(|| Attribute {
        name: FILL_VALUE.to_owned(),
        dataspace: Dataspace::Scalar,
        value: Ok(Elements { datatype: dataset.datatype.clone(), bytes: bytes.clone(), heap: HeapObjects::default() }),
    })
}

fn attribute(name: &str, value: &Value, own: Option<&Datatype>) -> Attribute {
    let of_array = own.and_then(|datatype| Some((Dataspace::Scalar, datatype.clone(), element(value, datatype)?)));
    let (dataspace, value) = match of_array.or_else(|| numbers(value)) {
        Some((dataspace, datatype, bytes)) => (dataspace, Elements { datatype, bytes, heap: HeapObjects::default() }),
        None => match value.as_array().map(|items| items.iter().map(Value::as_str).collect::<Option<Vec<_>>>()) {
            Some(Some(items)) => (along(items.len()), texts(&items)),
            _ => (Dataspace::Scalar, texts(&[value.as_str().map_or_else(|| Cow::Owned(value.to_string()), Cow::Borrowed).as_ref()])),
        },
    };
    Attribute { name: name.to_owned(), dataspace, value: Ok(value) }
}

/// Numbers, truth values, lists of numbers, and nothing.
fn numbers(value: &Value) -> Option<(Dataspace, Datatype, Vec<u8>)> {
    let integer = |signed| Datatype::integer(8, signed, ByteOrder::Little);
    let float = || Datatype::float(8, ByteOrder::Little);
    let items = match value {
        Value::Null => return Some((Dataspace::Null, float(), Vec::new())),
        Value::Bool(_) => {
            let datatype = truth();
            return Some((Dataspace::Scalar, datatype.clone(), element(value, &datatype)?));
        }
        Value::Number(_) => std::slice::from_ref(value),
        Value::Array(items) if items.iter().all(Value::is_number) => items.as_slice(),
        _ => return None,
    };
    let are_whole = items.iter().all(|item| item.is_i64() || item.is_u64());
    let fitting = |datatype: &Datatype| Some(items.iter().map(|item| element(item, datatype)).collect::<Option<Vec<_>>>()?.concat());
    let candidates = [integer(true), integer(false), float()].into_iter().skip(if are_whole { 0 } else { 2 });
    let (datatype, bytes) = candidates.into_iter().find_map(|datatype| Some((datatype.clone(), fitting(&datatype)?)))?;
    Some((if value.is_array() { along(items.len()) } else { Dataspace::Scalar }, datatype, bytes))
}

fn along(extent: usize) -> Dataspace {
    Dataspace::Simple { shape: vec![extent as u64], max_shape: vec![Some(extent as u64)] }
}

fn truth() -> Datatype {
    let member = |name: &str, value| EnumMember { name: name.to_owned(), value };
    Datatype::Enum { base: Box::new(Datatype::integer(1, true, ByteOrder::Little)), members: [member("FALSE", 0), member("TRUE", 1)].into() }
}

/// Strings of variable length, as h5py and the netCDF library write them.
fn texts(said: &[&str]) -> Elements {
    let datatype = Datatype::VariableString { size: 16, padding: StringPadding::NullTerminated, character_set: CharacterSet::Utf8 };
    let (mut bytes, mut heap) = (Vec::new(), HeapObjects::default());
    for (text, index) in said.iter().zip(1u32..) {
        let reference = HeapReference { address: HEAP, index };
        bytes.extend(u32::try_from(text.len()).unwrap_or(u32::MAX).to_le_bytes());
        bytes.extend(reference.address.to_le_bytes());
        bytes.extend(reference.index.to_le_bytes());
        heap.insert(reference, text.as_bytes().into());
    }
    Elements { datatype, bytes, heap }
}
