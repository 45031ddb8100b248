//! Gather: many small objects at once, as columns.

use hyperslab::{Cancellation, Object, ObjectId};
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes};

use crate::datatype::Datatype;
use crate::error::raise;
use crate::file::File;
use crate::name::{Name, texts};
use crate::results::object::{AttributeValue, Gathered, shape_of};
use crate::wait::wait;

/// Describes the objects with these numbers (8 bytes each, little endian) and reads the values of small datasets. `attributes`
/// names those that tell objects apart.
#[pyfunction]
pub(crate) fn gather(py: Python<'_>, file: PyRef<'_, File>, objects: &[u8], attributes: Vec<Name>) -> PyResult<Vec<Gathered>> {
    let (opened, cancellation) = (file.0.clone(), Cancellation::new());
    let (shared, names) = (cancellation.clone(), texts(attributes.clone()));
    let objects: Vec<ObjectId> = objects.as_chunks().0.iter().map(|number| ObjectId(u64::from_le_bytes(*number))).collect();
    let groups = wait(py, &cancellation, move || opened.gather(&objects, &names, &shared))?;
    groups.into_iter().map(|group| described(py, group, &attributes)).collect()
}

fn described(py: Python<'_>, group: hyperslab::Gathered, attributes: &[Name]) -> PyResult<Gathered> {
    let (kind, datatype, shape) = match &group.object {
        Object::Group => ("group", None, None),
        Object::Datatype(_) => ("datatype", None, None),
        Object::Dataset(dataset) => ("dataset", Some(Py::new(py, Datatype::from(&dataset.datatype))?), shape_of(&dataset.dataspace)),
    };
    let mut found = Vec::new();
    for name in attributes {
        if let Some(attribute) = group.attributes.get(name) {
            let value = attribute.value.as_ref().map_err(|error| raise(py, error))?;
            found.push((name.clone(), Py::new(py, AttributeValue::new(py, &attribute.dataspace, value)?)?));
        }
    }
    let numbers = |numbers: Vec<u64>| PyBytes::new(py, &numbers.into_iter().flat_map(u64::to_le_bytes).collect::<Vec<u8>>()).unbind();
    Ok(Gathered {
        kind,
        datatype,
        shape,
        attributes: found,
        names: group.names.into_iter().map(Name).collect(),
        positions: numbers(group.positions),
        members: numbers(group.members.into_iter().map(|id| id.0).collect()),
        values: group.values.map(|values| PyByteArray::new(py, &values).unbind()),
    })
}
