//! Each: one dataset of many files, as bytes that Python makes arrays of.

use hyperslab::EachRead;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyList, PyTuple};

use crate::describe;
use crate::error::raise;
use crate::file::File;

/// For each file: `(datatype, shape, bytes)` of numbers, the open file of another dataset, or the exception.
pub(crate) fn outcomes<'py>(py: Python<'py>, outcomes: Vec<hyperslab::Result<EachRead>>) -> PyResult<Bound<'py, PyList>> {
    let items = outcomes.into_iter().map(|outcome| match outcome {
        Ok(EachRead::Values { dataset, bytes }) => {
            let shape = PyTuple::new(py, dataset.dataspace.shape())?;
            let datatype = describe::datatype(py, &dataset.datatype)?;
            (datatype, shape, PyByteArray::new(py, &bytes)).into_pyobject(py).map(Bound::into_any)
        }
        Ok(EachRead::Open(file)) => Bound::new(py, File(file)).map(Bound::into_any),
        Ok(_) => Err(raise(py, &hyperslab::Error::internal("an outcome that is not known"))),
        Err(error) => Ok(raise(py, &error).into_value(py).into_bound(py).into_any()),
    });
    PyList::new(py, items.collect::<PyResult<Vec<_>>>()?)
}
