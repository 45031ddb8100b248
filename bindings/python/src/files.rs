//! Files: the opened files of a list or a glob. Python objects are made only for those that are asked for.

use std::sync::Arc;

use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::{PyIterator, PyList, PySlice, PyType};

use crate::file::File;
use crate::wait::run;

/// Open files, in order: a sequence of `File`.
#[pyclass(frozen, eq, hash, module = "hyperslab._native")]
#[derive(PartialEq, Eq, Hash, Clone)]
pub(crate) struct Files(Arc<Vec<hyperslab::File>>);

impl Files {
    pub(crate) fn of(files: Vec<hyperslab::File>) -> Self {
        Self(Arc::new(files))
    }
    fn list<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let files = self.as_slice().iter().map(|file| Bound::new(py, File(file.clone()))).collect::<PyResult<Vec<_>>>()?;
        PyList::new(py, files)
    }
    pub(crate) fn as_slice(&self) -> &[hyperslab::File] {
        &self.0
    }
}

#[pymethods]
impl Files {
    #[new]
    fn new(files: Vec<PyRef<'_, File>>) -> Self {
        Self::of(files.iter().map(|file| file.0.clone()).collect())
    }

    fn __len__(&self) -> usize {
        self.as_slice().len()
    }

    /// One file, or a slice of them.
    fn __getitem__<'py>(&self, py: Python<'py>, key: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let files = self.as_slice();
        if let Ok(slice) = key.cast::<PySlice>() {
            let range = slice.indices(isize::try_from(files.len())?)?;
            let positions = (0..range.slicelength).map(|i| range.start.saturating_add(range.step.saturating_mul(isize::try_from(i).unwrap_or(isize::MAX))));
            let chosen = positions.filter_map(|position| files.get(usize::try_from(position).ok()?).cloned());
            return Ok(Bound::new(py, Self::of(chosen.collect()))?.into_any());
        }
        let index: isize = key.extract()?;
        let position = if index < 0 { files.len().checked_add_signed(index) } else { usize::try_from(index).ok() };
        let file = position.and_then(|position| files.get(position));
        let file = file.ok_or_else(|| PyIndexError::new_err(format!("file {index} of {}", files.len())))?;
        Ok(Bound::new(py, File(file.clone()))?.into_any())
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        self.list(py)?.try_iter()
    }

    /// Pickled as the list of its files.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyType>, (Bound<'py, PyList>,))> {
        Ok((py.get_type::<Self>(), (self.list(py)?,)))
    }

    /// The path of each.
    fn paths<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        PyList::new(py, self.as_slice().iter().map(hyperslab::File::name))
    }

    /// The formats, each once, in the order of the first file with it.
    fn formats(&self) -> Vec<String> {
        let mut formats = Vec::new();
        for file in self.as_slice() {
            if !formats.contains(&file.format()) {
                formats.push(file.format());
            }
        }
        formats.iter().map(|format| format!("{format:?}")).collect()
    }

    /// The same files, opened again.
    fn reopen(&self, py: Python<'_>) -> PyResult<Self> {
        let files = self.clone();
        run(py, move || files.as_slice().iter().map(|file| file.reopen().map_err(|error| error.in_file(file.name()))).collect()).map(Self::of)
    }
}

/// Files as an argument: as they were opened, or a list.
#[derive(FromPyObject)]
pub(crate) enum GivenFiles<'py> {
    Opened(PyRef<'py, Files>),
    Listed(Vec<PyRef<'py, File>>),
}

impl GivenFiles<'_> {
    pub(crate) fn files(&self) -> Files {
        match self {
            Self::Opened(files) => (**files).clone(),
            Self::Listed(files) => Files::of(files.iter().map(|file| file.0.clone()).collect()),
        }
    }
}
