//! Editor: an existing file that is edited.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use hyperslab::edit::{NewDataset, NewStorage};
use hyperslab::write::Region;
use hyperslab::{Cancellation, Error, Found, HeapObjects, LinkTarget, ObjectId, Result, edit, write};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::back;
use crate::dataset_definition::DatasetDefinition;
use crate::datatype::Datatype;
use crate::file::File;
use crate::name::Name;
use crate::session::Session;
use crate::wait::{run, wait_writing};
use crate::writer::attribute;

/// An existing file that is edited; `None` after it was closed.
#[pyclass(frozen, module = "hyperslab._native")]
pub(crate) struct Editor(Arc<Mutex<Option<edit::Editor>>>);

fn locked<T>(shared: &Mutex<Option<edit::Editor>>, work: impl FnOnce(&mut edit::Editor) -> Result<T>) -> Result<T> {
    let mut editor = shared.lock().map_err(|_| Error::internal("an earlier change failed half-way"))?;
    work(editor.as_mut().ok_or_else(|| Error::invalid_input("the file is closed"))?)
}

/// A dataset whose values follow, and what its fill value points at.
fn new_dataset(definition: write::DatasetDefinition, storage: NewStorage) -> (NewDataset, HeapObjects) {
    let write::DatasetDefinition { datatype, dataspace, filters, fill_value, fill_heap, is_fill_undefined, fill_time, allocation, .. } = definition;
    let new = NewDataset { datatype, committed: None, dataspace, fill_value, is_fill_undefined, fill_time, allocation, filters, storage };
    (new, fill_heap)
}

impl Editor {
    fn with<T: Send>(&self, py: Python<'_>, work: impl FnOnce(&mut edit::Editor) -> Result<T> + Send) -> PyResult<T> {
        let shared = self.0.clone();
        run(py, move || locked(&shared, work))
    }
}

#[pymethods]
impl Editor {
    /// Opens the file at `path`, which no other program may have open.
    #[new]
    fn open(py: Python<'_>, path: PathBuf, session: &Session) -> PyResult<Self> {
        let session = session.inner().clone();
        let editor = run(py, move || edit::Editor::open(&path, &session))?;
        Ok(Self(Arc::new(Mutex::new(Some(editor)))))
    }

    /// The file with all changes so far, to be read until the next change.
    fn view(&self, py: Python<'_>) -> PyResult<File> {
        self.with(py, edit::Editor::view).map(File)
    }

    /// The same as another session shows it.
    fn view_in(&self, py: Python<'_>, session: &Session) -> PyResult<File> {
        let session = session.inner().clone();
        self.with(py, move |editor| editor.view_in(&session)).map(File)
    }

    /// Writes the elements of a region, encoded as in the file.
    fn write(&self, py: Python<'_>, dataset: u64, start: Vec<u64>, count: Vec<u64>, values: &Bound<'_, PyBytes>) -> PyResult<()> {
        let values = values.as_bytes();
        self.with(py, move |editor| editor.write(ObjectId(dataset), &Region { start, count }, values))
    }

    /// Writes the chunk that begins at an element, as the caller has encoded it.
    fn write_chunk(&self, py: Python<'_>, dataset: u64, start: Vec<u64>, bytes: &Bound<'_, PyBytes>, skipped: u32) -> PyResult<()> {
        let bytes = bytes.as_bytes();
        self.with(py, move |editor| editor.write_chunk(ObjectId(dataset), &start, bytes, skipped))
    }

    /// Changes the extent of a dataset.
    fn resize(&self, py: Python<'_>, dataset: u64, shape: Vec<u64>) -> PyResult<()> {
        self.with(py, move |editor| editor.resize(ObjectId(dataset), &shape))
    }

    /// Stores the values of `heap`, which elements of variable length point at by their numbers. Returns the elements for `write`.
    fn store_values<'py>(&self, py: Python<'py>, datatype: &Datatype, values: Vec<u8>, heap: Vec<Vec<u8>>) -> PyResult<Bound<'py, PyBytes>> {
        let datatype = datatype.core();
        let stored = self.with(py, move |editor| editor.store_values(&attribute(None, datatype, values, heap)?.value))?;
        Ok(PyBytes::new(py, &stored))
    }

    /// Sets an attribute. Elements of variable length point at values of `heap` by their numbers.
    #[expect(clippy::too_many_arguments, reason = "one for each part of an attribute")]
    #[pyo3(signature = (number, name, shape, datatype, value, heap=Vec::new()))]
    fn set_attribute(
        &self,
        py: Python<'_>,
        number: u64,
        name: Name,
        shape: Option<Vec<u64>>,
        datatype: &Datatype,
        value: Vec<u8>,
        heap: Vec<Vec<u8>>,
    ) -> PyResult<()> {
        let datatype = datatype.core();
        self.with(py, move |editor| {
            let value = attribute(shape, datatype, value, heap)?;
            editor.set_attribute(ObjectId(number), &name, &value.dataspace, &value.value)
        })
    }

    /// Deletes an attribute.
    fn delete_attribute(&self, py: Python<'_>, number: u64, name: Name) -> PyResult<()> {
        self.with(py, move |editor| editor.delete_attribute(ObjectId(number), &name))
    }

    /// Creates a group, and those above it.
    fn create_group(&self, py: Python<'_>, path: Name, tracked: Option<bool>) -> PyResult<()> {
        self.with(py, move |editor| editor.create_group(&path, tracked.unwrap_or(false)).map(drop))
    }

    /// Creates a dataset without values, and the groups above it. Returns the shape of its chunks.
    fn create_dataset(&self, py: Python<'_>, path: Name, definition: PyRef<'_, DatasetDefinition>, tracked: Option<bool>) -> PyResult<Option<Vec<u64>>> {
        let definition = definition.0.clone();
        self.with(py, move |editor| {
            let checked = definition.checked_own()?;
            let (chosen, committed) = (checked.chunk_shape.clone(), checked.committed.clone());
            let storage = match checked.chunk_shape.clone() {
                Some(chunk_shape) => NewStorage::Chunked { chunk_shape, chunks: Vec::new() },
                None => NewStorage::Contiguous(None),
            };
            let (new, fill) = new_dataset(checked, storage);
            editor.create_dataset(&path, &new, &fill, committed.as_deref(), tracked.unwrap_or(false))?;
            Ok(chosen)
        })
    }

    /// Creates a virtual dataset. Mappings are as in `Writer.create_virtual`.
    fn create_virtual(&self, py: Python<'_>, path: Name, definition: PyRef<'_, DatasetDefinition>, mappings: Vec<back::PyMapping>) -> PyResult<()> {
        let definition = definition.0.clone();
        self.with(py, move |editor| {
            let storage = NewStorage::Virtual(mappings.into_iter().map(back::mapping).collect());
            let (new, fill) = new_dataset(definition.checked_own()?, storage);
            editor.create_dataset(&path, &new, &fill, None, false).map(drop)
        })
    }

    /// Commits a datatype under this name.
    fn create_datatype(&self, py: Python<'_>, path: Name, datatype: &Datatype) -> PyResult<()> {
        let datatype = datatype.core();
        self.with(py, move |editor| editor.create_datatype(&path, &datatype).map(drop))
    }

    /// Creates a link to a path of this file, or of another one.
    #[pyo3(signature = (path, target, file=None))]
    fn create_link(&self, py: Python<'_>, path: Name, target: Name, file: Option<Name>) -> PyResult<()> {
        let target = match file {
            Some(file) => LinkTarget::External { file: file.0, path: target.0 },
            None => LinkTarget::Soft(target.0),
        };
        self.with(py, move |editor| editor.create_link(&path, &target))
    }

    /// Gives the object with this number one more name.
    fn create_hard_link(&self, py: Python<'_>, path: Name, number: u64) -> PyResult<()> {
        self.with(py, move |editor| editor.create_link(&path, &LinkTarget::Hard(ObjectId(number))))
    }

    /// Removes a link, and the object if it has no other name. Returns the numbers of the objects that were removed.
    fn remove(&self, py: Python<'_>, path: Name) -> PyResult<Vec<u64>> {
        self.with(py, move |editor| Ok(editor.remove(&path)?.into_iter().map(|object| object.0).collect()))
    }

    /// Gives a link another name.
    fn rename(&self, py: Python<'_>, path: Name, to: Name) -> PyResult<()> {
        self.with(py, move |editor| editor.rename(&path, &to))
    }

    /// Copies the object with this number of a view of this file, or of another file, to `path`.
    #[expect(clippy::too_many_arguments, reason = "the options of h5py")]
    fn copy(&self, py: Python<'_>, file: &File, number: u64, path: Name, shallow: bool, soft: bool, external: bool, attributes: bool) -> PyResult<()> {
        let source = Found::new(file.0.clone(), ObjectId(number));
        let options = edit::CopyOptions::default().with_shallow(shallow).with_expanded(soft, external).with_attributes(attributes);
        let (shared, cancellation) = (self.0.clone(), Cancellation::new());
        let cancelled = cancellation.clone();
        wait_writing(py, &cancellation, move || locked(&shared, |editor| editor.copy(&source, &path, options, &cancelled).map(drop)))
    }

    /// Makes all changes visible to others at once. Returns whether there were any.
    fn commit(&self, py: Python<'_>) -> PyResult<bool> {
        let shared = self.0.clone();
        run(py, move || locked(&shared, edit::Editor::commit))
    }

    /// Drops all changes since the last commit.
    fn roll_back(&self, py: Python<'_>) -> PyResult<()> {
        self.with(py, edit::Editor::roll_back)
    }

    /// Closes the file without a commit, and unlocks it.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        // Another thread's call may hold the lock, and wait for the interpreter.
        run(py, || {
            *self.0.lock().map_err(|_| Error::internal("an earlier change failed half-way"))? = None;
            Ok(())
        })
    }

    /// Whether it was closed.
    #[getter]
    fn closed(&self, py: Python<'_>) -> bool {
        py.detach(|| self.0.lock().is_ok_and(|editor| editor.is_none()))
    }
}
