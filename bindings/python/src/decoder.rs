//! Decoder: a Python function that decodes chunks of a filter.

use std::sync::Arc;

use hyperslab::filter::{self, Decoder};
use hyperslab::{Error, Result};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::error::raise;

/// Calls `function(data: bytes, parameters: tuple[int, ...], max_bytes: int) -> bytes` for each chunk.
struct Callback {
    function: Py<PyAny>,
    id: u16,
}

impl Decoder for Callback {
    fn decode(&self, parameters: &[u32], input: &[u8], max_bytes: usize) -> Result<Vec<u8>> {
        let called = Python::attach(|py| {
            let found = self.function.call1(py, (PyBytes::new(py, input), parameters.to_vec(), max_bytes))?;
            found.extract::<Vec<u8>>(py)
        });
        called.map_err(|error| Error::corrupt(format!("the decoder that was registered for filter {} says: {error}", self.id)))
    }
}

/// Registers a decoder for a filter, in files that are opened from now on. It replaces an earlier one.
///
/// Args:
///     id: Number of the filter.
///     function: Called as `function(data, parameters, max_bytes)` with each chunk; returns the decoded bytes, at most
///         `max_bytes`. It may be called from any thread.
///
/// Raises:
///     InvalidInputError: Hyperslab itself decodes this filter.
///
/// Example:
///     >>> hs.register_filter(32100, lambda data, parameters, max_bytes: zlib.decompress(data))
#[pyfunction]
pub(crate) fn register_filter(py: Python<'_>, id: u16, function: Py<PyAny>) -> PyResult<()> {
    filter::register(id, Arc::new(Callback { function, id })).map_err(|error| raise(py, &error))
}

/// Removes a registered decoder.
///
/// Args:
///     id: Number of the filter.
///
/// Returns:
///     Whether there was one.
///
/// Example:
///     >>> hs.unregister_filter(32100)
#[pyfunction]
pub(crate) fn unregister_filter(id: u16) -> bool {
    filter::unregister(id)
}
