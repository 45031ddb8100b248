//! Describe: datasets as dictionaries that the Python package turns into its objects.

use hyperslab::{Dataset, Dataspace, HyperslabAxis, StoredSelection};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::datatype::Datatype;

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
    dict.set_item("datatype", Datatype::from(&dataset.datatype))?;
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
