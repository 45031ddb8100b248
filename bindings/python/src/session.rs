//! Session: threads and limits, shared by the files that it opens.

use std::path::PathBuf;
use std::sync::Arc;

use hyperslab::foreign::{ForeignArray, file_of_arrays};
use hyperslab::scan::Split;
use hyperslab::{Cancellation, Error, Interpretation, Limits, MissingSources, PathPolicy, SessionOptions};
use pyo3::prelude::*;

use crate::error::raise;
use crate::file::File;
use crate::foreign::{Described, PythonArray};
use crate::reader::Reader;
use crate::results::counting::Counters;
use crate::wait::{run, wait};

/// Threads and limits.
#[pyclass(frozen, module = "hyperslab._native")]
pub(crate) struct Session(hyperslab::Session);

#[pymethods]
impl Session {
    #[new]
    #[pyo3(signature = (threads=None, format=None, paths=None, missing_sources=None, limits=Vec::new(), index_folder=None))]
    fn new(
        py: Python<'_>,
        threads: Option<usize>,
        format: Option<&str>,
        paths: Option<&str>,
        missing_sources: Option<&str>,
        limits: Vec<(String, u64)>,
        index_folder: Option<PathBuf>,
    ) -> PyResult<Self> {
        let unknown = |name: &str, given: &str, known: &str| Err(raise(py, &Error::invalid_input(format!("{name}={given:?} is not known: give {known}"))));
        let interpretation = match format {
            None => Interpretation::Automatic,
            Some("hdf5") => Interpretation::Hdf5,
            Some(other) => return unknown("format", other, "\"hdf5\" to switch netCDF-4 conventions off"),
        };
        let paths = match paths {
            None | Some("folder") => PathPolicy::SameFolder,
            Some("anywhere") => PathPolicy::Anywhere,
            Some(other) => return unknown("paths", other, "\"folder\" or \"anywhere\""),
        };
        let missing_sources = match missing_sources {
            None | Some("error") => MissingSources::Error,
            Some("fill") => MissingSources::Fill,
            Some(other) => return unknown("missing_sources", other, "\"error\" or \"fill\""),
        };
        let mut bounds = Limits::default();
        for (name, value) in limits {
            bounds.set(&name, value).map_err(|error| raise(py, &error))?;
        }
        let options = SessionOptions::default()
            .with_threads(threads)
            .with_interpretation(interpretation)
            .with_paths(paths)
            .with_missing_sources(missing_sources)
            .with_limits(bounds);
        hyperslab::new_session_with_indexes(options, index_folder).map(Self).map_err(|error| raise(py, &error))
    }

    /// Opens local files in parallel.
    fn open(&self, py: Python<'_>, paths: Vec<PathBuf>) -> PyResult<Vec<File>> {
        let session = self.0.clone();
        let files = run(py, move || session.open_all(&paths))?;
        Ok(files.into_iter().map(File).collect())
    }

    /// Makes a file of arrays that Python holds.
    #[pyo3(signature = (name, arrays, stamp=None))]
    fn arrays(&self, py: Python<'_>, name: &str, arrays: Vec<Described<'_>>, stamp: Option<(u64, u64)>) -> PyResult<File> {
        let mut named: Vec<(String, Arc<dyn ForeignArray>)> = Vec::with_capacity(arrays.len());
        for described in arrays {
            let array = PythonArray::new(described)?;
            named.push((array.name().to_owned(), Arc::new(array)));
        }
        file_of_arrays(&self.0, name, named, stamp).map(File).map_err(|error| raise(py, &error))
    }

    /// Decodes a split and reads it.
    fn read_split(&self, py: Python<'_>, split: &[u8]) -> PyResult<Reader> {
        let session = self.0.clone();
        let split = Split::decode(split).map_err(|error| raise(py, &error))?;
        let cancellation = Cancellation::new();
        let shared = cancellation.clone();
        let batches = wait(py, &cancellation, move || split.read(&session, &shared))?;
        Ok(Reader::new(batches, cancellation))
    }
}

/// The cost of the reads of this process.
#[pyfunction]
pub(crate) fn counters() -> Counters {
    Counters::of_process()
}
