//! Files: the opened files of a list or a glob. Python objects are made only for those that are asked for.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyIterator, PyList, PySlice, PyType};

use crate::file::File;
use crate::wait::parse;

/// Open files, in order: a sequence of `File`.
#[pyclass(frozen, eq, hash, module = "hyperslab._native")]
pub(crate) struct Files {
    files: Arc<Vec<hyperslab::File>>,
    /// A Python object for each, once all were asked for: what was pickled is found again as long as these live.
    listed: PyOnceLock<Py<PyList>>,
}

impl PartialEq for Files {
    fn eq(&self, other: &Self) -> bool {
        self.files == other.files
    }
}
impl Eq for Files {}
impl Hash for Files {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.files.hash(state);
    }
}

impl Files {
    pub(crate) fn of(files: Vec<hyperslab::File>) -> Self {
        Self { files: Arc::new(files), listed: PyOnceLock::new() }
    }
    fn list<'py>(&self, py: Python<'py>) -> PyResult<&Bound<'py, PyList>> {
        let make = || {
            let files = self.files.iter().map(|file| Bound::new(py, File(file.clone()))).collect::<PyResult<Vec<_>>>()?;
            PyList::new(py, files).map(Bound::unbind)
        };
        self.listed.get_or_try_init(py, make).map(|list| list.bind(py))
    }
}

#[pymethods]
impl Files {
    #[new]
    fn new(py: Python<'_>, files: Vec<Bound<'_, File>>) -> PyResult<Self> {
        let made = Self::of(files.iter().map(|file| file.get().0.clone()).collect());
        let _ = made.listed.set(py, PyList::new(py, files)?.unbind());
        Ok(made)
    }

    fn __len__(&self) -> usize {
        self.files.len()
    }

    /// One file, or a slice of them.
    fn __getitem__<'py>(&self, py: Python<'py>, key: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        if let Ok(slice) = key.cast::<PySlice>() {
            let range = slice.indices(isize::try_from(self.files.len())?)?;
            let positions = (0..range.slicelength).map(|i| range.start.saturating_add(range.step.saturating_mul(isize::try_from(i).unwrap_or(isize::MAX))));
            let chosen = positions.filter_map(|position| self.files.get(usize::try_from(position).ok()?).cloned());
            return Ok(Bound::new(py, Self::of(chosen.collect()))?.into_any());
        }
        let index: isize = key.extract()?;
        let position = if index < 0 { self.files.len().checked_add_signed(index) } else { usize::try_from(index).ok() };
        if let (Some(list), Some(position)) = (self.listed.get(py), position) {
            return list.bind(py).get_item(position);
        }
        let file = position.and_then(|position| self.files.get(position));
        let file = file.ok_or_else(|| PyIndexError::new_err(format!("file {index} of {}", self.files.len())))?;
        Ok(Bound::new(py, File(file.clone()))?.into_any())
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        self.list(py)?.try_iter()
    }

    /// Pickled as the list of its files.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyType>, (Bound<'py, PyList>,))> {
        Ok((py.get_type::<Self>(), (self.list(py)?.clone(),)))
    }

    /// Closes the handles of the operating system, for all objects and plans of these openings.
    fn close(&self, py: Python<'_>) {
        py.detach(|| self.files.iter().for_each(hyperslab::File::close));
    }

    /// Whether all were closed.
    #[getter]
    fn closed(&self) -> bool {
        self.files.iter().all(hyperslab::File::is_closed)
    }

    /// The path of each.
    fn paths<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        PyList::new(py, self.files.iter().map(hyperslab::File::name))
    }

    /// The formats, each once, in the order of the first file with it.
    fn formats(&self) -> Vec<&'static str> {
        let mut formats = Vec::new();
        for file in self.files.iter() {
            if !formats.contains(&file.format()) {
                formats.push(file.format());
            }
        }
        formats.into_iter().map(hyperslab::Format::name).collect()
    }

    /// The same files, opened again.
    fn reopen(&self, py: Python<'_>) -> PyResult<Self> {
        let files = self.files.clone();
        parse(py, move || files.iter().map(|file| file.reopen().map_err(|error| error.in_file(file.name()))).collect()).map(Self::of)
    }
}

/// Files as an argument: as they were opened, or a list.
#[derive(FromPyObject)]
pub(crate) enum GivenFiles<'py> {
    Opened(PyRef<'py, Files>),
    Listed(Vec<PyRef<'py, File>>),
}

impl GivenFiles<'_> {
    pub(crate) fn files(&self) -> Arc<Vec<hyperslab::File>> {
        match self {
            Self::Opened(opened) => opened.files.clone(),
            Self::Listed(files) => Arc::new(files.iter().map(|file| file.0.clone()).collect()),
        }
    }
}
