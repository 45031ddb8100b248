//! Session: threads and limits, shared by the files that it opens.

use std::path::PathBuf;

use hyperslab::scan::Split;
use hyperslab::{Cancellation, Error, Interpretation, SessionOptions};
use pyo3::prelude::*;

use crate::error::raise;
use crate::file::File;
use crate::reader::Reader;
use crate::wait::wait;

/// Threads and limits.
#[pyclass(frozen, module = "hyperslab._native")]
pub(crate) struct Session(hyperslab::Session);

#[pymethods]
impl Session {
    #[new]
    #[pyo3(signature = (threads=None, format=None))]
    fn new(py: Python<'_>, threads: Option<usize>, format: Option<&str>) -> PyResult<Self> {
        let interpretation = match format {
            None => Interpretation::Automatic,
            Some("hdf5") => Interpretation::Hdf5,
            Some(other) => {
                let message = format!("format {other:?} is not known: leave it out, or give \"hdf5\" to switch netCDF-4 conventions off");
                return Err(raise(py, &Error::invalid_input(message)));
            }
        };
        let options = SessionOptions { threads, interpretation, ..Default::default() };
        hyperslab::Session::new(options).map(Self).map_err(|error| raise(py, &error))
    }

    /// Opens a local file.
    fn open(&self, py: Python<'_>, path: PathBuf) -> PyResult<File> {
        let session = self.0.clone();
        wait(py, &Cancellation::new(), move || {
            session.open(&path).map_err(|error| error.in_file(path.display().to_string()))
        })
        .map(File)
    }

    /// Reads the split of these bytes.
    fn read_split(&self, py: Python<'_>, split: &[u8]) -> PyResult<Reader> {
        let session = self.0.clone();
        let split = Split::decode(split).map_err(|error| raise(py, &error))?;
        let cancellation = Cancellation::new();
        let shared = cancellation.clone();
        let batches = wait(py, &cancellation, move || split.read(&session, &shared))?;
        Ok(Reader::new(batches, cancellation))
    }
}
