//! Describe: datatypes and datasets as dictionaries that the Python package turns into its objects.

use hyperslab::{ByteOrder, CharacterSet, Dataset, Dataspace, Datatype, FloatFormat, HyperslabAxis, StoredSelection, StringPadding};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::{described_types, reference};

fn order(order: ByteOrder) -> &'static str {
    match order {
        ByteOrder::Little => "<",
        ByteOrder::Big => ">",
    }
}

fn string(dict: &Bound<'_, PyDict>, padding: StringPadding, character_set: CharacterSet) -> PyResult<()> {
    dict.set_item("utf8", character_set == CharacterSet::Utf8)?;
    dict.set_item("padding", padding.name())
}

/// The bit layout of a float that is not an IEEE float; `None` for an IEEE float.
fn float_layout<'py>(py: Python<'py>, format: &FloatFormat) -> PyResult<Option<Bound<'py, PyDict>>> {
    let FloatFormat::Custom(layout) = format else { return Ok(None) };
    let dict = PyDict::new(py);
    dict.set_item("bit_offset", layout.bit_offset)?;
    dict.set_item("bit_precision", layout.bit_precision)?;
    dict.set_item("sign_location", layout.sign_location)?;
    dict.set_item("exponent_location", layout.exponent_location)?;
    dict.set_item("exponent_size", layout.exponent_size)?;
    dict.set_item("mantissa_location", layout.mantissa_location)?;
    dict.set_item("mantissa_size", layout.mantissa_size)?;
    dict.set_item("exponent_bias", layout.exponent_bias)?;
    dict.set_item("mantissa", layout.mantissa.name())?;
    Ok(Some(dict))
}

/// `{"class": …, "size": bytes, …}`, which may be shared.
pub(crate) fn datatype<'py>(py: Python<'py>, described: &Datatype) -> PyResult<Bound<'py, PyDict>> {
    if let Some(dict) = described_types::get(py, described) {
        return Ok(dict);
    }
    let dict = PyDict::new(py);
    dict.set_item("size", described.size())?;
    let class = match described {
        Datatype::Integer { size, signed, order: o, bit_offset, bit_precision } => {
            dict.set_item("signed", signed)?;
            dict.set_item("order", order(*o))?;
            let ordinary = *bit_offset == 0 && u64::from(*bit_precision) == size * 8;
            dict.set_item("ordinary", ordinary)?;
            dict.set_item("bit_offset", bit_offset)?;
            dict.set_item("bit_precision", bit_precision)?;
            "integer"
        }
        Datatype::Float { order: o, format, .. } => {
            dict.set_item("order", order(*o))?;
            dict.set_item("ordinary", *format == FloatFormat::Ieee)?;
            dict.set_item("layout", float_layout(py, format)?)?;
            "float"
        }
        Datatype::FixedString { padding, character_set, .. } => {
            string(&dict, *padding, *character_set)?;
            "string"
        }
        Datatype::VariableString { padding, character_set, .. } => {
            string(&dict, *padding, *character_set)?;
            "variable string"
        }
        Datatype::Bitfield { order: o, .. } => {
            dict.set_item("order", order(*o))?;
            "bitfield"
        }
        Datatype::Time { order: o, .. } => {
            dict.set_item("order", order(*o))?;
            "time"
        }
        Datatype::Opaque { tag, .. } => {
            dict.set_item("tag", tag)?;
            "opaque"
        }
        Datatype::Compound { members, .. } => {
            let members = members.iter().map(|m| Ok((m.name.as_str(), m.offset, datatype(py, &m.datatype)?))).collect::<PyResult<Vec<_>>>()?;
            dict.set_item("members", members)?;
            "compound"
        }
        Datatype::Reference { kind, .. } => {
            dict.set_item("kind", reference::name(*kind))?;
            "reference"
        }
        Datatype::Enum { base, members } => {
            dict.set_item("base", datatype(py, base)?)?;
            dict.set_item("boolean", described.is_boolean())?;
            let names: Vec<(&str, i128)> = members.iter().map(|m| (m.name.as_str(), m.value)).collect();
            dict.set_item("members", names)?;
            "enum"
        }
        Datatype::Sequence { base, .. } => {
            dict.set_item("base", datatype(py, base)?)?;
            "sequence"
        }
        Datatype::Array { base, shape } => {
            dict.set_item("base", datatype(py, base)?)?;
            dict.set_item("shape", shape.clone())?;
            "array"
        }
        Datatype::Unsupported { class, .. } => {
            dict.set_item("name", class)?;
            "unsupported"
        }
    };
    dict.set_item("class", class)?;
    described_types::keep(described, &dict);
    Ok(dict)
}

/// The kind and the parts of a stored selection: coordinates of points, first and last element of blocks, or start, stride,
/// count and block of each dimension.
pub(crate) fn selection(selection: StoredSelection) -> (&'static str, Vec<Vec<Vec<u64>>>) {
    let limited = |n: Option<u64>| n.unwrap_or(u64::MAX);
    match selection {
        StoredSelection::None => ("none", Vec::new()),
        StoredSelection::All => ("all", Vec::new()),
        StoredSelection::Points(points) => ("points", vec![points]),
        StoredSelection::Blocks(blocks) => ("blocks", blocks.into_iter().map(|(first, last)| vec![first, last]).collect()),
        StoredSelection::Hyperslab(axes) => {
            let axis = |axis: HyperslabAxis| vec![axis.start, axis.stride, limited(axis.count), limited(axis.block)];
            ("hyperslab", vec![axes.into_iter().map(axis).collect()])
        }
    }
}

/// Adds the description of a dataset to `dict`.
pub(crate) fn dataset<'py>(py: Python<'py>, dict: &Bound<'py, PyDict>, dataset: &Dataset) -> PyResult<()> {
    dataset_with(py, dict, dataset, datatype(py, &dataset.datatype)?)
}

/// Adds the description of a dataset, whose datatype is described already, to `dict`.
pub(crate) fn dataset_with<'py>(py: Python<'py>, dict: &Bound<'py, PyDict>, dataset: &Dataset, datatype: Bound<'py, PyDict>) -> PyResult<()> {
    dict.set_item("datatype", datatype)?;
    match &dataset.dataspace {
        Dataspace::Null => dict.set_item("shape", py.None())?,
        space => dict.set_item("shape", space.shape().to_vec())?,
    }
    if let Dataspace::Simple { max_shape, .. } = &dataset.dataspace {
        dict.set_item("maxshape", max_shape.clone())?;
    }
    dict.set_item("storage", dataset.storage.name())?;
    dict.set_item("chunks", dataset.creation_chunk_shape())?;
    let filters: Vec<(u16, &str, Vec<u32>)> = dataset.creation_filters().iter().map(|f| (f.id, f.name.as_str(), f.parameters.clone())).collect();
    dict.set_item("filters", filters)?;
    dict.set_item("fill", dataset.fill_value.as_deref().map(|bytes| PyBytes::new(py, bytes)))?;
    dict.set_item("refusal", dataset.refusal.as_ref().map(ToString::to_string))
}
