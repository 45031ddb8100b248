//! Editor: an existing file that is edited.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use hyperslab::write::Region;
use hyperslab::{Error, Result, edit};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::definition::datatype;
use crate::error::raise;
use crate::file::File;
use crate::session::Session;
use crate::wait::run;
use crate::writer::attribute;

/// An existing file that is edited; `None` after it was closed.
#[pyclass(frozen, module = "hyperslab._native")]
pub(crate) struct Editor(Arc<Mutex<Option<edit::Editor>>>);

fn locked<T>(shared: &Mutex<Option<edit::Editor>>, work: impl FnOnce(&mut edit::Editor) -> Result<T>) -> Result<T> {
    let mut editor = shared.lock().map_err(|_| Error::internal("an earlier change failed half-way"))?;
    work(editor.as_mut().ok_or_else(|| Error::invalid_input("the file is closed"))?)
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

    /// Writes the elements of a region, encoded as in the file.
    fn write(&self, py: Python<'_>, path: String, start: Vec<u64>, count: Vec<u64>, values: &Bound<'_, PyBytes>) -> PyResult<()> {
        let values = values.as_bytes();
        self.with(py, move |editor| editor.write(&path, &Region { start, count }, values))
    }

    /// Changes the extent of a dataset.
    fn resize(&self, py: Python<'_>, path: String, shape: Vec<u64>) -> PyResult<()> {
        self.with(py, move |editor| editor.resize(&path, &shape))
    }

    /// Stores the values of `heap`, which elements of variable length point at by their numbers. Returns the elements for `write`.
    fn store_values<'py>(&self, py: Python<'py>, datatype: &Bound<'py, PyDict>, values: Vec<u8>, heap: Vec<Vec<u8>>) -> PyResult<Bound<'py, PyBytes>> {
        let datatype = self::datatype(datatype)?;
        let stored = self.with(py, move |editor| editor.store_values(&attribute(None, datatype, values, heap)?.value))?;
        Ok(PyBytes::new(py, &stored))
    }

    /// Sets an attribute. Elements of variable length point at values of `heap` by their numbers.
    #[expect(clippy::too_many_arguments, reason = "one for each part of an attribute")]
    #[pyo3(signature = (path, name, shape, datatype, value, heap=Vec::new()))]
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
        self.with(py, move |editor| {
            let value = attribute(shape, datatype, value, heap)?;
            editor.set_attribute(&path, &name, &value.dataspace, &value.value)
        })
    }

    /// Deletes an attribute.
    fn delete_attribute(&self, py: Python<'_>, path: String, name: String) -> PyResult<()> {
        self.with(py, move |editor| editor.delete_attribute(&path, &name))
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
        let mut editor = self.0.lock().map_err(|_| raise(py, &Error::internal("an earlier change failed half-way")))?;
        *editor = None;
        Ok(())
    }

    /// Whether it was closed.
    #[getter]
    fn closed(&self) -> bool {
        self.0.lock().is_ok_and(|editor| editor.is_none())
    }
}
