//! Attributes as field metadata: text unchanged, one number as text, several values as a JSON list.

use std::collections::HashMap;

use arrow_cast::display::{ArrayFormatter, FormatOptions};
use hyperslab_array::{Attribute, CharacterSet, Dataspace, Datatype, Elements, HeapObjects, StringPadding};

/// Attributes whose value cannot be read or displayed are omitted.
pub(super) fn metadata(attributes: &[Attribute]) -> HashMap<String, String> {
    attributes.iter().filter_map(|a| Some((a.name.clone(), text(a)?))).collect()
}

/// An attribute of one text.
pub(super) fn of_text(name: &str, text: &str) -> Attribute {
    // HDF5 has no text of 0 bytes.
    let bytes = if text.is_empty() { vec![0] } else { text.as_bytes().to_vec() };
    let datatype = Datatype::FixedString { size: bytes.len() as u64, padding: StringPadding::NullPadded, character_set: CharacterSet::Utf8 };
    Attribute { name: name.to_owned(), dataspace: Dataspace::Scalar, value: Ok(Elements { datatype, bytes, heap: HeapObjects::default() }) }
}

/// An attribute's value for display; `None` if it cannot be read or displayed.
pub fn text(attribute: &Attribute) -> Option<String> {
    let value = attribute.value.as_ref().ok()?;
    let array = super::convert::convert(&value.datatype.with_references_as_bytes(), &value.bytes, &value.heap).ok()?;
    let options = FormatOptions::default();
    let shown = ArrayFormatter::try_new(array.as_ref(), &options).ok()?;
    let mut all = (0..array.len()).map(|i| shown.value(i).to_string());
    if array.len() == 1 {
        return all.next();
    }
    let numeric = array.data_type().is_numeric();
    let items: Vec<serde_json::Value> = all
        .map(|item| match numeric {
            true => serde_json::from_str(&item).unwrap_or(serde_json::Value::String(item)),
            false => serde_json::Value::String(item),
        })
        .collect();
    serde_json::to_string(&items).ok()
}
