//! List: constants of a Python array, for `in` of a condition.

use hyperslab::Error;
use hyperslab::predicate::{List, Literal, Predicate};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::error::raise;

/// A name, the kind of its values (`i8`, `u8` and `f8`: native bytes; `number` and `text`: texts; `bool`: bytes), and the values.
pub(crate) type Named<'py> = (String, String, Bound<'py, PyAny>);

/// Converts lists for the core.
pub(crate) fn of_all(py: Python<'_>, lists: Vec<Named<'_>>) -> PyResult<Vec<(String, List)>> {
    lists.into_iter().map(|(name, kind, values)| Ok((name, of(py, &kind, &values)?))).collect()
}

fn of(py: Python<'_>, kind: &str, values: &Bound<'_, PyAny>) -> PyResult<List> {
    let bytes = || values.cast::<PyBytes>().map(|bytes| bytes.as_bytes());
    let texts = || values.extract::<Vec<String>>();
    Ok(match kind {
        "i8" => List::integers(bytes()?.as_chunks::<8>().0.iter().map(|bytes| i64::from_ne_bytes(*bytes).into())),
        "u8" => List::integers(bytes()?.as_chunks::<8>().0.iter().map(|bytes| u64::from_ne_bytes(*bytes).into())),
        "f8" => List::floats(bytes()?.as_chunks::<8>().0.iter().map(|bytes| f64::from_ne_bytes(*bytes))),
        "bool" => List::literals(bytes()?.iter().map(|byte| Literal::Boolean(*byte != 0)).collect()),
        "number" => List::literals(texts()?.into_iter().map(Literal::Number).collect()),
        "text" => List::literals(texts()?.into_iter().map(Literal::Text).collect()),
        other => return Err(raise(py, &Error::internal(format!("a list of {other}")))),
    })
}

/// The names after `in` in a condition, which may be lists.
#[pyfunction]
pub(crate) fn list_names(py: Python<'_>, text: &str) -> PyResult<Vec<String>> {
    Predicate::list_names(text).map_err(|error| raise(py, &error))
}
