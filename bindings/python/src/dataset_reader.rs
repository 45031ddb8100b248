//! Dataset reader: the values of a dataset for a numpy key, in one call. Wrong keys are left to `hyperslab.values.indexing_keys`, which
//! words the errors, and values that need more than a copy to `hyperslab.objects.reading`.

use std::sync::Arc;

use hyperslab::{Cancellation, Dataset, Datatype, Elements, Error, HeapObjects, ObjectId, Picked};
use pyo3::exceptions::{PyMemoryError, PyUnicodeDecodeError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyByteArray, PyBytes, PyList, PyString, PyTuple};

use crate::decoding::Decoding;
use crate::error::raise;
use crate::file::{File, SMALL_BYTES};
use crate::heap::Heap;
use crate::key::{Key, ndarray};
use crate::wait::{parse, run, wait, wait_reading};

/// Bytes of elements as in the file, the shape of the result, and what the elements point at.
type StoredElements<'py> = (Bound<'py, PyAny>, Bound<'py, PyTuple>, Heap);

/// Reads selections of a dataset.
#[pyclass(frozen, module = "hyperslab._native")]
pub(crate) struct DatasetReader {
    file: hyperslab::File,
    id: ObjectId,
    dataset: Arc<Dataset>,
    /// The dtype of the elements, if they have the same bytes in the file and in numpy; for variable-length strings the dtype
    /// of an array of objects.
    dtype: Option<Py<PyAny>>,
    /// Extents of an element that is an array; `dtype` is the dtype of its items.
    inner: Vec<u64>,
}

#[pymethods]
impl DatasetReader {
    /// A reader for a dataset, the numpy dtype of its elements if they are to be copied only, and the extents of an element.
    #[new]
    fn new(py: Python<'_>, file: &File, dataset: u64, dtype: Option<Py<PyAny>>, inner: Vec<u64>) -> PyResult<Self> {
        let (file, id) = (file.0.clone(), ObjectId(dataset));
        let dataset = parse(py, || file.dataset(id))?;
        Ok(Self { file, id, dataset, dtype, inner })
    }

    /// The values for a key, strings as `bytes`; `None` if the key is wrong or names several members, or the elements need more
    /// than a copy.
    fn get<'py>(&self, py: Python<'py>, key: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Some(dtype) = &self.dtype else { return Ok(None) };
        let Some(key) = self.parse(key) else { return Ok(None) };
        match self.is_text() {
            true => self.strings(py, key, dtype.bind(py), |text| Ok(PyBytes::new(py, text).into_any())),
            false => self.elements(py, key, dtype.bind(py)),
        }
    }

    /// The variable-length strings for a key as `str`; `None` if the key is wrong, or they are not all UTF-8.
    fn get_text<'py>(&self, py: Python<'py>, key: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Some(key) = self.parse(key).filter(|_| self.is_text()) else { return Ok(None) };
        match self.strings(py, key, py.get_type::<PyAny>().as_any(), |text| Ok(PyString::from_bytes(py, text)?.into_any())) {
            Err(error) if error.is_instance_of::<PyUnicodeDecodeError>(py) => Ok(None),
            outcome => outcome,
        }
    }

    /// The bytes of the elements for a key without names as in the file, the shape of the result, and what the elements point at;
    /// `None` if the key is wrong.
    fn get_bytes<'py>(&self, py: Python<'py>, key: &Bound<'py, PyAny>) -> PyResult<Option<StoredElements<'py>>> {
        let Some(Key { picked, shape, .. }) = self.parse(key).filter(|key| key.fields.is_empty()) else { return Ok(None) };
        let length = self.length(py, &picked, &shape)?;
        let (bytes, heap) = self.read(py, picked, &shape, length)?;
        let bytes = ndarray(py)?.call1(((length,), intern!(py, "u1"), bytes))?;
        Ok(Some((bytes, PyTuple::new(py, shape)?, Heap(heap))))
    }

    /// Reads the elements for a key into the `length` bytes of memory at `address`, and returns `true`; `false` if the key is
    /// wrong, or selects another shape.
    ///
    /// Callers (only `hyperslab.objects.dataset`) hold an array that owns that memory, writable, contiguous and not used by another
    /// thread, until this returns.
    fn get_into(&self, py: Python<'_>, key: &Bound<'_, PyAny>, shape: Vec<u64>, address: usize, length: usize) -> PyResult<bool> {
        let Some(key) = self.parse(key).filter(|key| key.fields.is_empty() && key.shape == shape) else { return Ok(false) };
        let is_small = key.picked.max_bytes(&self.dataset) <= SMALL_BYTES && !self.file.is_remote();
        self.read_into(py, key.picked, address, length, is_small)?;
        Ok(true)
    }

    /// Reads the numbers for a key, decoded, into the `length` bytes of memory at `address`, and returns `true`; `false` if numpy lacks
    /// one of them, and `None` if the key is wrong, selects another shape, or numbers are not stored as numpy's.
    ///
    /// Callers (only `hyperslab.objects.decoded_values`) hold an array that owns that memory, writable, contiguous and not used by another
    /// thread, until this returns.
    fn get_decoded(
        &self,
        py: Python<'_>,
        key: &Bound<'_, PyAny>,
        shape: Vec<u64>,
        decoding: &Decoding,
        address: usize,
        length: usize,
    ) -> PyResult<Option<bool>> {
        let Some(key) = self.parse(key).filter(|key| key.fields.is_empty() && key.shape == shape) else { return Ok(None) };
        let Some(order) = decoding.0.plain_order() else { return Ok(None) };
        let (file, id, picked, decoding) = (self.file.clone(), self.id, key.picked, decoding.0.clone());
        let is_small = picked.max_bytes(&self.dataset) <= SMALL_BYTES && !self.file.is_remote();
        let cancellation = Cancellation::new();
        let shared = cancellation.clone();
        let size = decoding.numpy_type().size();
        let read = move || {
            let convert = |stored: &[u8], out: &mut [u8]| decoding.decode_into(order, stored, out);
            if length == 0 || address == 0 {
                return file.read_converted_into(id, &picked, size, &convert, &mut [], &shared);
            }
            // SAFETY: as in `read_into`.
            let out = unsafe { std::slice::from_raw_parts_mut(address as *mut u8, length) };
            file.read_converted_into(id, &picked, size, &convert, out, &shared)
        };
        if is_small { run(py, read) } else { wait_reading(py, &cancellation, length, read) }.map(Some)
    }
}

impl DatasetReader {
    fn parse<'py>(&self, key: &Bound<'py, PyAny>) -> Option<Key<'py>> {
        Key::parse(key, self.dataset.dataspace.shape())
    }

    /// Whether the dataset has no dimensions.
    fn is_scalar(&self) -> bool {
        self.dataset.dataspace.shape().is_empty()
    }

    fn is_text(&self) -> bool {
        matches!(self.dataset.datatype, Datatype::VariableString { .. })
    }

    /// Bytes of the picked elements.
    fn length(&self, py: Python<'_>, picked: &Picked, shape: &[u64]) -> PyResult<usize> {
        let size = self.dataset.datatype.size();
        // numpy multiplies extents even where one of them is 0.
        let extents = shape.iter().map(|extent| (*extent).max(1)).try_fold(size, u64::checked_mul);
        let length = extents.filter(|bytes| isize::try_from(*bytes).is_ok()).and_then(|_| picked.count().ok()?.checked_mul(size));
        length.and_then(|length| usize::try_from(length).ok()).ok_or_else(|| self.too_large(py, shape))
    }

    /// The error of a result for which memory does not suffice.
    fn too_large(&self, py: Python<'_>, shape: &[u64]) -> PyErr {
        let shape = PyTuple::new(py, shape).map(|shape| shape.to_string()).unwrap_or_default();
        let error = Error::limit_exceeded(format!("an array of shape {shape} exceeds the memory of this machine: read it in parts"));
        raise(py, &self.file.place(self.id, error))
    }

    /// The bytes of picked elements, as an object whose memory numpy can use, and the heap objects that they point at.
    fn read<'py>(&self, py: Python<'py>, picked: Picked, shape: &[u64], length: usize) -> PyResult<(Bound<'py, PyAny>, HeapObjects)> {
        if picked.max_bytes(&self.dataset) > SMALL_BYTES || self.file.is_remote() {
            // A bytearray would be cleared first.
            let bytes = empty(py)?.call1((length, intern!(py, "u1"))).map_err(|error| match error.is_instance_of::<PyMemoryError>(py) {
                true => self.too_large(py, shape),
                false => error,
            })?;
            let (address, _): (usize, bool) = bytes.getattr(intern!(py, "__array_interface__"))?.get_item(intern!(py, "data"))?.extract()?;
            let heap = self.read_into(py, picked, address, length, false)?;
            return Ok((bytes, heap));
        }
        let mut heap = HeapObjects::default();
        let bytes = PyByteArray::new_with(py, length, |out| {
            heap = run(py, || self.file.read_picked_into(self.id, &picked, out, &Cancellation::new()))?;
            Ok(())
        })?;
        Ok((bytes.into_any(), heap))
    }

    /// Reads picked elements into memory that the caller holds.
    fn read_into(&self, py: Python<'_>, picked: Picked, address: usize, length: usize, is_small: bool) -> PyResult<HeapObjects> {
        let (file, id) = (self.file.clone(), self.id);
        let cancellation = Cancellation::new();
        let shared = cancellation.clone();
        let read = move || {
            if length == 0 || address == 0 {
                return file.read_picked_into(id, &picked, &mut [], &shared);
            }
            // SAFETY: the limited API of Python 3.10 has no buffer protocol, so memory comes as an address. By the callers'
            // contract it is valid for `length` bytes and not used elsewhere, and `wait` does not return before this closure has
            // ended.
            let out = unsafe { std::slice::from_raw_parts_mut(address as *mut u8, length) };
            file.read_picked_into(id, &picked, out, &shared)
        };
        if is_small { run(py, read) } else { wait_reading(py, &cancellation, length, read) }
    }

    /// Values whose bytes are the same in the file and in numpy.
    fn elements<'py>(&self, py: Python<'py>, key: Key<'py>, dtype: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Key { picked, shape, has_ellipsis, fields } = key;
        // Several fields, and names of none, are left to Python.
        let is_field = |name: &Bound<'py, PyString>| matches!(&self.dataset.datatype, Datatype::Compound { members, .. } if members.iter().any(|member| name == member.name.as_str()));
        if fields.len() > 1 || !fields.iter().all(is_field) {
            return Ok(None);
        }
        let length = self.length(py, &picked, &shape)?;
        let (bytes, _) = self.read(py, picked, &shape, length)?;
        // As in h5py, `...` keeps the array of a scalar dataset only.
        let is_scalar = shape.is_empty() && self.inner.is_empty() && !(has_ellipsis && self.is_scalar());
        let shape = PyTuple::new(py, [shape.as_slice(), &self.inner].concat())?;
        let mut values = ndarray(py)?.call1((shape, dtype, bytes))?;
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
        key: Key<'py>,
        dtype: &Bound<'py, PyAny>,
        make: impl Fn(&[u8]) -> PyResult<Bound<'py, PyAny>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Key { picked, shape, has_ellipsis, fields } = key;
        if !fields.is_empty() || !self.inner.is_empty() {
            return Ok(None);
        }
        self.length(py, &picked, &shape)?;
        let values = self.values(py, picked)?;
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

    /// Picked elements in memory of Rust's.
    fn values(&self, py: Python<'_>, picked: Picked) -> PyResult<Elements> {
        let (file, id) = (self.file.clone(), self.id);
        let cancellation = Cancellation::new();
        let shared = cancellation.clone();
        let is_small = picked.max_bytes(&self.dataset) <= SMALL_BYTES && !self.file.is_remote();
        let read = move || file.read_picked(id, &picked, &shared);
        if is_small { run(py, read) } else { wait(py, &cancellation, read) }
    }
}

fn empty(py: Python<'_>) -> PyResult<&Bound<'_, PyAny>> {
    static EMPTY: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    EMPTY.import(py, "numpy", "empty")
}
