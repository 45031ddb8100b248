//! What data models say of a file.

use pyo3::prelude::*;

/// A model that was recognized in a file.
#[pyclass(frozen, get_all, module = "hyperslab._native")]
pub(crate) struct Recognition {
    /// Name of the model.
    pub model: String,
    /// `possible`, `likely` or `certain`.
    pub certainty: &'static str,
    /// Why.
    pub reason: String,
}

impl From<hyperslab::models::Recognition> for Recognition {
    fn from(found: hyperslab::models::Recognition) -> Self {
        Self { model: found.model.to_owned(), certainty: found.certainty.name(), reason: found.reason }
    }
}

/// An array that means something in a model.
#[pyclass(frozen, get_all, module = "hyperslab._native")]
pub(crate) struct NamedArray {
    /// Its name in the model.
    pub name: String,
    /// The step that it belongs to.
    pub step: Option<i64>,
    /// Path of the dataset.
    pub path: String,
    /// Its shape.
    pub shape: Vec<u64>,
}

impl From<hyperslab::models::NamedArray> for NamedArray {
    fn from(array: hyperslab::models::NamedArray) -> Self {
        Self { name: array.name, step: array.step, path: array.path, shape: array.shape }
    }
}
