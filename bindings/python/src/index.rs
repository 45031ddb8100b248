//! Index: plans, tasks, fragments and the commit of value indexes; queries of one index.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use arrow_array::ffi::to_ffi;
use arrow_array::{Array, ArrayRef, UInt64Array};
use hyperslab::columns::Column;
use hyperslab::index::{IndexFragment, IndexPlan as CorePlan, IndexRequest, IndexTask, IndexTrust};
use hyperslab::predicate::Condition;
use hyperslab::predicate::Predicate;
use hyperslab::scan::decoding;
use hyperslab::scan::pruner::{ColumnIndex as CoreIndex, Level, pruner_of};
use hyperslab::{Cancellation, Error, ObjectId, Result, Selection, Session, SessionOptions, new_session, new_session_with_indexes};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule};

use crate::error::raise;
use crate::file::{File, PyAxis, selection};
use crate::files::GivenFiles;
use crate::name::{Name, texts};
use crate::results::index::{Indexed, PlannedIndex, ValueCounts};
use crate::wait::{run, wait, wait_writing};

/// What an index is of: a path, or the paths of datasets that have one index together.
#[derive(FromPyObject)]
enum GivenDatasets {
    Path(Name),
    Together(Vec<Name>),
}

/// A planned build of indexes.
#[pyclass(frozen, module = "hyperslab._native")]
pub(crate) struct IndexPlan {
    plan: Arc<CorePlan>,
    session: Session,
}

#[pymethods]
impl IndexPlan {
    #[new]
    #[pyo3(signature = (files, datasets, level=None, raw=false, together=false, rebuild=false))]
    fn new(
        py: Python<'_>,
        files: GivenFiles<'_>,
        datasets: Vec<GivenDatasets>,
        level: Option<&str>,
        raw: bool,
        together: bool,
        rebuild: bool,
    ) -> PyResult<Self> {
        let level = level.map(str::parse::<Level>).transpose().map_err(|error| raise(py, &error))?;
        let files = files.files();
        let session = files.as_slice().first().map(|file| file.session().clone());
        let session = session.ok_or_else(|| raise(py, &Error::invalid_input("an index needs at least one file")))?;
        let (mut alone, mut composites) = (Vec::new(), Vec::new());
        for given in datasets {
            match given {
                GivenDatasets::Path(path) => alone.push(path.0),
                GivenDatasets::Together(paths) => composites.push(texts(paths)),
            }
        }
        let request = IndexRequest::new(alone).with_composites(composites).with_level(level).with_raw(raw).with_shared_sidecar(together).with_rebuild(rebuild);
        let cancellation = Cancellation::new();
        let shared = cancellation.clone();
        let plan = wait(py, &cancellation, move || CorePlan::new(files.as_slice(), &request, &shared))?;
        Ok(Self { plan: Arc::new(plan), session })
    }

    /// The datasets of the plan.
    fn datasets(&self) -> Vec<PlannedIndex> {
        self.plan.datasets().iter().map(PlannedIndex::from).collect()
    }

    /// Bytes of values to be read.
    #[getter]
    fn value_bytes(&self) -> u64 {
        self.plan.value_bytes()
    }

    /// Builds and commits everything in this process. Returns the number of datasets. `progress` is called with the number of
    /// bytes of values processed since the last call.
    #[pyo3(signature = (progress=None))]
    fn run(&self, py: Python<'_>, progress: Option<Py<PyAny>>) -> PyResult<u64> {
        let (plan, session, cancellation) = (self.plan.clone(), self.session.clone(), Cancellation::new());
        let shared = cancellation.clone();
        wait_writing(py, &cancellation, move || {
            plan.run(&session, &shared, &|bytes| {
                if let Some(progress) = &progress {
                    // An exception in `progress` does not stop the work.
                    let _ = Python::attach(|py| progress.call1(py, (bytes,)).map(|_| ()));
                }
            })
        })
    }

    /// Tasks as bytes, about `count` of them.
    fn tasks<'py>(&self, py: Python<'py>, count: usize) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        let tasks: Result<Vec<Vec<u8>>> = self.plan.tasks(count).iter().map(IndexTask::encode).collect();
        Ok(tasks.map_err(|error| raise(py, &error))?.iter().map(|bytes| PyBytes::new(py, bytes)).collect())
    }
}

/// Runs a task. Returns its encoded fragment.
#[pyfunction]
#[pyo3(signature = (task, threads=None))]
pub(crate) fn index_task<'py>(py: Python<'py>, task: &[u8], threads: Option<usize>) -> PyResult<Bound<'py, PyBytes>> {
    let (task, cancellation) = (task.to_vec(), Cancellation::new());
    let shared = cancellation.clone();
    let bytes = wait(py, &cancellation, move || {
        let session = new_session(SessionOptions::default().with_threads(threads))?;
        IndexTask::decode(&task)?.run(&session, &shared, &|_| ())?.encode()
    })?;
    Ok(PyBytes::new(py, &bytes))
}

/// Publishes fragments.
#[pyfunction]
pub(crate) fn index_commit(py: Python<'_>, fragments: Vec<Vec<u8>>) -> PyResult<Indexed> {
    run(py, move || {
        let fragments = fragments.iter().map(|bytes| IndexFragment::decode(bytes)).collect::<Result<Vec<_>>>()?;
        let datasets = hyperslab::index::commit(&fragments)?;
        let blocks = fragments.iter().map(IndexFragment::blocks);
        let (built_blocks, kept_blocks) = blocks.fold((0, 0), |(built, kept), (more, same)| (built + more, kept + same));
        Ok(Indexed { datasets, built_blocks, kept_blocks })
    })
}

/// Describes datasets whose values changed since they were indexed.
#[pyfunction]
pub(crate) fn index_verify(py: Python<'_>, file: PyRef<'_, File>) -> PyResult<Vec<String>> {
    let (file, cancellation) = (file.0.clone(), Cancellation::new());
    let shared = cancellation.clone();
    wait(py, &cancellation, move || hyperslab::index::verify(&file, &shared))
}

/// Moves the index next to an HDF5 file to the end of the file.
#[pyfunction]
pub(crate) fn index_embed(py: Python<'_>, path: PathBuf) -> PyResult<()> {
    run(py, move || hyperslab::index::embed(&new_session(SessionOptions::default())?, &path))
}

/// Lists the index at the end of a file in a sidecar, so that it can be brought up to date there. Returns whether there is one.
#[pyfunction]
pub(crate) fn index_stage(py: Python<'_>, path: PathBuf) -> PyResult<bool> {
    run(py, move || hyperslab::index::stage(&path))
}

/// Removes the sidecar that `index_stage` created, if nothing was built into it.
#[pyfunction]
pub(crate) fn index_unstage(py: Python<'_>, path: PathBuf) -> PyResult<()> {
    run(py, move || hyperslab::index::unstage(&path))
}

/// Removes leftovers of killed index builds, and unused indexes at the end of a file. Returns what was removed.
#[pyfunction]
#[pyo3(signature = (path, seconds, index_folder=None, dry_run=false))]
pub(crate) fn index_vacuum(py: Python<'_>, path: PathBuf, seconds: f64, index_folder: Option<PathBuf>, dry_run: bool) -> PyResult<Vec<String>> {
    let age = Duration::try_from_secs_f64(seconds).map_err(|_| raise(py, &Error::invalid_input(format!("an age of {seconds} seconds"))))?;
    run(py, move || hyperslab::index::vacuum(&new_session_with_indexes(SessionOptions::default(), index_folder, IndexTrust::Own)?, &path, age, dry_run))
}

/// Length and modification time of a file, or of everything in a folder.
#[pyfunction]
pub(crate) fn path_stamp(path: &str) -> Option<(u64, u64)> {
    hyperslab::foreign::path_stamp(path.as_ref())
}

/// Why indexes of a file are not used, or only in part.
#[pyfunction]
pub(crate) fn index_remarks(py: Python<'_>, file: PyRef<'_, File>) -> PyResult<Vec<String>> {
    let file = file.0.clone();
    run(py, move || hyperslab::index::status(&file))
}

/// An array as Arrow capsules: its type, and its values.
type Values<'py> = (Bound<'py, PyCapsule>, Bound<'py, PyCapsule>);

fn capsules(py: Python<'_>, array: ArrayRef) -> PyResult<Values<'_>> {
    let (array, schema) = to_ffi(&array.to_data()).map_err(|e| raise(py, &Error::internal(format!("an array cannot leave Rust: {e}"))))?;
    Ok((PyCapsule::new_with_value(py, schema, c"arrow_schema")?, PyCapsule::new_with_value(py, array, c"arrow_array")?))
}

/// The index of one dataset.
#[pyclass(frozen, module = "hyperslab._native")]
pub(crate) struct ColumnIndex {
    index: Arc<dyn CoreIndex>,
    file: hyperslab::File,
    dataset: ObjectId,
    column: Column,
}

impl ColumnIndex {
    fn ask<T: Send + 'static>(
        &self,
        py: Python<'_>,
        axes: Option<Vec<PyAxis>>,
        work: impl FnOnce(&dyn CoreIndex, &Selection, &Cancellation) -> Result<T> + Send + 'static,
    ) -> PyResult<T> {
        let (index, cancellation) = (self.index.clone(), Cancellation::new());
        let shared = cancellation.clone();
        let chosen = match axes {
            Some(axes) => selection(&self.file, self.dataset, axes),
            None => self.file.dataset(self.dataset).map(|dataset| Selection::all(dataset.dataspace.shape())),
        };
        let chosen = chosen.map_err(|error| raise(py, &error))?;
        wait(py, &cancellation, move || work(index.as_ref(), &chosen, &shared))
    }

    fn condition(&self, py: Python<'_>, text: &str) -> PyResult<Condition> {
        let condition = (|| {
            let field = self.column.field();
            let schema = arrow_schema::Schema::new(vec![field.clone()]);
            let bound = Predicate::parse(text)?.bind(&schema)?;
            Condition::new(&bound, field).ok_or_else(|| Error::invalid_input("a condition on this dataset alone"))
        })();
        condition.map_err(|error| raise(py, &error))
    }
}

#[pymethods]
impl ColumnIndex {
    /// The valid index of a dataset; `None` if there is none.
    #[staticmethod]
    #[pyo3(signature = (file, dataset, raw=false))]
    fn find(py: Python<'_>, file: PyRef<'_, File>, dataset: u64, raw: bool) -> PyResult<Option<Self>> {
        let file = file.0.clone();
        run(py, move || {
            let dataset = ObjectId(dataset);
            let attributes = file.attributes(dataset)?;
            let path = file.path_of(dataset)?;
            let name = path.rsplit('/').next().unwrap_or("value");
            let column = Column::new(name, &file.dataset(dataset)?.datatype, &attributes.list, decoding(&file, !raw))?;
            let index = pruner_of(file.session()).and_then(|pruner| pruner.column(&file, dataset, &column));
            Ok(index.map(|index| Self { index, file: file.clone(), dataset, column }))
        })
    }

    /// The letter of its level.
    #[getter]
    fn level(&self) -> String {
        self.index.level().letter().to_string()
    }

    /// Certain and possible matches of a condition: row-major positions in the selection, as Arrow columns of unsigned 64-bit
    /// integers.
    #[pyo3(signature = (condition, axes=None))]
    fn rows<'py>(&self, py: Python<'py>, condition: &str, axes: Option<Vec<PyAxis>>) -> PyResult<[Values<'py>; 2]> {
        let condition = self.condition(py, condition)?;
        let session = self.file.session().clone();
        let matches = self.ask(py, axes, move |index, selection, cancellation| {
            let matches = index.rows(selection, &condition, cancellation)?;
            Ok([matches.certain.to_vec_in(&session)?, matches.possible.to_vec_in(&session)?])
        })?;
        let [hits, candidates] = matches;
        Ok([capsules(py, Arc::new(UInt64Array::from(hits)))?, capsules(py, Arc::new(UInt64Array::from(candidates)))?])
    }

    /// Counts certain and possible matches of a condition, by their bitmaps.
    #[pyo3(signature = (condition, axes=None))]
    fn bitmap(&self, py: Python<'_>, condition: &str, axes: Option<Vec<PyAxis>>) -> PyResult<(u64, u64)> {
        let condition = self.condition(py, condition)?;
        let matches = self.ask(py, axes, move |index, selection, cancellation| index.rows(selection, &condition, cancellation))?;
        Ok((matches.certain.len(), matches.possible.len()))
    }

    /// Lower and upper bound of the number of rows.
    #[pyo3(signature = (condition, axes=None))]
    fn count(&self, py: Python<'_>, condition: &str, axes: Option<Vec<PyAxis>>) -> PyResult<(u64, u64)> {
        let condition = self.condition(py, condition)?;
        let bounds = self.ask(py, axes, move |index, selection, cancellation| index.count(selection, &condition, cancellation))?;
        Ok((bounds.lower, bounds.upper))
    }

    /// Lower and upper bound of the number of values below each edge.
    fn below(&self, py: Python<'_>, edges: Vec<f64>) -> PyResult<Option<Vec<(u64, u64)>>> {
        let key_type = self.index.key_type().ok_or_else(|| raise(py, &Error::unsupported("an order of text")))?;
        let keys: Vec<Option<u64>> = edges.into_iter().map(|edge| key_type.at_least(edge)).collect();
        let bounds = self.ask(py, None, move |index, selection, cancellation| index.below(selection, &keys, cancellation))?;
        Ok(bounds.map(|bounds| bounds.into_iter().map(|bounds| (bounds.lower, bounds.upper)).collect()))
    }

    /// The value at this position in ascending order.
    fn ranked(&self, py: Python<'_>, number: u64) -> PyResult<Option<f64>> {
        let key_type = self.index.key_type().ok_or_else(|| raise(py, &Error::unsupported("an order of text")))?;
        let key = self.ask(py, None, move |index, selection, cancellation| index.ranked(selection, number, cancellation))?;
        Ok(key.map(|key| key_type.float(key)))
    }

    /// Counts values, NaN and nulls; `None` if the index does not know.
    fn counts(&self, py: Python<'_>) -> PyResult<Option<ValueCounts>> {
        let counts = self.ask(py, None, |index, selection, _| index.counts(selection))?;
        Ok(counts.map(|(values, nans, nulls)| ValueCounts { values, nans, nulls }))
    }

    /// The values of matching rows, as Arrow capsules; `None` if the index does not store values.
    #[pyo3(signature = (condition, axes=None))]
    fn values<'py>(&self, py: Python<'py>, condition: &str, axes: Option<Vec<PyAxis>>) -> PyResult<Option<Values<'py>>> {
        let condition = self.condition(py, condition)?;
        let array: Option<ArrayRef> = self.ask(py, axes, move |index, selection, cancellation| {
            let matches = index.rows(selection, &condition, cancellation)?;
            if matches.possible.is_empty() { index.values(selection, &matches.certain, cancellation) } else { Ok(None) }
        })?;
        array.map(|array| capsules(py, array)).transpose()
    }

    /// The number of blocks, and the number of those without a possible match.
    fn blocks(&self, py: Python<'_>, condition: &str) -> PyResult<(u64, u64)> {
        let condition = self.condition(py, condition)?;
        let blocks = self.ask(py, None, move |index, selection, _| index.blocks(selection, &condition))?;
        Ok((blocks.all, blocks.pruned))
    }
}
