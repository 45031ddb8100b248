//! Errors: the core's one error as the Python class of its kind (`hyperslab.base.errors`).

use hyperslab::Error;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

/// The Python exception for `error`; the class is chosen by kind in `hyperslab.base.errors.from_native`.
pub(crate) fn raise(py: Python<'_>, error: &Error) -> PyErr {
    let made = py.import("hyperslab.base.errors").and_then(|module| {
        let kind = error.kind().name();
        let arguments = (kind, error.message(), error.file(), error.object(), error.offset(), error.os_error());
        module.call_method1("from_native", arguments)
    });
    match made {
        Ok(exception) => PyErr::from_value(exception),
        Err(_) => PyRuntimeError::new_err(error.to_string()),
    }
}
