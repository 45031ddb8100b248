//! Structure: what a file says of an object beyond its content, for the Python package to compare.

use hyperslab::{CreationOrder, Dataset, FilterDescription, Object, ObjectProperties};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::name::Name;

/// Comment, times, orders, committed datatypes, and of a dataset how it is stored.
pub(crate) fn structure<'py>(py: Python<'py>, properties: &ObjectProperties, object: &Object) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    let order = |order: CreationOrder| (order.is_tracked, order.is_indexed);
    dict.set_item("comment", properties.comment.as_deref().map(|comment| PyBytes::new(py, comment)))?;
    dict.set_item("times", properties.times.map(|times| (times.access, times.modification, times.change, times.birth)))?;
    dict.set_item("link_order", order(properties.link_order))?;
    dict.set_item("attribute_order", order(properties.attribute_order))?;
    dict.set_item("stored_attributes", properties.stored_attributes.iter().cloned().map(Name).collect::<Vec<_>>())?;
    dict.set_item("committed", properties.committed.map(|id| id.0))?;
    let of_attributes = PyDict::new(py);
    for (name, id) in &properties.committed_of_attributes {
        of_attributes.set_item(Name(name.clone()), id.0)?;
    }
    dict.set_item("committed_of_attributes", of_attributes)?;
    if let Object::Dataset(dataset) = object {
        of_dataset(&dict, dataset)?;
    }
    Ok(dict)
}

fn of_dataset(dict: &Bound<'_, PyDict>, dataset: &Dataset) -> PyResult<()> {
    let layout = match (dataset.creation_chunk_shape(), dataset.is_created_compact()) {
        (Some(_), _) => "chunked",
        (None, true) => "compact",
        (None, false) if dataset.requested.is_some() => "contiguous",
        (None, false) => dataset.storage.name(),
    };
    dict.set_item("layout", layout)?;
    let filter = |filter: &FilterDescription| (filter.id, filter.parameters.clone());
    dict.set_item("filters", dataset.creation_filters().iter().map(filter).collect::<Vec<_>>())?;
    dict.set_item("filter_flags", dataset.creation_filters().iter().map(|filter| filter.optional).collect::<Vec<_>>())?;
    let status = match (&dataset.fill_value, dataset.is_fill_undefined) {
        (Some(_), _) => "given",
        (None, true) => "undefined",
        (None, false) => "default",
    };
    dict.set_item("fill_status", status)?;
    dict.set_item("fill_time", dataset.fill_time.name())?;
    dict.set_item("allocation", dataset.allocation.map(hyperslab::AllocationTime::name))
}
