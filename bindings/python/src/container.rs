//! Container: plans of parallel writes, their tasks, and the commit.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use hyperslab::write::{Commit, Existing, Extent, Fragment, Region, Task as CoreTask, WriteMode, WritePlan as CorePlan};
use hyperslab::{Cancellation, Error, Result, Session, SessionOptions};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::definition::datatype;
use crate::error::raise;
use crate::wait::{run, wait};
use crate::writer::{PyFilter, attribute, dataspace, definition, of_list};

/// How a container is to be written.
#[pyclass(frozen, module = "hyperslab._native")]
pub(crate) struct WritePlan(CorePlan);

/// What a commit did: name, bytes and task of each subfile; whether it was done before; what is left.
type PyCommitted = (Vec<(String, u64, u64)>, bool, Vec<String>);

#[pymethods]
impl WritePlan {
    /// `mode` is `create`, `overwrite` or `append`.
    #[new]
    #[pyo3(signature = (path, mode, alignment=None))]
    fn new(py: Python<'_>, path: PathBuf, mode: &str, alignment: Option<u64>) -> PyResult<Self> {
        let mode = match mode {
            "create" => WriteMode::Create,
            "overwrite" => WriteMode::Overwrite,
            "append" => WriteMode::Append,
            other => return Err(raise(py, &Error::invalid_input(format!("mode {other:?} is none of create, overwrite, append")))),
        };
        run(py, move || CorePlan::new(&path, mode, alignment)).map(Self)
    }

    /// The plan of these bytes.
    #[staticmethod]
    fn decode(py: Python<'_>, bytes: &[u8]) -> PyResult<Self> {
        CorePlan::decode(bytes).map(Self).map_err(|error| raise(py, &error))
    }

    fn encode<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = self.0.encode().map_err(|error| raise(py, &error))?;
        Ok(PyBytes::new(py, &bytes))
    }

    #[getter]
    fn path(&self) -> PathBuf {
        self.0.path().to_path_buf()
    }

    /// What identifies this write.
    #[getter]
    fn id(&self) -> String {
        self.0.id().to_owned()
    }

    /// Begins a task, or another attempt at it.
    #[pyo3(signature = (number, threads=None))]
    fn task(&self, py: Python<'_>, number: u64, threads: Option<usize>) -> PyResult<Task> {
        let plan = self.0.clone();
        let task = run(py, move || {
            let session = Session::new(SessionOptions { threads, ..SessionOptions::default() })?;
            plan.task(number, &session)
        });
        task.map(|task| Task(Arc::new(Mutex::new(Some(task)))))
    }

    /// Makes the fragments visible.
    fn commit(&self, py: Python<'_>, fragments: Vec<Vec<u8>>) -> PyResult<PyCommitted> {
        let plan = self.0.clone();
        let outcome = wait(py, &Cancellation::new(), move || {
            let fragments = fragments.iter().map(|bytes| Fragment::decode(bytes)).collect::<Result<Vec<_>>>()?;
            plan.commit(&fragments)
        })?;
        match outcome {
            Commit::Committed(done) => {
                let subfiles = done.subfiles.into_iter().map(|subfile| (subfile.name, subfile.bytes, subfile.task)).collect();
                Ok((subfiles, done.repeated, done.left))
            }
            Commit::Conflicted(error) | Commit::Retryable(error) => Err(raise(py, &error)),
        }
    }

    /// Gives the write up.
    fn abort(&self, py: Python<'_>) -> PyResult<()> {
        let plan = self.0.clone();
        run(py, move || plan.abort())
    }
}

/// A task under way; `None` when it was finished or given up.
#[pyclass(frozen, module = "hyperslab._native")]
pub(crate) struct Task(Arc<Mutex<Option<CoreTask>>>);

fn locked<T>(shared: &Mutex<Option<CoreTask>>, work: impl FnOnce(&mut CoreTask) -> Result<T>) -> Result<T> {
    let mut task = shared.lock().map_err(|_| Error::internal("an earlier write of this task failed"))?;
    work(task.as_mut().ok_or_else(|| Error::invalid_input("the task is closed: it was finished or given up"))?)
}

impl Task {
    fn with<T: Send>(&self, py: Python<'_>, work: impl FnOnce(&mut CoreTask) -> Result<T> + Send) -> PyResult<T> {
        let shared = self.0.clone();
        run(py, move || locked(&shared, work))
    }
}

#[pymethods]
impl Task {
    fn create_group(&self, py: Python<'_>, path: String) -> PyResult<()> {
        self.with(py, |task| task.create_group(&path))
    }

    /// As `Writer.create_dataset`; `region` is start and count of what this task writes, `rows` says that it
    /// adds rows of its own.
    #[pyo3(signature = (path, datatype, shape, maxshape=None, chunks=None, filters=Vec::new(), fill=None, region=None, rows=false))]
    #[expect(clippy::too_many_arguments, reason = "one for each keyword of create_dataset")]
    fn create_dataset(
        &self,
        py: Python<'_>,
        path: String,
        datatype: &Bound<'_, PyDict>,
        shape: Option<Vec<u64>>,
        maxshape: Option<Vec<Option<u64>>>,
        chunks: Option<Vec<u64>>,
        filters: Vec<PyFilter>,
        fill: Option<Vec<u8>>,
        region: Option<(Vec<u64>, Vec<u64>)>,
        rows: bool,
    ) -> PyResult<Option<Vec<u64>>> {
        let datatype = self::datatype(datatype)?;
        self.with(py, move |task| {
            let definition = definition(datatype, dataspace(shape, maxshape)?, chunks.clone(), filters, fill);
            let extent = match (region, rows) {
                (None, false) => Extent::Any,
                (Some((start, count)), false) => Extent::Region(Region { start, count }),
                (None, true) => Extent::Rows,
                (Some(_), true) => return Err(Error::invalid_input("a region of rows of its own: give one of region and rows")),
            };
            task.create_dataset(&path, definition, extent)?;
            Ok(chunks)
        })
    }

    #[pyo3(signature = (path, target, file=None))]
    fn create_link(&self, py: Python<'_>, path: String, target: String, file: Option<String>) -> PyResult<()> {
        let _ = (target, file);
        Err(raise(py, &Error::unsupported("links in a parallel write").at_object(path)))
    }

    #[expect(clippy::too_many_arguments, reason = "a value is shape, datatype, bytes and heap")]
    fn set_attribute(
        &self,
        py: Python<'_>,
        path: String,
        name: String,
        shape: Option<Vec<u64>>,
        datatype: &Bound<'_, PyDict>,
        value: Vec<u8>,
        heap: Vec<Vec<u8>>,
    ) -> PyResult<()> {
        let datatype = self::datatype(datatype)?;
        self.with(py, move |task| task.set_attribute(&path, &name, attribute(shape, datatype, value, heap)?))
    }

    fn grow(&self, py: Python<'_>, path: String, shape: Vec<u64>) -> PyResult<()> {
        self.with(py, |task| task.grow(&path, shape))
    }

    /// As `Writer.write`, with the same contract.
    #[expect(clippy::too_many_arguments, reason = "values are a box, memory and a heap")]
    fn write(&self, py: Python<'_>, path: String, start: Vec<u64>, count: Vec<u64>, address: usize, length: usize, heap: Vec<Vec<u8>>) -> PyResult<()> {
        let shared = self.0.clone();
        wait(py, &Cancellation::new(), move || {
            let values: &[u8] = if length == 0 || address == 0 {
                &[]
            } else {
                // SAFETY: as in `Writer::write`: the caller's array owns that memory until this returns, and
                // `wait` does not return before this closure has ended.
                unsafe { std::slice::from_raw_parts(address as *const u8, length) }
            };
            let resolve = |reference| of_list(&heap, reference);
            locked(&shared, |task| task.write(&path, &Region { start, count }, values, &resolve))
        })
    }

    /// Ends the subfile; the fragment's bytes.
    fn finish<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let taken = self.0.lock().map_err(|_| raise(py, &Error::internal("an earlier write of this task failed")))?.take();
        let Some(task) = taken else { return Err(raise(py, &Error::invalid_input("the task is closed: it was finished or given up"))) };
        let bytes = wait(py, &Cancellation::new(), move || task.finish()?.encode())?;
        Ok(PyBytes::new(py, &bytes))
    }

    fn abort(&self) {
        if let Ok(mut task) = self.0.lock() {
            task.take();
        }
    }
}

/// Problems, commits, subfiles and their bytes of the container at `path`.
#[pyfunction]
pub(crate) fn verify(py: Python<'_>, path: PathBuf) -> PyResult<(Vec<String>, u64, u64, u64)> {
    let found = wait(py, &Cancellation::new(), move || hyperslab::write::verify(&path))?;
    Ok((found.problems, found.commits, found.subfiles, found.subfile_bytes))
}

/// Writes a container into one file; gives its length, chunks copied, and bytes of values encoded anew.
/// `progress` is called with bytes done and in all.
#[pyfunction]
#[pyo3(signature = (master, target, replace, progress=None))]
pub(crate) fn fuse(py: Python<'_>, master: PathBuf, target: PathBuf, replace: bool, progress: Option<Py<PyAny>>) -> PyResult<(u64, u64, u64)> {
    let existing = if replace { Existing::Replace } else { Existing::Keep };
    let cancellation = Cancellation::new();
    let shared = cancellation.clone();
    let fused = wait(py, &cancellation, move || {
        let mut heard = |done: u64, total: u64| {
            if let Some(progress) = &progress {
                // Who listens to progress does not stop the work.
                let _ = Python::attach(|py| progress.call1(py, (done, total)).map(|_| ()));
            }
        };
        hyperslab::write::fuse(&master, &target, existing, &shared, &mut heard)
    })?;
    Ok((fused.bytes, fused.copied_chunks, fused.recoded_bytes))
}
