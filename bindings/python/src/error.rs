//! Errors: the core's one error as the Python class of its kind (`hyperslab.errors`).

use hyperslab::Error;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

/// The Python exception for `error`; the class is chosen by kind in `hyperslab.errors.from_native`.
pub(crate) fn raise(py: Python<'_>, error: &Error) -> PyErr {
    let made = py.import("hyperslab.errors").and_then(|module| {
        let kind = error.kind().name();
        let arguments = (kind, error.message(), error.file(), error.object(), error.offset(), error.os_error());
        module.call_method1("from_native", arguments)
    });
    match made {
        Ok(exception) => PyErr::from_value(exception),
        Err(_) => PyRuntimeError::new_err(error.to_string()),
    }
}
