//! Session: threads and limits, shared by the files that it opens.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use hyperslab::foreign::{ForeignArray, file_of_arrays};
use hyperslab::index::IndexTrust;
use hyperslab::scan::{Split, matching_files};
use hyperslab::storage::{ChunkIndexPlace, StorageOptions, is_address, list_objects, shown_address};
use hyperslab::{Cancellation, Error, Interpretation, Limits, MadeChunkIndex, MissingSources, PathPolicy, SessionOptions};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::each::EachBatch;
use crate::error::raise;
use crate::file::File;
use crate::files::Files;
use crate::foreign::{Described, PythonArray};
use crate::name::Name;
use crate::ranges::{OpenedBy, PythonRanges};
use crate::reader::Reader;
use crate::results::counting::Counters;
use crate::wait::{caught, parse, wait};

/// Threads and limits.
#[pyclass(frozen, module = "hyperslab._native")]
pub(crate) struct Session(hyperslab::Session);

/// The arguments of a session, which its files hand on when they are pickled.
pub(crate) struct Arguments {
    threads: Option<usize>,
    format: Option<String>,
    paths: Option<String>,
    missing_sources: Option<String>,
    limits: Vec<(String, u64)>,
    index_folder: Option<PathBuf>,
    chunk_cache_bytes: Option<u64>,
    indexes: Option<String>,
    storage_options: Vec<(String, String)>,
}

impl Arguments {
    /// As `hyperslab.sources.sessions.session` takes them.
    pub fn as_tuple<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let Self { threads, format, paths, missing_sources, limits, index_folder, chunk_cache_bytes, indexes, storage_options } = self;
        let storage_options = PyTuple::new(py, storage_options)?;
        let folder = index_folder.as_ref().map(|folder| folder.as_os_str());
        (threads, format, paths, missing_sources, PyTuple::new(py, limits)?, folder, chunk_cache_bytes, indexes, storage_options).into_pyobject(py)
    }
}

impl Session {
    /// The session itself.
    pub(crate) fn inner(&self) -> &hyperslab::Session {
        &self.0
    }
}

#[pymethods]
impl Session {
    #[new]
    #[expect(clippy::too_many_arguments, reason = "each is an argument of hyperslab.open")]
    #[pyo3(signature = (threads=None, format=None, paths=None, missing_sources=None, limits=Vec::new(), index_folder=None, chunk_cache_bytes=None, indexes=None, storage_options=Vec::new()))]
    fn new(
        py: Python<'_>,
        threads: Option<usize>,
        format: Option<String>,
        paths: Option<String>,
        missing_sources: Option<String>,
        limits: Vec<(String, u64)>,
        index_folder: Option<PathBuf>,
        chunk_cache_bytes: Option<u64>,
        indexes: Option<String>,
        storage_options: Vec<(String, String)>,
    ) -> PyResult<Self> {
        let unknown = |name: &str, given: &str, expected: &[&str]| Err(raise(py, &Error::unknown_choice(name, given, expected)));
        let arguments = Arguments { threads, format, paths, missing_sources, limits, index_folder, chunk_cache_bytes, indexes, storage_options };
        let trust = arguments.indexes.as_deref().map_or(Ok(IndexTrust::default()), str::parse).map_err(|error| raise(py, &error))?;
        let interpretation = match arguments.format.as_deref() {
            None => Interpretation::Automatic,
            Some("hdf5") => Interpretation::Hdf5,
            Some("netcdf4") => Interpretation::Netcdf4,
            Some(other) => return unknown("format", other, &["hdf5", "netcdf4"]),
        };
        let paths = match arguments.paths.as_deref() {
            None | Some("below" | "folder") => PathPolicy::SameFolder,
            Some("none") => PathPolicy::Nowhere,
            Some("anywhere") => PathPolicy::Anywhere,
            Some(other) => return unknown("paths", other, &["none", "below", "anywhere"]),
        };
        let missing_sources = match arguments.missing_sources.as_deref() {
            None | Some("error") => MissingSources::Error,
            Some("fill") => MissingSources::Fill,
            Some(other) => return unknown("missing_sources", other, &["error", "fill"]),
        };
        let mut bounds = Limits::default();
        for (name, value) in &arguments.limits {
            bounds.set(name, *value).map_err(|error| raise(py, &error))?;
        }
        let defaults = SessionOptions::default();
        let chunk_cache_bytes = chunk_cache_bytes.unwrap_or(defaults.chunk_cache_bytes);
        let options = defaults
            .with_chunk_cache_bytes(chunk_cache_bytes)
            .with_threads(threads)
            .with_interpretation(interpretation)
            .with_paths(paths)
            .with_missing_sources(missing_sources)
            .with_storage(StorageOptions::new(arguments.storage_options.iter().cloned()))
            .with_limits(bounds);
        let extensions = hyperslab::extensions(arguments.index_folder.clone(), trust).with(arguments);
        hyperslab::Session::with_extensions(options, extensions).map(Self).map_err(|error| raise(py, &error))
    }

    /// Opens local files or remote objects in parallel.
    fn open(&self, py: Python<'_>, paths: Vec<PathBuf>) -> PyResult<Files> {
        let session = self.0.clone();
        let is_remote = paths.iter().any(|path| path.to_str().is_some_and(is_address));
        if paths.len() == 1 && !is_remote {
            return parse(py, move || session.open_all(&paths)).map(Files::of);
        }
        let cancellation = Cancellation::new();
        let shared = cancellation.clone();
        wait(py, &cancellation, move || session.open_all_cancellable(&paths, &shared)).map(Files::of)
    }

    /// Begins to read a dataset of each file, in parallel.
    fn begin_each(&self, py: Python<'_>, paths: Vec<PathBuf>, dataset: Name) -> PyResult<EachBatch> {
        EachBatch::new(&self.0, paths, dataset.0).map_err(|error| raise(py, &error))
    }

    /// Opens what an object with a method `read_ranges` reads, of `length` bytes; `name` is for messages.
    #[pyo3(signature = (name, reader, length, version=None))]
    fn open_reader(&self, py: Python<'_>, name: PathBuf, reader: Py<PyAny>, length: u64, version: Option<String>) -> PyResult<File> {
        let (session, reader) = (self.0.clone(), Arc::new(PythonRanges(reader)));
        let opened_by = reader.0.clone_ref(py);
        let file = wait(py, &Cancellation::new(), move || session.open_reader(&name, reader, length, version))?;
        // It was just opened, so there is none.
        let _ = file.kept::<OpenedBy>().0.set(opened_by);
        Ok(File(file))
    }

    /// The address, length and entity tag of all objects below a folder of a store.
    fn list_objects(&self, py: Python<'_>, folder: String) -> PyResult<Vec<(String, u64, Option<String>)>> {
        let options = self.0.storage_options().clone();
        let found = wait(py, &Cancellation::new(), move || list_objects(&folder, &options))?;
        Ok(found.into_iter().map(|object| (object.address, object.bytes, object.tag)).collect())
    }

    /// Makes a chunk index of the object at an address, with the values of datasets of at most `inline_threshold` bytes. Returns its file, the
    /// length of the file, bytes of the object in it, objects, those that cannot be read, chunks with restart points, and all of these points.
    #[pyo3(signature = (address, out=None, is_beside=false, inline_threshold=0, restart_points=None))]
    fn make_chunk_index(
        &self,
        py: Python<'_>,
        address: PathBuf,
        out: Option<PathBuf>,
        is_beside: bool,
        inline_threshold: u64,
        restart_points: Option<u64>,
    ) -> PyResult<(OsString, u64, u64, u64, u64, u64, u64)> {
        let (session, cancellation) = (self.0.clone(), Cancellation::new());
        let place = match out {
            Some(out) => ChunkIndexPlace::At(out),
            None if is_beside => ChunkIndexPlace::Beside,
            None => ChunkIndexPlace::CacheFolder,
        };
        let made = wait(py, &cancellation, move || {
            let made = session.make_chunk_index(&address, &place, inline_threshold, restart_points);
            made.map_err(|error| error.in_file(shown_address(&address.to_string_lossy())))
        })?;
        // As text: Python's paths have no addresses.
        let MadeChunkIndex { saved, objects, unreadable, restart_chunks, restart_points, .. } = made;
        Ok((saved.path.into_os_string(), saved.bytes, saved.metadata_bytes, objects, unreadable, restart_chunks, restart_points))
    }

    /// Opens the content of a file that is in memory; `name` is for messages.
    fn open_content(&self, py: Python<'_>, name: PathBuf, content: &[u8]) -> PyResult<File> {
        let session = self.0.clone();
        py.detach(|| caught(|| session.open_content(&name, content))).map(File).map_err(|error| raise(py, &error))
    }

    /// The files of a folder whose names match a pattern of `*` and `?`, in natural order. `None` if some names of the folder are not UTF-8.
    #[staticmethod]
    fn matching(py: Python<'_>, folder: String, pattern: String) -> Option<Vec<String>> {
        py.detach(|| matching_files(&folder, &pattern))
    }

    /// Opens the files of a folder whose names match a pattern of `*` and `?`, in natural order. `None` if some names of the
    /// folder are not UTF-8.
    fn open_matching(&self, py: Python<'_>, folder: String, pattern: String) -> PyResult<Option<Files>> {
        let session = self.0.clone();
        let cancellation = Cancellation::new();
        let shared = cancellation.clone();
        let open = move || matching_files(&folder, &pattern).map(|paths| session.open_all_cancellable(&paths, &shared)).transpose();
        Ok(wait(py, &cancellation, open)?.map(Files::of))
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
