//! Decoder: a Python function that undoes a filter.

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

/// Registers `function` for a filter number, in files that are opened from now on.
#[pyfunction]
pub(crate) fn register_filter(py: Python<'_>, id: u16, function: Py<PyAny>) -> PyResult<()> {
    filter::register(id, Arc::new(Callback { function, id })).map_err(|error| raise(py, &error))
}

/// Takes a registered function back; whether there was one.
#[pyfunction]
pub(crate) fn unregister_filter(id: u16) -> bool {
    filter::unregister(id)
}
