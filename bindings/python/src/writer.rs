//! Writer: a file that is being written; takes values from memory that Python owns.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use hyperslab::filter::{Filter, Pipeline};
use hyperslab::write::{AttributeValue, DatasetDefinition, Existing, Region, Subfile};
use hyperslab::{Cancellation, Dataspace, Elements, Error, HeapObjects, HeapReference, Result, Session, SessionOptions};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::definition::datatype;
use crate::error::raise;
use crate::wait::{run, wait};

/// Number, name, whether it may be skipped, parameters.
pub(crate) type PyFilter = (u16, Option<String>, bool, Vec<u32>);

/// Values that are written before anybody could press Ctrl-C.
const SMALL_BYTES: usize = 1 << 20;

/// A file under way; `None` when it was finished or given up.
#[pyclass(frozen, module = "hyperslab._native")]
pub(crate) struct Writer(Arc<Mutex<Option<Subfile>>>);

/// The extent that Python says: `None` is null, no dimensions is a scalar.
pub(crate) fn dataspace(shape: Option<Vec<u64>>, max_shape: Option<Vec<Option<u64>>>) -> Result<Dataspace> {
    let Some(shape) = shape else { return Ok(Dataspace::Null) };
    match max_shape {
        Some(max_shape) if max_shape.len() != shape.len() => {
            Err(Error::invalid_input(format!("a largest shape of {} dimensions for one of {}", max_shape.len(), shape.len())))
        }
        Some(max_shape) if !shape.is_empty() => Ok(Dataspace::Simple { shape, max_shape }),
        _ => Ok(Dataspace::fixed(shape)),
    }
}

/// The value that a heap reference stands for: its index counts the values of `heap` from 1 on.
pub(crate) fn of_list(heap: &[Vec<u8>], reference: HeapReference) -> Result<&[u8]> {
    let number = usize::try_from(reference.index).ok().and_then(|index| index.checked_sub(1));
    let value = number.and_then(|number| heap.get(number));
    value.map(Vec::as_slice).ok_or_else(|| Error::invalid_input("a variable-length value that is not there"))
}

/// An attribute's value with its heap.
pub(crate) fn attribute(shape: Option<Vec<u64>>, datatype: hyperslab::Datatype, bytes: Vec<u8>, heap: Vec<Vec<u8>>) -> Result<AttributeValue> {
    let mut objects = HeapObjects::default();
    for (number, value) in heap.into_iter().enumerate() {
        let index = u32::try_from(number + 1).map_err(|_| Error::unsupported("4 Gi variable-length values in an attribute"))?;
        objects.insert(HeapReference { address: 1, index }, Arc::from(value));
    }
    Ok(AttributeValue { dataspace: dataspace(shape, None)?, value: Elements { datatype, bytes, heap: objects } })
}

/// What a dataset is to be.
pub(crate) fn definition(
    datatype: hyperslab::Datatype,
    dataspace: Dataspace,
    chunk_shape: Option<Vec<u64>>,
    filters: Vec<PyFilter>,
    fill_value: Option<Vec<u8>>,
) -> DatasetDefinition {
    let filters = filters.into_iter().map(|(id, name, optional, parameters)| Filter { id, name, optional, parameters });
    DatasetDefinition { datatype, dataspace, chunk_shape, filters: Pipeline { filters: filters.collect() }, fill_value }
}

impl Writer {
    pub(crate) fn new(subfile: Subfile) -> Self {
        Self(Arc::new(Mutex::new(Some(subfile))))
    }

    fn with<T: Send>(&self, py: Python<'_>, work: impl FnOnce(&mut Subfile) -> Result<T> + Send) -> PyResult<T> {
        let shared = self.0.clone();
        run(py, move || locked(&shared, work))
    }
}

fn locked<T>(shared: &Mutex<Option<Subfile>>, work: impl FnOnce(&mut Subfile) -> Result<T>) -> Result<T> {
    let mut subfile = shared.lock().map_err(|_| Error::internal("an earlier write to this file failed"))?;
    work(subfile.as_mut().ok_or_else(|| Error::invalid_input("the file is closed: it was finished or given up"))?)
}

#[pymethods]
impl Writer {
    /// Begins the file that will be called `path`.
    #[new]
    #[pyo3(signature = (path, alignment=None, threads=None))]
    fn begin(py: Python<'_>, path: PathBuf, alignment: Option<u64>, threads: Option<usize>) -> PyResult<Self> {
        let begun = run(py, move || {
            let session = Session::new(SessionOptions { threads, ..SessionOptions::default() })?;
            Subfile::create(&path, alignment, &session)
        });
        begun.map(Self::new)
    }

    /// Defines a group and those above it.
    fn create_group(&self, py: Python<'_>, path: String) -> PyResult<()> {
        self.with(py, |subfile| subfile.create_group(&path))
    }

    /// Defines a dataset and the groups above it; gives its chunk shape.
    #[pyo3(signature = (path, datatype, shape, maxshape=None, chunks=None, filters=Vec::new(), fill=None))]
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
    ) -> PyResult<Option<Vec<u64>>> {
        let datatype = self::datatype(datatype)?;
        self.with(py, move |subfile| {
            let definition = definition(datatype, dataspace(shape, maxshape)?, chunks, filters, fill);
            subfile.create_dataset(&path, definition)?;
            Ok(subfile.definition(&path)?.chunk_shape)
        })
    }

    /// Defines a link to a path of this file, or of another.
    #[pyo3(signature = (path, target, file=None))]
    fn create_link(&self, py: Python<'_>, path: String, target: String, file: Option<String>) -> PyResult<()> {
        self.with(py, |subfile| subfile.create_link(&path, file.as_deref(), &target))
    }

    /// Sets an attribute.
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
        self.with(py, move |subfile| subfile.set_attribute(&path, &name, attribute(shape, datatype, value, heap)?))
    }

    /// Grows a dataset.
    fn grow(&self, py: Python<'_>, path: String, shape: Vec<u64>) -> PyResult<()> {
        self.with(py, |subfile| subfile.grow(&path, shape))
    }

    /// Writes the `length` bytes of memory at `address`: the elements of a box, row-major, as they will lie in
    /// the file; variable-length elements hold their length, 1, and the number of their value in `heap`.
    ///
    /// Callers (only `hyperslab.writing`) hold an array that owns that memory, contiguous, until this returns.
    #[expect(clippy::too_many_arguments, reason = "values are a box, memory and a heap")]
    fn write(&self, py: Python<'_>, path: String, start: Vec<u64>, count: Vec<u64>, address: usize, length: usize, heap: Vec<Vec<u8>>) -> PyResult<()> {
        let shared = self.0.clone();
        let work = move || {
            let values: &[u8] = if length == 0 || address == 0 {
                &[]
            } else {
                // SAFETY: the limited API of Python 3.10 has no buffer protocol, so memory comes as an
                // address. The caller's contract (above) makes it valid for `length` bytes, and this call
                // does not return before this closure has ended.
                unsafe { std::slice::from_raw_parts(address as *const u8, length) }
            };
            let resolve = |reference| of_list(&heap, reference);
            locked(&shared, |subfile| subfile.write(&path, &Region { start, count }, values, &resolve))
        };
        if length <= SMALL_BYTES { run(py, work) } else { wait(py, &Cancellation::new(), work) }
    }

    /// Makes the file visible; its length in bytes. `replace` or conflict with one of the same name.
    fn finish(&self, py: Python<'_>, replace: bool) -> PyResult<u64> {
        let taken = self.0.lock().map_err(|_| raise(py, &Error::internal("an earlier write to this file failed")))?.take();
        let Some(subfile) = taken else { return Err(raise(py, &Error::invalid_input("the file is closed: it was finished or given up"))) };
        let existing = if replace { Existing::Replace } else { Existing::Keep };
        wait(py, &Cancellation::new(), move || subfile.finish(existing))
    }

    /// Gives the file up; nothing of it is left. May be called again, and after the end.
    fn abort(&self) {
        if let Ok(mut subfile) = self.0.lock() {
            subfile.take();
        }
    }
}
