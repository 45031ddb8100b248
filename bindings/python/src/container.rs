//! Container: plans of parallel writes, their tasks, and the commit.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hyperslab::filter::{Filter, Pipeline};
use hyperslab::storage::{StorageOptions, is_address};
use hyperslab::write::{Commit, Definitions, Existing, Fragment, LibraryVersion, Region, Repacking, WriteMode, WritePlan as CorePlan};
use hyperslab::{Cancellation, Elements, Error, SessionOptions, new_session};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::dataset_definition::{DatasetDefinition, PyFilter};
use crate::datatype::Datatype;
use crate::error::raise;
use crate::file::File;
use crate::name::{Name, texts};
use crate::results::container::{Committed, Fused, VacuumResult, Verification, WrittenDataset, changes};
use crate::wait::{run, wait, wait_writing};
use crate::writer::{Writer, attribute, heap_of, link};

/// A parallel write: the container, what tasks have in common, and how it is stored.
#[pyclass(frozen, module = "hyperslab._native")]
pub(crate) struct WritePlan(Mutex<Arc<CorePlan>>);

const FAILED: &str = "an earlier change to the plan failed half-way";

impl WritePlan {
    fn define(&self, py: Python<'_>, work: impl FnOnce(&mut Definitions) -> hyperslab::Result<()>) -> PyResult<()> {
        let mut plan = self.0.lock().map_err(|_| raise(py, &Error::internal(FAILED)))?;
        work(Arc::make_mut(&mut plan).definitions()).map_err(|error| raise(py, &error))
    }

    /// The current plan. Tasks share it, because it may have a region for each of 100,000 tasks.
    fn plan(&self, py: Python<'_>) -> PyResult<Arc<CorePlan>> {
        Ok(Arc::clone(&*self.0.lock().map_err(|_| raise(py, &Error::internal(FAILED)))?))
    }
}

#[pymethods]
impl WritePlan {
    /// `mode` is `x`, `w` or `a`. A path may be an address of an object store.
    #[new]
    #[pyo3(signature = (path, mode, alignment=None, writers=None, factor=None, durable=true, checksums=false, track_order=false, storage_options=Vec::new()))]
    #[expect(clippy::too_many_arguments, reason = "one for each keyword of WritePlan")]
    fn new(
        py: Python<'_>,
        path: PathBuf,
        mode: &str,
        alignment: Option<u64>,
        writers: Option<u64>,
        factor: Option<u64>,
        durable: bool,
        checksums: bool,
        track_order: bool,
        storage_options: Vec<(String, String)>,
    ) -> PyResult<Self> {
        let mode = match mode {
            "x" => WriteMode::Create,
            "w" => WriteMode::Overwrite,
            "a" => WriteMode::Append,
            other => return Err(raise(py, &Error::unknown_choice("mode", other, &["x", "w", "a"]))),
        };
        let made = run(py, move || {
            let mut plan = CorePlan::new_at(&path, mode, alignment, &StorageOptions::new(storage_options))?;
            match (writers, factor) {
                (Some(writers), factor) => plan.share(writers, factor)?,
                (None, Some(_)) => return Err(Error::invalid_input("tasks of a subfile without how many there are: give writers")),
                (None, None) => {}
            }
            if !durable {
                plan.without_sync();
            }
            if checksums {
                plan.with_checksums()?;
            }
            if track_order {
                plan.track_order();
            }
            Ok(plan)
        });
        made.map(|plan| Self(Mutex::new(Arc::new(plan))))
    }

    /// Adds a dataset that all tasks write together; `regions` are start and count for each.
    #[pyo3(signature = (path, definition, regions=None))]
    fn create_dataset(&self, py: Python<'_>, path: Name, definition: PyRef<'_, DatasetDefinition>, regions: Option<Vec<(Vec<u64>, Vec<u64>)>>) -> PyResult<()> {
        let regions = regions.map(|regions| regions.into_iter().map(|(start, count)| Region { start, count }).collect());
        let mut plan = self.0.lock().map_err(|_| raise(py, &Error::internal(FAILED)))?;
        Arc::make_mut(&mut plan).create_dataset(&path, definition.0.clone(), regions).map_err(|error| raise(py, &error))
    }

    /// Text that the program that made the plan attached for its tasks.
    #[getter]
    fn note(&self, py: Python<'_>) -> PyResult<String> {
        Ok(self.plan(py)?.note().to_owned())
    }

    fn set_note(&self, py: Python<'_>, note: String) -> PyResult<()> {
        Arc::make_mut(&mut *self.0.lock().map_err(|_| raise(py, &Error::internal(FAILED)))?).set_note(note);
        Ok(())
    }

    /// Defines a group of the plan.
    fn define_group(&self, py: Python<'_>, path: Name) -> PyResult<()> {
        self.define(py, |definitions| definitions.create_group(&path))
    }

    /// Defines a dataset of the plan, which tasks open for writing. With `rows`, each task appends its own rows. `value` is the
    /// bytes and the heap of all of its values.
    #[pyo3(signature = (path, definition, rows=false, value=None))]
    fn define_dataset(
        &self,
        py: Python<'_>,
        path: Name,
        definition: PyRef<'_, DatasetDefinition>,
        rows: bool,
        value: Option<(Vec<u8>, Vec<Vec<u8>>)>,
    ) -> PyResult<()> {
        let definition = definition.0.clone();
        self.define(py, |definitions| {
            let datatype = definition.datatype.clone();
            let value = match value {
                Some((bytes, heap)) => Some(Elements { datatype, bytes, heap: heap_of(heap)? }),
                None => None,
            };
            definitions.create_dataset(&path, definition, rows, value.as_ref())
        })
    }

    /// Defines a link of the plan.
    #[pyo3(signature = (path, target, file=None, hard=false))]
    fn define_link(&self, py: Python<'_>, path: Name, target: Name, file: Option<Name>, hard: bool) -> PyResult<()> {
        self.define(py, |definitions| definitions.create_link(&path, link(target, file, hard)))
    }

    /// Commits a datatype of the plan.
    fn define_datatype(&self, py: Python<'_>, path: Name, datatype: &Datatype) -> PyResult<()> {
        let datatype = datatype.core();
        self.define(py, |definitions| definitions.create_datatype(&path, &datatype))
    }

    /// Sets an attribute of an object of the plan.
    #[expect(clippy::too_many_arguments, reason = "a value is shape, datatype, bytes and heap")]
    fn set_attribute(
        &self,
        py: Python<'_>,
        path: Name,
        name: Name,
        shape: Option<Vec<u64>>,
        datatype: &Datatype,
        value: Vec<u8>,
        heap: Vec<Vec<u8>>,
    ) -> PyResult<()> {
        let datatype = datatype.core();
        self.define(py, |definitions| definitions.set_attribute(&path, &name, &attribute(shape, datatype, value, heap)?))
    }

    /// Defines a dataset of references to the objects at these paths, or sets an attribute called `name`.
    #[pyo3(signature = (path, name, shape, targets))]
    fn set_references(&self, py: Python<'_>, path: Name, name: Option<Name>, shape: Vec<u64>, targets: Vec<Option<Name>>) -> PyResult<()> {
        let targets: Vec<Option<String>> = targets.into_iter().map(|target| target.map(String::from)).collect();
        self.define(py, |definitions| match name {
            None => definitions.create_references(&path, shape, &targets),
            Some(name) => definitions.set_references(&path, &name, shape, &targets),
        })
    }

    /// Whether the order of an object's attributes and members is recorded.
    fn set_tracked(&self, py: Python<'_>, path: Name, tracked: bool) -> PyResult<()> {
        self.define(py, |definitions| definitions.set_tracked(&path, tracked))
    }

    /// Makes a dataset the scale of a dimension of another.
    fn attach_scale(&self, py: Python<'_>, path: Name, dimension: u32, scale: Name) -> PyResult<()> {
        self.define(py, |definitions| definitions.attach_scale(&path, dimension, &scale))
    }

    /// Start and count of the part of a dataset of the plan that a task writes.
    fn region(&self, py: Python<'_>, path: Name, task: u64) -> PyResult<(Vec<u64>, Vec<u64>)> {
        let region = self.plan(py)?.region(&path, task).map_err(|error| raise(py, &error))?;
        Ok((region.start, region.count))
    }

    /// Number of tasks that share a subfile.
    #[getter]
    fn factor(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.plan(py)?.factor())
    }

    /// Decodes a plan.
    #[staticmethod]
    fn decode(py: Python<'_>, bytes: &[u8]) -> PyResult<Self> {
        CorePlan::decode(bytes).map(|plan| Self(Mutex::new(Arc::new(plan)))).map_err(|error| raise(py, &error))
    }

    fn encode<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = self.plan(py)?.encode().map_err(|error| raise(py, &error))?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// The master file. Its path is UTF-8.
    #[getter]
    fn path(&self, py: Python<'_>) -> PyResult<String> {
        let plan = self.0.lock().map_err(|_| raise(py, &Error::internal(FAILED)))?;
        Ok(plan.path().display().to_string())
    }

    /// Sets the options of the store in this process.
    fn set_storage_options(&self, py: Python<'_>, storage_options: Vec<(String, String)>) -> PyResult<()> {
        let mut plan = self.0.lock().map_err(|_| raise(py, &Error::internal(FAILED)))?;
        Arc::make_mut(&mut plan).set_storage_options(StorageOptions::new(storage_options)).map_err(|error| raise(py, &error))
    }

    /// The identifier of this write.
    #[getter]
    fn id(&self, py: Python<'_>) -> PyResult<String> {
        Ok(self.plan(py)?.id().to_owned())
    }

    /// Begins a task, or another attempt at it.
    #[pyo3(signature = (number, threads=None))]
    fn task(&self, py: Python<'_>, number: u64, threads: Option<usize>) -> PyResult<Writer> {
        let plan = self.plan(py)?;
        let task = run(py, move || {
            let session = new_session(SessionOptions::default().with_threads(threads))?;
            plan.task(number, &session)
        });
        task.map(Writer::new)
    }

    /// Publishes the fragments.
    fn commit(&self, py: Python<'_>, fragments: Vec<Vec<u8>>) -> PyResult<Committed> {
        let plan = self.plan(py)?;
        /// A commit of at most this many bytes of fragments, and of this many fragments if it waits for the disk, is too short
        /// to be cancelled: it runs on the calling thread.
        const SMALL_BYTES: usize = 256 << 10;
        const MAX_DURABLE: usize = 4;
        let quick = !plan.is_remote() && (!plan.is_durable() || fragments.len() <= MAX_DURABLE) && fragments.iter().map(Vec::len).sum::<usize>() <= SMALL_BYTES;
        let work = move || plan.commit(&Fragment::decode_all(&fragments)?);
        let outcome = if quick { run(py, work)? } else { wait_writing(py, &Cancellation::new(), work)? };
        match outcome {
            Commit::Committed(done) => Committed::new(py, done),
            Commit::Conflicted(error) | Commit::Retryable(error) => Err(raise(py, &error)),
        }
    }

    /// Creates the folder of the tasks' subfiles.
    fn begin(&self, py: Python<'_>) -> PyResult<()> {
        let mut begun = CorePlan::clone(&*self.plan(py)?);
        let begun = run(py, move || begun.begin().map(|()| begun))?;
        *self.0.lock().map_err(|_| raise(py, &Error::internal(FAILED)))? = Arc::new(begun);
        Ok(())
    }

    /// Discards the write.
    fn abort(&self, py: Python<'_>) -> PyResult<()> {
        let plan = self.plan(py)?;
        run(py, move || plan.abort())
    }
}

/// The task of a fragment, and what it wrote of each dataset.
#[pyfunction]
pub(crate) fn written_datasets(py: Python<'_>, fragment: Vec<u8>) -> PyResult<(u64, Vec<WrittenDataset>)> {
    run(py, move || {
        let fragment = Fragment::decode(&fragment)?;
        Ok((fragment.task(), fragment.datasets()?.into_iter().map(WrittenDataset::from).collect()))
    })
}

/// Checks the container at `path`, and with `values` all of its bytes.
#[pyfunction]
#[pyo3(signature = (path, values=false))]
pub(crate) fn verify(py: Python<'_>, path: PathBuf, values: bool) -> PyResult<Verification> {
    wait(py, &Cancellation::new(), move || hyperslab::write::verify(&path, values)).map(Verification::from)
}

/// Removes uncommitted and overwritten data of plans if it did not change during the last `seconds`. Commits without a
/// master are removed only with `orphans`. `path` may be the address of a master in an object store.
#[pyfunction]
#[pyo3(signature = (path, seconds, orphans, dry_run, storage_options=Vec::new()))]
pub(crate) fn vacuum(
    py: Python<'_>,
    path: PathBuf,
    seconds: f64,
    orphans: bool,
    dry_run: bool,
    storage_options: Vec<(String, String)>,
) -> PyResult<VacuumResult> {
    let age = Duration::try_from_secs_f64(seconds).map_err(|_| raise(py, &Error::invalid_input(format!("an age of {seconds} seconds"))))?;
    let options = hyperslab::write::VacuumOptions::new(age).with_orphans(orphans).with_is_dry(dry_run);
    if let Some(address) = path.to_str().filter(|name| is_address(name)).map(str::to_owned) {
        let work = move || hyperslab::write::vacuum_at(&address, options, &StorageOptions::new(storage_options));
        return wait_writing(py, &Cancellation::new(), work).map(VacuumResult::from);
    }
    run(py, move || hyperslab::write::vacuum(&path, options)).map(VacuumResult::from)
}

/// Writes a container into one file. `progress` is called with the bytes of values processed so far and their total.
#[pyfunction]
#[pyo3(signature = (master, target, replace, progress=None))]
pub(crate) fn fuse(py: Python<'_>, master: PathBuf, target: PathBuf, replace: bool, progress: Option<Py<PyAny>>) -> PyResult<Fused> {
    fused(py, replace, progress, move |existing, cancellation, report| hyperslab::write::fuse(&master, &target, existing, cancellation, report))
}

/// Writes an open file, and what its virtual datasets show of other files, into one file. `progress` is called as for `fuse`.
#[pyfunction]
#[pyo3(signature = (file, target, replace, progress=None))]
pub(crate) fn fuse_file(py: Python<'_>, file: PyRef<'_, File>, target: PathBuf, replace: bool, progress: Option<Py<PyAny>>) -> PyResult<Fused> {
    let file = file.0.clone();
    fused(py, replace, progress, move |existing, cancellation, report| {
        file.check_open()?;
        hyperslab::write::fuse_file(&file, &target, existing, cancellation, report)
    })
}

/// Copies the first of several files, with what comes from the joined file of all: paths of datasets, objects and names of attributes, those that are
/// left out, links that are left out, and the path of a new dimension with the datasets along it. `progress` is called as for `fuse`.
#[pyfunction]
#[pyo3(signature = (first, joined, target, replace, datasets, attributes, left_out, links, new_dimension=None, progress=None))]
#[expect(clippy::too_many_arguments, reason = "one for each kind of what differs")]
pub(crate) fn merge_files(
    py: Python<'_>,
    first: PyRef<'_, File>,
    joined: PyRef<'_, File>,
    target: PathBuf,
    replace: bool,
    datasets: Vec<Name>,
    attributes: Vec<(Name, Name)>,
    left_out: Vec<(Name, Name)>,
    links: Vec<Name>,
    new_dimension: Option<(Name, Vec<Name>)>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Fused> {
    let (first, joined) = (first.0.clone(), joined.0.clone());
    let mut how = hyperslab::write::Merging::default();
    let pairs = |names: Vec<(Name, Name)>| names.into_iter().map(|(path, name)| (path.into(), name.into())).collect();
    (how.datasets, how.attributes, how.left_out) = (texts(datasets), pairs(attributes), pairs(left_out));
    how.links = texts(links);
    how.new_dimension = new_dimension.map(|(path, datasets)| (path.into(), texts(datasets)));
    fused(py, replace, progress, move |existing, cancellation, report| {
        first.check_open()?;
        hyperslab::write::merge_files((&first, &joined), &how, &target, existing, cancellation, report)
    })
}

fn fused(
    py: Python<'_>,
    replace: bool,
    progress: Option<Py<PyAny>>,
    work: impl FnOnce(Existing, &Cancellation, &mut dyn FnMut(u64, u64)) -> hyperslab::Result<hyperslab::write::Fused> + Send + 'static,
) -> PyResult<Fused> {
    let existing = if replace { Existing::Replace } else { Existing::Keep };
    let cancellation = Cancellation::new();
    let shared = cancellation.clone();
    let fused = wait(py, &cancellation, move || {
        let mut report = |done: u64, total: u64| {
            if let Some(progress) = &progress {
                // An exception in `progress` does not stop the work.
                let _ = Python::attach(|py| progress.call1(py, (done, total)).map(|_| ()));
            }
        };
        work(existing, &shared, &mut report)
    })?;
    Ok(Fused::from(fused))
}

/// Copies a file into a new one. `datasets` are path, chunk shape and filters of those that are stored in another way. `check` is
/// called with the temporary path of the complete file, and paths and texts of what is not as it was; if it raises an exception, no file is left.
#[pyfunction]
#[pyo3(signature = (source, target, datasets, check, alignment=None, page_bytes=None, newest=None, objects=None, checkpoint_bytes=None, progress=None))]
#[expect(clippy::too_many_arguments, reason = "one for each keyword of repack")]
pub(crate) fn repack(
    py: Python<'_>,
    source: PathBuf,
    target: PathBuf,
    datasets: Vec<(String, Option<Vec<u64>>, Vec<PyFilter>)>,
    check: Py<PyAny>,
    alignment: Option<u64>,
    page_bytes: Option<u64>,
    newest: Option<&str>,
    objects: Option<(Vec<String>, Vec<String>)>,
    checkpoint_bytes: Option<u64>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Fused> {
    let newest = newest.map_or_else(|| Ok(LibraryVersion::default()), LibraryVersion::named).map_err(|error| raise(py, &error))?;
    let mut how = Repacking::default().with_alignment(alignment).with_page_bytes(page_bytes).with_newest(newest).with_checkpoints(checkpoint_bytes);
    if let Some((chosen, excluded)) = objects {
        how = how.with_objects(chosen, excluded);
    }
    for (path, chunk_shape, filters) in datasets {
        let filters = filters.into_iter().map(|(id, name, optional, parameters)| Filter { id, name, optional, parameters });
        how = how.with_dataset(path, chunk_shape, Pipeline { filters: filters.collect() });
    }
    let cancellation = Cancellation::new();
    let shared = cancellation.clone();
    let failure = std::sync::Arc::new(Mutex::new(None));
    let raised = failure.clone();
    let made = wait(py, &cancellation, move || {
        let mut report = |done: u64, total: u64| {
            if let Some(progress) = &progress {
                // An exception in `progress` does not stop the work.
                let _ = Python::attach(|py| progress.call1(py, (done, total)).map(|_| ()));
            }
        };
        let examine = |path: &std::path::Path, changed: &[hyperslab::write::Change]| {
            let outcome = Python::attach(|py| check.call1(py, (path, changes(changed.to_vec()))).map(|_| ()));
            outcome.map_err(|error| {
                let is_damaged = Python::attach(|py| error.get_type(py).name().is_ok_and(|name| name == "CorruptError"));
                if let Ok(mut slot) = raised.lock() {
                    *slot = Some(error);
                }
                // Python's own exception is raised in place of this one.
                if is_damaged { Error::corrupt("the new file differs from the old one") } else { Error::internal("the check of the new file failed") }
            })
        };
        hyperslab::write::repack(&source, &target, &how, examine, &shared, &mut report)
    });
    // The exception of `check` itself, not one that says that there was one.
    let raised = failure.lock().ok().and_then(|mut slot| slot.take());
    match (made, raised) {
        (Err(_), Some(error)) => Err(error),
        (made, _) => made.map(Fused::from),
    }
}

/// Copies a file into a new container of Arrow files: a folder, or one file. Returns paths of objects and texts that say what is not as it was.
#[pyfunction]
#[pyo3(signature = (source, target, one_file, progress=None))]
pub(crate) fn to_container(py: Python<'_>, source: PathBuf, target: PathBuf, one_file: bool, progress: Option<Py<PyAny>>) -> PyResult<Vec<(Name, String)>> {
    let cancellation = Cancellation::new();
    let shared = cancellation.clone();
    wait(py, &cancellation, move || {
        let mut report = |done: u64, total: u64| {
            if let Some(progress) = &progress {
                // An exception in `progress` does not stop the work.
                let _ = Python::attach(|py| progress.call1(py, (done, total)).map(|_| ()));
            }
        };
        hyperslab::write::to_container(&source, &target, one_file, &shared, &mut report).map(changes)
    })
}
