//! Foreign: Python objects with a shape, a dtype and `__getitem__` as arrays of a file.

use hyperslab::foreign::ForeignArray;
use hyperslab::{Error, Result};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::datatype::Datatype;

/// An array whose blocks a Python function reads: `read(start, count) -> bytes`.
pub(crate) struct PythonArray {
    name: String,
    datatype: hyperslab::Datatype,
    shape: Vec<u64>,
    block_shape: Vec<u64>,
    null_value: Option<Vec<u8>>,
    read: Py<PyAny>,
    origin: u32,
}

/// Name, datatype, shape, shape of a block, the value that stands for null, the function that reads a block, and a number that
/// distinguishes it from other arrays of its file.
pub(crate) type Described<'py> = (String, PyRef<'py, Datatype>, Vec<u64>, Vec<u64>, Option<Vec<u8>>, Py<PyAny>, u32);

impl PythonArray {
    pub(crate) fn new((name, datatype, shape, block_shape, null_value, read, origin): Described<'_>) -> PyResult<Self> {
        Ok(Self { name, datatype: datatype.core(), shape, block_shape, null_value, read, origin })
    }
    pub(crate) fn name(&self) -> &str {
        &self.name
    }
}

impl ForeignArray for PythonArray {
    fn datatype(&self) -> &hyperslab::Datatype {
        &self.datatype
    }
    fn shape(&self) -> &[u64] {
        &self.shape
    }
    fn block_shape(&self) -> &[u64] {
        &self.block_shape
    }
    fn null_value(&self) -> Option<&[u8]> {
        self.null_value.as_deref()
    }
    fn origin(&self) -> u32 {
        self.origin
    }
    fn read(&self, start: &[u64], count: &[u64]) -> Result<Vec<u8>> {
        let called = Python::attach(|py| {
            let values = self.read.call1(py, (start.to_vec(), count.to_vec()))?;
            Ok::<_, PyErr>(values.bind(py).cast::<PyBytes>()?.as_bytes().to_vec())
        });
        called.map_err(|error| Error::invalid_input(format!("the array {} says: {error}", self.name)))
    }
}
