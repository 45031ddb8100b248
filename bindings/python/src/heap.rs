//! Heap: the variable-length values that elements point at.

use hyperslab::HeapObjects;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::error::raise;

/// The values of variable-length elements.
#[pyclass(frozen, module = "hyperslab._native")]
pub(crate) struct Heap(pub(crate) HeapObjects);

#[pymethods]
impl Heap {
    /// An empty heap.
    #[new]
    fn new() -> Self {
        Self(HeapObjects::default())
    }
    /// The value of each element of `width` bytes in `elements`; an item of a value has `base_size` bytes (1 for strings).
    fn values<'py>(&self, py: Python<'py>, elements: &[u8], width: usize, base_size: u64) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        elements
            .chunks_exact(width.max(1))
            .map(|element| {
                let value = self.0.value(element, base_size).map_err(|error| raise(py, &error))?;
                Ok(PyBytes::new(py, value))
            })
            .collect()
    }
}
