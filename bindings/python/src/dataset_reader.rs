//! Dataset reader: the values of a dataset for a numpy key, in one call. Keys, datatypes and amounts that it does not take are
//! left to `hyperslab.objects.reading`, which also words the errors about keys.

use std::sync::Arc;

use hyperslab::{Axis, Cancellation, Dataset, Datatype, ObjectId, Selection};
use pyo3::exceptions::PyUnicodeDecodeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyByteArray, PyBytes, PyInt, PyList, PySlice, PyString, PyTuple, PyType};

use crate::error::raise;
use crate::file::{File, is_small};
use crate::wait::caught;

/// Reads small selections of a dataset whose elements have the same bytes in the file and in numpy, or are variable-length strings.
#[pyclass(frozen, module = "hyperslab._native")]
pub(crate) struct DatasetReader {
    file: hyperslab::File,
    id: ObjectId,
    dataset: Arc<Dataset>,
    /// Of the elements; of variable-length strings that of an array of objects.
    dtype: Py<PyAny>,
    /// Extents of an element that is an array; `dtype` is that of its items.
    inner: Vec<u64>,
}

/// What a key selects.
struct Selected<'py> {
    axes: Vec<Axis>,
    /// Extents of the dimensions that the key does not drop.
    shape: Vec<u64>,
    has_ellipsis: bool,
    /// Names of members of a compound.
    fields: Vec<Bound<'py, PyString>>,
}

#[pymethods]
impl DatasetReader {
    /// A reader for a dataset, the numpy dtype of its elements, and the extents of an element.
    #[new]
    fn new(py: Python<'_>, file: &File, dataset: u64, dtype: Py<PyAny>, inner: Vec<u64>) -> PyResult<Self> {
        let (file, id) = (file.0.clone(), ObjectId(dataset));
        let dataset = py.detach(|| caught(|| file.dataset(id))).map_err(|error| raise(py, &error))?;
        Ok(Self { file, id, dataset, dtype, inner })
    }

    /// The values for a key, strings as `bytes`; `None` if this reader does not take the key.
    fn get<'py>(&self, py: Python<'py>, key: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Some(selected) = self.select(key) else { return Ok(None) };
        if self.is_text() { self.strings(py, selected, self.dtype.bind(py), |text| Ok(PyBytes::new(py, text).into_any())) } else { self.elements(py, selected) }
    }

    /// The variable-length strings for a key as `str`; `None` if this reader does not take the key, or they are not all UTF-8.
    fn get_text<'py>(&self, py: Python<'py>, key: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Some(selected) = self.select(key).filter(|_| self.is_text()) else { return Ok(None) };
        match self.strings(py, selected, py.get_type::<PyAny>().as_any(), |text| Ok(PyString::from_bytes(py, text)?.into_any())) {
            Err(error) if error.is_instance_of::<PyUnicodeDecodeError>(py) => Ok(None),
            outcome => outcome,
        }
    }
}

impl DatasetReader {
    /// What a key selects, if it is little enough for the calling thread.
    fn select<'py>(&self, key: &Bound<'py, PyAny>) -> Option<Selected<'py>> {
        select(key, self.dataset.dataspace.shape()).filter(|selected| is_small(&self.dataset, &selected.axes))
    }

    /// Whether the dataset has no dimensions.
    fn is_scalar(&self) -> bool {
        self.dataset.dataspace.shape().is_empty()
    }

    fn is_text(&self) -> bool {
        matches!(self.dataset.datatype, Datatype::VariableString { .. })
    }

    /// Values whose bytes are the same in the file and in numpy.
    fn elements<'py>(&self, py: Python<'py>, selected: Selected<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Selected { axes, shape, has_ellipsis, fields } = selected;
        // Several fields, and names of none, are left to Python.
        let is_field = |name: &Bound<'py, PyString>| matches!(&self.dataset.datatype, Datatype::Compound { members, .. } if members.iter().any(|member| name == member.name.as_str()));
        if fields.len() > 1 || !fields.iter().all(is_field) {
            return Ok(None);
        }
        let length = axes.iter().map(Axis::count).try_fold(self.dataset.datatype.size(), u64::checked_mul);
        let Some(length) = length.and_then(|length| usize::try_from(length).ok()).filter(|length| *length > 0) else { return Ok(None) };
        let read = |out: &mut [u8]| {
            let selection = Selection::new(axes, self.dataset.dataspace.shape())?;
            self.file.read_into(self.id, &selection, out, &Cancellation::new())
        };
        let bytes = PyByteArray::new_with(py, length, |out| {
            py.detach(|| caught(|| read(out))).map_err(|error| raise(py, &error))?;
            Ok(())
        })?;
        // As in h5py, `...` keeps the array of a scalar dataset only.
        let is_scalar = shape.is_empty() && self.inner.is_empty() && !(has_ellipsis && self.is_scalar());
        let shape = PyTuple::new(py, [shape.as_slice(), &self.inner].concat())?;
        let mut values = ndarray(py)?.call1((shape, self.dtype.bind(py), bytes))?;
        if let [field] = fields.as_slice() {
            values = values.get_item(field)?;
        }
        if is_scalar && (fields.is_empty() || values.getattr(intern!(py, "ndim"))?.extract::<usize>()? == 0) {
            values = values.get_item(PyTuple::empty(py))?;
        }
        Ok(Some(values))
    }

    /// Variable-length strings, each as `make` makes it of its bytes; several as an array of `dtype`.
    fn strings<'py>(
        &self,
        py: Python<'py>,
        selected: Selected<'py>,
        dtype: &Bound<'py, PyAny>,
        make: impl Fn(&[u8]) -> PyResult<Bound<'py, PyAny>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Selected { axes, shape, has_ellipsis, fields } = selected;
        if !fields.is_empty() || !self.inner.is_empty() {
            return Ok(None);
        }
        let read = || {
            let selection = Selection::new(axes, self.dataset.dataspace.shape())?;
            self.file.read(self.id, &selection, &Cancellation::new())
        };
        let values = py.detach(|| caught(read)).map_err(|error| raise(py, &error))?;
        let width = usize::try_from(values.datatype.size()).unwrap_or(usize::MAX);
        let string = |element: &[u8]| {
            let text = values.heap.value(element, 1).map_err(|error| raise(py, &self.file.place(self.id, error)))?;
            // In memory they end at the first NUL, even if the file has a longer length.
            make(text.split(|byte| *byte == 0).next().unwrap_or_default())
        };
        if shape.is_empty() && !(has_ellipsis && self.is_scalar()) {
            return string(&values.bytes).map(Some);
        }
        let strings = values.bytes.chunks_exact(width.max(1)).map(string).collect::<PyResult<Vec<_>>>()?;
        let array = empty(py)?.call1((strings.len(), dtype))?;
        array.set_item(py.Ellipsis(), PyList::new(py, strings)?)?;
        array.call_method1(intern!(py, "reshape"), (PyTuple::new(py, shape)?,)).map(Some)
    }
}

fn empty(py: Python<'_>) -> PyResult<&Bound<'_, PyAny>> {
    static EMPTY: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    EMPTY.import(py, "numpy", "empty")
}

fn ndarray(py: Python<'_>) -> PyResult<&Bound<'_, PyType>> {
    static NDARRAY: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    NDARRAY.import(py, "numpy", "ndarray")
}

fn numpy_integer(py: Python<'_>) -> PyResult<&Bound<'_, PyType>> {
    static INTEGER: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    INTEGER.import(py, "numpy", "integer")
}

/// What a key of integers, slices, `...` and names of members selects of `shape`; `None` for other keys, and for wrong ones.
fn select<'py>(key: &Bound<'py, PyAny>, shape: &[u64]) -> Option<Selected<'py>> {
    let mut selected = Selected { axes: Vec::with_capacity(shape.len()), shape: Vec::with_capacity(shape.len()), has_ellipsis: false, fields: Vec::new() };
    let Ok(keys) = key.cast_exact::<PyTuple>() else {
        return match selected.take(key, shape, 1) {
            true => selected.rest(shape),
            false => None,
        };
    };
    let mut given = 0;
    for item in keys.iter_borrowed() {
        given += usize::from(!item.is(item.py().Ellipsis()) && !item.is_instance_of::<PyString>());
    }
    for item in keys.iter_borrowed() {
        if !selected.take(&item, shape, given) {
            return None;
        }
    }
    selected.rest(shape)
}

impl<'py> Selected<'py> {
    /// Adds an item of a key with `given` items for dimensions; `false` if it is not taken.
    fn take(&mut self, item: &Bound<'py, PyAny>, shape: &[u64], given: usize) -> bool {
        if item.is(item.py().Ellipsis()) {
            let first = self.axes.len();
            let missing = match (self.has_ellipsis, shape.len().checked_sub(given)) {
                (false, Some(missing)) => missing,
                _ => return false,
            };
            self.has_ellipsis = true;
            return self.all(shape.get(first..first + missing).unwrap_or_default());
        }
        if let Ok(name) = item.cast::<PyString>() {
            self.fields.push(name.clone());
            return true;
        }
        let Some(&extent) = shape.get(self.axes.len()) else { return false };
        if let Ok(slice) = item.cast_exact::<PySlice>() {
            let Ok(length) = isize::try_from(extent) else { return false };
            let Ok(indices) = slice.indices(length) else { return false };
            let (Ok(start), Ok(step), count) = (u64::try_from(indices.start), u64::try_from(indices.step), indices.slicelength as u64) else { return false };
            if count == 0 {
                return false;
            }
            self.axes.push(Axis::Range { start, count, step });
            self.shape.push(count);
            return true;
        }
        let is_integer = item.is_instance_of::<PyInt>() || numpy_integer(item.py()).is_ok_and(|integer| item.is_instance(integer).unwrap_or(false));
        if !is_integer {
            return false;
        }
        let index = match item.extract::<i64>() {
            Ok(index) if index < 0 => extent.checked_sub(index.unsigned_abs()),
            Ok(index) => Some(index.unsigned_abs()).filter(|index| *index < extent),
            Err(_) => None,
        };
        let Some(start) = index else { return false };
        self.axes.push(Axis::Range { start, count: 1, step: 1 });
        true
    }

    /// Adds whole dimensions; `false` if one is empty.
    fn all(&mut self, extents: &[u64]) -> bool {
        self.axes.extend(extents.iter().map(|&extent| Axis::all(extent)));
        self.shape.extend(extents);
        !extents.contains(&0)
    }

    /// Adds the dimensions that the key did not mention.
    fn rest(mut self, shape: &[u64]) -> Option<Self> {
        let rest = shape.get(self.axes.len()..).unwrap_or_default();
        self.all(rest).then_some(self)
    }
}
