//! Ranges that Python reads: file objects, and stores of other libraries. Addresses.

use std::sync::OnceLock;

use hyperslab::storage::{self, RangeReader};
use hyperslab::{Error, ErrorKind, Result};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// An object with a method `read_ranges`, which takes `(offset, length)` of each range and returns the bytes of each.
pub(crate) struct PythonRanges(pub Py<PyAny>);

/// The reader that a file was opened by, kept with the file.
#[derive(Default)]
pub(crate) struct OpenedBy(pub OnceLock<Py<PyAny>>);

impl RangeReader for PythonRanges {
    fn read_ranges(&self, ranges: &[(u64, u64)]) -> Result<Vec<Vec<u8>>> {
        let read = |py: Python<'_>| -> PyResult<Vec<Vec<u8>>> {
            let answers = self.0.bind(py).call_method1("read_ranges", (ranges.to_vec(),))?;
            answers.try_iter()?.map(|answer| Ok(answer?.cast_into::<PyBytes>()?.as_bytes().to_vec())).collect()
        };
        // None: the interpreter is ending.
        match Python::try_attach(|py| read(py).map_err(|error| failed(py, &error))) {
            Some(outcome) => outcome,
            None => Err(Error::cancelled()),
        }
    }
}

/// An exception of a reader of Python. The readers of the package say what failed; their message is the key to the cause.
fn failed(py: Python<'_>, error: &PyErr) -> Error {
    if let Ok(message) = error.value(py).getattr("message").and_then(|message| message.extract::<String>()) {
        return Error::new(ErrorKind::Io, message);
    }
    let kind = error.get_type(py).name().map_or_else(|_| "an exception".to_owned(), |name| name.to_string());
    let text = storage::without_queries(&error.value(py).to_string());
    Error::new(ErrorKind::Io, format!("the file object failed while it was read: {kind}: {text}"))
}

/// A text without the queries of addresses in it, which may be signatures.
#[pyfunction]
pub(crate) fn without_queries(text: &str) -> String {
    storage::without_queries(text)
}

/// Whether a path is the address of something remote.
#[pyfunction]
pub(crate) fn is_address(path: &str) -> bool {
    storage::is_address(path)
}

/// An address without its query and password.
#[pyfunction]
pub(crate) fn shown_address(path: &str) -> String {
    storage::shown_address(path).into_owned()
}
