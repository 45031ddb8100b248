//! Data models of an open file.

use hyperslab::models::{Model, required};
use hyperslab::{Cancellation, File as Opened, Result};
use pyo3::prelude::*;

use crate::error::raise;
use crate::file::File;
use crate::results::model::{NamedArray, Recognition};
use crate::wait::{parse, wait};

/// Asks a model about a file that must be one of its files.
fn ask<T: Send + 'static>(py: Python<'_>, file: &File, model: String, question: fn(&dyn Model, &Opened) -> Result<T>) -> PyResult<T> {
    let file = file.0.clone();
    parse(py, move || question(required(&file, &model)?, &file))
}

/// The models that recognize a file, the surest first.
#[pyfunction]
pub(crate) fn recognize_models(py: Python<'_>, file: PyRef<'_, File>) -> PyResult<Vec<Recognition>> {
    let file = file.0.clone();
    let found = parse(py, move || hyperslab::models::recognize(&file))?;
    Ok(found.into_iter().map(Recognition::from).collect())
}

/// The names of the tables of a model.
#[pyfunction]
pub(crate) fn model_tables(py: Python<'_>, file: PyRef<'_, File>, model: String) -> PyResult<Vec<String>> {
    ask(py, &file, model, |model, file| model.tables(file))
}

/// The arrays of a model.
#[pyfunction]
pub(crate) fn model_arrays(py: Python<'_>, file: PyRef<'_, File>, model: String) -> PyResult<Vec<NamedArray>> {
    let arrays = ask(py, &file, model, |model, file| model.arrays(file))?;
    Ok(arrays.into_iter().map(NamedArray::from).collect())
}

/// What contradicts a model: objects with messages.
#[pyfunction]
pub(crate) fn model_problems(py: Python<'_>, file: PyRef<'_, File>, model: String) -> PyResult<Vec<(String, String)>> {
    let problems = ask(py, &file, model, |model, file| model.validate(file))?;
    Ok(problems.into_iter().map(|problem| (problem.object, problem.message)).collect())
}

/// What a model leaves out: objects with reasons.
#[pyfunction]
pub(crate) fn model_omitted(py: Python<'_>, file: PyRef<'_, File>, model: String) -> PyResult<Vec<(String, String)>> {
    let omitted = ask(py, &file, model, |model, file| model.omitted(file))?;
    Ok(omitted.into_iter().map(|omitted| (omitted.name, omitted.reason)).collect())
}

/// What a file says of itself in a model, as JSON.
#[pyfunction]
pub(crate) fn model_facts(py: Python<'_>, file: PyRef<'_, File>, model: String) -> PyResult<String> {
    ask(py, &file, model, |model, file| model.facts(file))
}

/// Compares PyTables' own indexes with their tables: table, column, and why an index cannot be used. Ctrl-C ends it.
#[pyfunction]
pub(crate) fn check_pytables_indexes(py: Python<'_>, file: PyRef<'_, File>) -> PyResult<Vec<(String, String, Option<String>)>> {
    let (file, cancellation) = (file.0.clone(), Cancellation::new());
    let shared = cancellation.clone();
    let checked = wait(py, &cancellation, move || {
        required(&file, "pytables")?;
        hyperslab::models::check_indexes(&file, &shared)
    })?;
    Ok(checked.into_iter().map(|index| (index.table, index.column, index.problem)).collect())
}

/// The methods of an attribute `cell_methods`, as JSON.
#[pyfunction]
pub(crate) fn parse_cell_methods(py: Python<'_>, text: &str) -> PyResult<String> {
    let refused = |reason| hyperslab::Error::invalid_input(format!("these cell methods do not parse: {reason}: {text:?}"));
    hyperslab::models::cell_methods_json(text).map_err(|reason| raise(py, &refused(reason)))
}
