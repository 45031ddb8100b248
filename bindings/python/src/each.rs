//! Each: one dataset of many files, as bytes that Python makes arrays of.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use hyperslab::{Cancellation, EachRead, Result};
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyList, PyTuple};

use crate::datatype::Datatype;
use crate::error::raise;
use crate::file::File;
use crate::wait::{Begun, caught, wait};

/// Files that are read while Python looks at others. What was begun is cancelled when this is dropped.
#[pyclass(frozen, module = "hyperslab._native")]
pub(crate) struct EachBatch {
    session: hyperslab::Session,
    paths: Arc<[PathBuf]>,
    dataset: Arc<str>,
    cancellation: Cancellation,
    begun: Mutex<Option<Begun<Vec<Result<EachRead>>>>>,
}

impl EachBatch {
    pub fn new(session: &hyperslab::Session, paths: Vec<PathBuf>, dataset: String) -> Result<Self> {
        let made = Self { session: session.clone(), paths: paths.into(), dataset: dataset.into(), cancellation: Cancellation::new(), begun: Mutex::default() };
        let work = made.work();
        *made.begun.lock().unwrap_or_else(PoisonError::into_inner) = Some(Begun::new(move || caught(work))?);
        Ok(made)
    }

    fn work(&self) -> impl FnOnce() -> Result<Vec<Result<EachRead>>> + Send + 'static {
        let (session, paths, dataset, cancellation) = (self.session.clone(), self.paths.clone(), self.dataset.clone(), self.cancellation.clone());
        move || session.read_each(&paths, &dataset, &cancellation)
    }
}

#[pymethods]
impl EachBatch {
    /// For each file `(datatype, shape, bytes)` of numbers, the open file of another dataset, or the exception. Waits for them.
    fn outcomes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let begun = self.begun.lock().unwrap_or_else(PoisonError::into_inner).take();
        let found = match begun {
            Some(begun) if begun.is_of_this_process() => begun.finish(py, &self.cancellation)?.map_err(|error| raise(py, &error))?,
            _ => wait(py, &self.cancellation, self.work())?,
        };
        outcomes(py, found)
    }
}

impl Drop for EachBatch {
    fn drop(&mut self) {
        self.cancellation.cancel();
    }
}

/// For each file: `(datatype, shape, bytes)` of numbers, the open file of another dataset, or the exception.
fn outcomes<'py>(py: Python<'py>, outcomes: Vec<Result<EachRead>>) -> PyResult<Bound<'py, PyList>> {
    let items = outcomes.into_iter().map(|outcome| match outcome {
        Ok(EachRead::Values { dataset, bytes }) => {
            let shape = PyTuple::new(py, dataset.dataspace.shape())?;
            let datatype = Datatype::from(&dataset.datatype);
            (datatype, shape, PyByteArray::new(py, &bytes)).into_pyobject(py).map(Bound::into_any)
        }
        Ok(EachRead::Open(file)) => Bound::new(py, File(file)).map(Bound::into_any),
        Ok(_) => Err(raise(py, &hyperslab::Error::internal("an outcome that is not known"))),
        Err(error) => Ok(raise(py, &error).into_value(py).into_bound(py).into_any()),
    });
    PyList::new(py, items.collect::<PyResult<Vec<_>>>()?)
}
