//! Visit: the objects below a group, parsed ahead in parallel and handed to Python in batches.

use std::sync::{Mutex, PoisonError};

use hyperslab::{Object, ObjectId, Walked};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::datatype::Datatype;
use crate::describe;
use crate::name::{self, Name};
use crate::wait::parse;

/// The path of an object relative to the group from which the visit began, its number, and its description as of `File.describe`.
type Visited<'py> = (Name, u64, Bound<'py, PyDict>);

/// Every object below a group, each once, depth first in the order of the names.
#[pyclass(frozen, module = "hyperslab._native")]
pub(crate) struct Visit {
    file: hyperslab::File,
    /// Absolute path of the group, with a slash at the end.
    prefix: String,
    visit: Mutex<hyperslab::Visit>,
}

impl Visit {
    /// Begins a visit of the group with this number, whose absolute path is `path`.
    pub(crate) fn new(file: hyperslab::File, group: u64, path: &str) -> Self {
        let visit = Mutex::new(file.visit(ObjectId(group)));
        Self { file, prefix: format!("{}/", path.trim_end_matches('/')), visit }
    }
}

#[pymethods]
impl Visit {
    /// Paths of the next objects; none at the end.
    fn paths<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let batch = self.next_batch(py)?;
        name::list(py, batch.iter().map(|walked| walked.path.as_str()))
    }

    /// The next objects; none at the end. One that cannot be read is described as such.
    fn objects<'py>(&self, py: Python<'py>) -> PyResult<Vec<Visited<'py>>> {
        let batch = self.next_batch(py)?;
        batch
            .into_iter()
            .map(|Walked { path, id, object, .. }| {
                self.file.add_path(id, &[&self.prefix, path.as_str()].concat());
                let object = match object {
                    // The extent of a virtual dataset may depend on its sources, which are other files.
                    Ok(Object::Dataset(dataset)) if !dataset.virtual_mappings.is_empty() => parse(py, || Ok(self.file.dataset(id).map(Object::Dataset)))?,
                    object => object,
                };
                let dict = PyDict::new(py);
                let kind = match object {
                    Ok(Object::Dataset(dataset)) => {
                        describe::dataset(py, &dict, &dataset)?;
                        "dataset"
                    }
                    Ok(Object::Datatype(datatype)) => {
                        dict.set_item("datatype", Datatype::from(&*datatype))?;
                        "datatype"
                    }
                    Ok(Object::Group) => "group",
                    Err(error) => {
                        dict.set_item("refusal", error.to_string())?;
                        "unreadable"
                    }
                };
                dict.set_item("kind", kind)?;
                Ok((Name(path), id.0, dict))
            })
            .collect()
    }
}

impl Visit {
    fn next_batch(&self, py: Python<'_>) -> PyResult<Vec<Walked>> {
        parse(py, || self.visit.lock().unwrap_or_else(PoisonError::into_inner).next_batch())
    }
}
