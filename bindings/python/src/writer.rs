//! Writer: a file or a task that is being written. It takes values from memory that Python owns.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use hyperslab::storage::{StorageOptions, is_address};
use hyperslab::write::{AttributeValue, Existing, Extent, FileWriter, LibraryVersion, Link, Region, without_steps};
use hyperslab::{Cancellation, Elements, Error, HeapObjects, HeapReference, Result, SessionOptions, new_session};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::back;
use crate::dataset_definition::{DatasetDefinition, dataspace};
use crate::datatype::Datatype;
use crate::error::raise;
use crate::heap::Heap;
use crate::name::Name;
use crate::results::object::{self, Definition, Member, ObjectInfo, ReferenceTarget};
use crate::target::{Ended, Target};
use crate::wait::{run, wait_writing};

/// Writes of at most this many bytes run on the calling thread, because they end before a user could press Ctrl-C. Handing them
/// to another thread would cost two thread switches, which are slow next to MPI processes that spin while they wait.
const SMALL_BYTES: usize = 32 << 20;

const FAILED: &str = "an earlier write failed half-way";
const CLOSED: &str = "this is closed: it was finished or given up";

/// A file or a task that is being written; `None` after it was finished or discarded.
#[pyclass(frozen, module = "hyperslab._native")]
pub(crate) struct Writer(Arc<Mutex<Option<Box<dyn Target>>>>);

/// The value that a heap reference stands for: its index counts the values of `heap` from 1.
pub(crate) fn of_list(heap: &[Vec<u8>], reference: HeapReference) -> Result<&[u8]> {
    let number = usize::try_from(reference.index).ok().and_then(|index| index.checked_sub(1));
    let value = number.and_then(|number| heap.get(number));
    value.map(Vec::as_slice).ok_or_else(|| Error::invalid_input("a variable-length value that is not there"))
}

/// Values of variable length, which elements point at by their numbers from 1 on.
pub(crate) fn heap_of(heap: Vec<Vec<u8>>) -> Result<HeapObjects> {
    let mut objects = HeapObjects::default();
    for (number, value) in heap.into_iter().enumerate() {
        let index = u32::try_from(number + 1).map_err(|_| Error::unsupported("4 Gi variable-length values at once"))?;
        objects.insert(HeapReference { address: 1, index }, Arc::from(value));
    }
    Ok(objects)
}

/// An attribute with its heap.
pub(crate) fn attribute(shape: Option<Vec<u64>>, datatype: hyperslab::Datatype, bytes: Vec<u8>, heap: Vec<Vec<u8>>) -> Result<AttributeValue> {
    Ok(AttributeValue::new(dataspace(shape, None)?, Elements { datatype, bytes, heap: heap_of(heap)? }))
}

/// A link to `target`, in `file` if that is given.
pub(crate) fn link(target: Name, file: Option<Name>, hard: bool) -> Link {
    match file {
        Some(file) => Link::External { file: file.0, path: target.0 },
        None if hard => Link::Hard(target.0),
        None => Link::Soft(target.0),
    }
}

impl Writer {
    pub(crate) fn new(target: impl Target + 'static) -> Self {
        Self(Arc::new(Mutex::new(Some(Box::new(target)))))
    }

    fn with<T: Send>(&self, py: Python<'_>, work: impl FnOnce(&mut dyn Target) -> Result<T> + Send) -> PyResult<T> {
        let shared = self.0.clone();
        run(py, move || locked(&shared, work))
    }
}

fn locked<T>(shared: &Mutex<Option<Box<dyn Target>>>, work: impl FnOnce(&mut dyn Target) -> Result<T>) -> Result<T> {
    let mut target = shared.lock().map_err(|_| Error::internal(FAILED))?;
    work(target.as_mut().ok_or_else(|| Error::invalid_input(CLOSED))?.as_mut())
}

#[pymethods]
impl Writer {
    /// Begins the file that will be called `path`. `track_order` records the order of creation, `durable` makes `finish` wait for
    /// the disk, `replace` lets it replace a file. With `continued`, it begins with the contents of the existing file. A path may be
    /// an address of an object store.
    #[new]
    #[pyo3(signature = (path, alignment=None, threads=None, track_order=false, durable=true, replace=true, continued=false, user_block=0, page_bytes=None, user_block_bytes=None, storage_options=Vec::new(), newest=None))]
    #[expect(clippy::too_many_arguments, reason = "one for each keyword of create")]
    fn begin(
        py: Python<'_>,
        path: PathBuf,
        alignment: Option<u64>,
        threads: Option<usize>,
        track_order: bool,
        durable: bool,
        replace: bool,
        continued: bool,
        user_block: u64,
        page_bytes: Option<u64>,
        user_block_bytes: Option<Vec<u8>>,
        storage_options: Vec<(String, String)>,
        newest: Option<String>,
    ) -> PyResult<Self> {
        let work = move || {
            let newest = newest.as_deref().map_or_else(|| Ok(LibraryVersion::default()), LibraryVersion::named)?;
            if continued && path.to_str().is_some_and(is_address) {
                return Err(Error::unsupported("objects of a store are written whole: add to a local file, and upload it"));
            }
            let storage = StorageOptions::new(storage_options);
            let session = new_session(SessionOptions::default().with_threads(threads).with_storage(storage))?;
            let existing = if replace { Existing::Replace } else { Existing::Keep };
            let mut file =
                if continued { FileWriter::continued(&path, alignment, &session)? } else { FileWriter::create(&path, existing, alignment, &session)? };
            file.set_newest(newest);
            file.set_user_block(user_block)?;
            if let Some(page_bytes) = page_bytes {
                file.set_pages(page_bytes)?;
            }
            if let Some(bytes) = user_block_bytes {
                file.write_user_block(&bytes)?;
            }
            if track_order {
                file.track_order();
            }
            if !durable {
                file.without_sync();
            }
            Ok(file)
        };
        let begun = if continued { wait_writing(py, &Cancellation::new(), work)? } else { run(py, work)? };
        Ok(Self::new(begun))
    }

    /// Defines a group and those above it.
    fn create_group(&self, py: Python<'_>, path: Name) -> PyResult<()> {
        self.with(py, |target| target.create_group(&path))
    }

    /// Defines a dataset and the groups above it. Returns its chunk shape. In a task, `region` is start and count of the part that
    /// it writes, and with `rows` it appends its own rows.
    #[pyo3(signature = (path, definition, region=None, rows=false))]
    fn create_dataset(
        &self,
        py: Python<'_>,
        path: Name,
        definition: PyRef<'_, DatasetDefinition>,
        region: Option<(Vec<u64>, Vec<u64>)>,
        rows: bool,
    ) -> PyResult<Option<Vec<u64>>> {
        let definition = definition.0.clone();
        self.with(py, move |target| {
            let extent = match (region, rows) {
                (None, false) => None,
                (Some((start, count)), false) => Some(Extent::Region(Region { start, count })),
                (None, true) => Some(Extent::Rows),
                (Some(_), true) => return Err(Error::invalid_input("a region of rows of its own: give one of region and rows")),
            };
            target.create_dataset(&path, definition, extent)
        })
    }

    /// What a dataset is, and which part of it may be written.
    fn definition(&self, py: Python<'_>, path: Name) -> PyResult<Definition> {
        let (found, region) = self.with(py, move |target| target.definition(&path))?;
        let datatype = Py::new(py, Datatype::from(&found.datatype))?;
        let region = region.map(|region| (region.start, region.count));
        Ok(Definition { shape: found.dataspace.shape().to_vec(), datatype, chunks: found.chunk_shape, region })
    }

    /// Defines a virtual dataset. A mapping has the file and the path of the source, and start, stride, count and block of each
    /// dimension in the source and in this dataset; `None` selects all.
    fn create_virtual(&self, py: Python<'_>, path: Name, definition: PyRef<'_, DatasetDefinition>, mappings: Vec<back::PyMapping>) -> PyResult<()> {
        let definition = definition.0.clone();
        self.with(py, move |target| target.create_virtual(&path, definition, mappings.into_iter().map(back::mapping).collect()))
    }

    /// The object at a path; `None` if there is none.
    fn look_up(&self, py: Python<'_>, path: Name) -> PyResult<Option<ObjectInfo>> {
        self.with(py, |target| back::look_up(target.objects(), &path))
    }

    /// The members of a group.
    fn members(&self, py: Python<'_>, path: Name) -> PyResult<Vec<Member>> {
        self.with(py, |target| back::members(target.objects(), &path))
    }

    /// The member of a group with this name; `None` if there is none.
    fn member(&self, py: Python<'_>, path: Name, name: Name) -> PyResult<Option<Member>> {
        self.with(py, |target| back::member(target.objects(), &path, &name))
    }

    /// A path of the object with this number, `None` if it was removed.
    fn path_of(&self, py: Python<'_>, number: u64) -> PyResult<Option<Name>> {
        self.with(py, |target| Ok(target.objects().path_of(number).map(Name)))
    }

    /// Removes a name, and the object if it has no other name.
    fn remove(&self, py: Python<'_>, path: Name) -> PyResult<()> {
        self.with(py, |target| target.remove(&path))
    }

    /// Renames an object.
    fn rename(&self, py: Python<'_>, path: Name, to: Name) -> PyResult<()> {
        self.with(py, |target| target.rename(&path, &to))
    }

    /// The extent of a dataset; `None` is null.
    fn shape(&self, py: Python<'_>, path: Name) -> PyResult<Option<Vec<u64>>> {
        self.with(py, |target| Ok(object::shape_of(&back::extent(target, &path)?)))
    }

    /// Describes the object at a path, as `File.describe` does.
    fn describe<'py>(&self, py: Python<'py>, path: Name) -> PyResult<Bound<'py, PyDict>> {
        let found = self.with(py, move |target| back::find(target, &path))?;
        back::describe(py, &found)
    }

    /// Reads the elements of a region into the `length` bytes of memory at `address`. Returns the heap.
    ///
    /// Callers (only `hyperslab.writing.new_dataset`) hold an array that owns that memory, writable, contiguous and not used by another
    /// thread, until this returns.
    fn read_into(&self, py: Python<'_>, path: Name, start: Vec<u64>, count: Vec<u64>, address: usize, length: usize) -> PyResult<Heap> {
        let shared = self.0.clone();
        let work = move || {
            let found = locked(&shared, |target| target.read(&path, &Region { start, count }))?;
            if found.bytes.len() != length {
                return Err(Error::internal("memory of another length than the values have"));
            }
            if length > 0 && address > 0 {
                // SAFETY: as in `write`: by the caller's contract (above) this memory is valid for `length` bytes and not
                // used elsewhere, and this call does not return before this closure has ended.
                unsafe { std::slice::from_raw_parts_mut(address as *mut u8, length) }.copy_from_slice(&found.bytes);
            }
            Ok(found.heap)
        };
        let heap = if length <= SMALL_BYTES { run(py, work) } else { wait_writing(py, &Cancellation::new(), work) };
        heap.map(Heap)
    }

    /// What the reference with this number points at; `None` if that is nothing.
    fn target(&self, py: Python<'_>, number: u64) -> PyResult<Option<ReferenceTarget>> {
        self.with(py, |target| back::target(target.objects(), number))
    }

    /// Names of an object's attributes.
    fn attribute_names(&self, py: Python<'_>, path: Name) -> PyResult<Vec<Name>> {
        self.with(py, |target| Ok(target.objects().attribute_names(&path)?.into_iter().map(Name).collect()))
    }

    /// An attribute; `None` if there is none.
    fn attribute(&self, py: Python<'_>, path: Name, name: Name) -> PyResult<Option<object::AttributeValue>> {
        let found = self.with(py, |target| target.objects().attribute(&path, &name))?;
        found.map(|found| object::AttributeValue::new(py, &found.dataspace, &found.value)).transpose()
    }

    /// Copies the attributes of an object to another.
    fn copy_attributes(&self, py: Python<'_>, path: Name, to: Name) -> PyResult<()> {
        self.with(py, |target| target.objects().copy_attributes(&path, &to))
    }

    /// Removes an attribute.
    fn remove_attribute(&self, py: Python<'_>, path: Name, name: Name) -> PyResult<()> {
        self.with(py, |target| target.objects().remove_attribute(&path, &name))
    }

    /// Defines a link to a path of this file, or of another; with `hard`, another name of the object there.
    #[pyo3(signature = (path, target, file=None, hard=false))]
    fn create_link(&self, py: Python<'_>, path: Name, target: Name, file: Option<Name>, hard: bool) -> PyResult<()> {
        self.with(py, |writer| writer.create_link(&path, link(target, file, hard)))
    }

    /// Commits a datatype under this name.
    fn create_datatype(&self, py: Python<'_>, path: Name, datatype: &Datatype) -> PyResult<()> {
        let datatype = datatype.core();
        self.with(py, |target| target.create_datatype(&path, datatype))
    }

    /// In a task, opens a dataset of the plan for writing. `region` is start and count of a part of it; by default the region in
    /// the plan.
    #[pyo3(signature = (path, region=None))]
    fn open_dataset(&self, py: Python<'_>, path: Name, region: Option<(Vec<u64>, Vec<u64>)>) -> PyResult<()> {
        let region = region.map(|(start, count)| Region { start, count });
        self.with(py, |target| target.open_dataset(&path, region))
    }

    /// Whether the plan defines a dataset at this path that the task has not opened yet.
    fn is_planned(&self, py: Python<'_>, path: Name) -> PyResult<bool> {
        self.with(py, |target| Ok(target.is_planned(&path)))
    }

    /// Sets an attribute.
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
        self.with(py, move |target| target.set_attribute(&path, &name, attribute(shape, datatype, value, heap)?))
    }

    /// Defines a dataset of references to the objects at these paths, or sets an attribute called `name`.
    #[pyo3(signature = (path, name, shape, targets))]
    fn set_references(&self, py: Python<'_>, path: Name, name: Option<Name>, shape: Vec<u64>, targets: Vec<Option<Name>>) -> PyResult<()> {
        let targets: Vec<Option<String>> = targets.into_iter().map(|target| target.map(String::from)).collect();
        self.with(py, move |target| target.set_references(&path, name.as_deref(), shape, &targets))
    }

    /// Makes a dataset the scale of a dimension of another.
    fn attach_scale(&self, py: Python<'_>, path: Name, dimension: u32, scale: Name) -> PyResult<()> {
        self.with(py, |target| target.attach_scale(&path, dimension, &scale))
    }

    /// Detaches a scale from a dimension of a dataset.
    fn detach_scale(&self, py: Python<'_>, path: Name, dimension: u32, scale: Name) -> PyResult<()> {
        self.with(py, |target| target.objects().detach_scale(&path, dimension, &scale))
    }

    /// The paths of the scales that are attached to a dataset, by dimension.
    fn scales(&self, py: Python<'_>, path: Name) -> PyResult<BTreeMap<u32, Vec<Name>>> {
        self.with(py, |target| Ok(target.objects().scales(&path)?.into_iter().map(|(axis, scales)| (axis, scales.into_iter().map(Name).collect())).collect()))
    }

    /// Whether the order of an object's attributes and members is recorded.
    fn set_tracked(&self, py: Python<'_>, path: Name, tracked: bool) -> PyResult<()> {
        self.with(py, |target| target.set_tracked(&path, tracked))
    }

    /// Sets the extent of a dataset.
    fn resize(&self, py: Python<'_>, path: Name, shape: Vec<u64>) -> PyResult<()> {
        self.with(py, |target| target.resize(&path, shape))
    }

    /// Writes the `length` bytes of memory at `address`: the elements of a region, row-major, as stored in the file, `step` apart.
    /// Variable-length elements hold their length, 1, and the number of their value in `heap`. With `parts`, offsets and lengths in
    /// bytes, only these parts of each element are written. With `elements`, the values are those at these row-major positions in
    /// the region.
    ///
    /// Callers (only `hyperslab.writing.new_file`) hold an array that owns that memory, contiguous, until this returns.
    #[expect(clippy::too_many_arguments, reason = "values are a box, memory and a heap")]
    #[pyo3(signature = (path, start, count, address, length, heap, step=None, parts=None, elements=None))]
    fn write(
        &self,
        py: Python<'_>,
        path: Name,
        start: Vec<u64>,
        count: Vec<u64>,
        address: usize,
        length: usize,
        heap: Vec<Vec<u8>>,
        step: Option<Vec<u64>>,
        parts: Option<Vec<(usize, usize)>>,
        elements: Option<Vec<u64>>,
    ) -> PyResult<()> {
        let shared = self.0.clone();
        let cancellation = Cancellation::new();
        let cancelled = cancellation.clone();
        let work = move || {
            let values: &[u8] = if length == 0 || address == 0 {
                &[]
            } else {
                // SAFETY: the limited API of Python 3.10 has no buffer protocol, so memory comes as an
                // address. By the caller's contract (above) it is valid for `length` bytes, and this call
                // does not return before this closure has ended.
                unsafe { std::slice::from_raw_parts(address as *const u8, length) }
            };
            let resolve = |reference| of_list(&heap, reference);
            let region = Region { start, count };
            locked(&shared, |target| {
                target.objects().cancel_with(&cancelled);
                match (&step, &elements) {
                    (_, Some(elements)) => target.write_scattered(&path, &region, elements, values, parts.as_deref(), &resolve),
                    (None, None) => target.write(&path, &region, values, parts.as_deref(), &resolve),
                    (Some(step), None) => without_steps(&region, step, values, |part, bytes| target.write(&path, part, bytes, parts.as_deref(), &resolve)),
                }
            })
        };
        if length <= SMALL_BYTES { run(py, work) } else { wait_writing(py, &cancellation, work) }
    }

    /// Writes rows of text in Arrow's layout: `count + 1` offsets of `width` bytes (4 or 8) at `offsets`, into the `length` bytes
    /// at `data`.
    ///
    /// Callers (only `hyperslab.writing.write_table`) hold the Arrow array that owns that memory until this returns.
    #[expect(clippy::too_many_arguments, reason = "rows, and the two buffers of an Arrow array")]
    fn write_text(&self, py: Python<'_>, path: Name, first: u64, count: usize, offsets: usize, width: usize, data: usize, length: usize) -> PyResult<()> {
        let shared = self.0.clone();
        wait_writing(py, &Cancellation::new(), move || {
            let offsets_length = count.checked_add(1).and_then(|n| n.checked_mul(width)).filter(|_| matches!(width, 4 | 8) && offsets != 0);
            let offsets_length = offsets_length.ok_or_else(|| Error::internal("no offsets of text"))?;
            // SAFETY: as in `write`: memory comes as addresses, which are valid for these lengths by the caller's contract
            // (above); this call does not return before this closure has ended.
            let offsets = unsafe { std::slice::from_raw_parts(offsets as *const u8, offsets_length) };
            let text: &[u8] = if length == 0 || data == 0 {
                &[]
            } else {
                // SAFETY: as above.
                unsafe { std::slice::from_raw_parts(data as *const u8, length) }
            };
            let ends: Vec<usize> = offsets.chunks_exact(width).map(|bytes| bytes.iter().rev().fold(0, |n, byte| n << 8 | usize::from(*byte))).collect();
            let value = |row: usize| ends.get(row).zip(ends.get(row + 1)).and_then(|(start, end)| text.get(*start..*end));
            let mut elements = Vec::with_capacity(count.saturating_mul(16));
            for row in 0..count {
                let value = value(row).ok_or_else(|| Error::invalid_input("text that is not in its Arrow array"))?;
                if value.contains(&0) {
                    return Err(Error::invalid_input("text with a NUL, where HDF5 would end it"));
                }
                let number = |n: usize| u32::try_from(n).map_err(|_| Error::unsupported("4 GiB of text, or 4 Gi rows, at once"));
                let (bytes, index) = (number(value.len())?, number(row + 1)?);
                let index = if bytes == 0 { 0 } else { index };
                elements.extend_from_slice(&bytes.to_le_bytes());
                elements.extend_from_slice(&u64::from(index != 0).to_le_bytes());
                elements.extend_from_slice(&index.to_le_bytes());
            }
            let resolve = |reference: HeapReference| {
                let row = usize::try_from(reference.index).ok().and_then(|index| index.checked_sub(1));
                row.and_then(value).ok_or_else(|| Error::internal("a row of text that is not there"))
            };
            let region = Region { start: vec![first], count: vec![count as u64] };
            locked(&shared, |target| target.write(&path, &region, &elements, None, &resolve))
        })
    }

    /// Finishes it. A file becomes visible; returns its length in bytes. A task returns its encoded fragment.
    #[pyo3(signature = (replace=false))]
    fn finish<'py>(&self, py: Python<'py>, replace: bool) -> PyResult<Bound<'py, PyAny>> {
        // Another thread's call may hold the lock, and wait for the interpreter.
        let taken = run(py, || Ok(self.0.lock().map_err(|_| Error::internal(FAILED))?.take()))?;
        let Some(mut target) = taken else { return Err(raise(py, &Error::invalid_input(CLOSED))) };
        let cancellation = Cancellation::new();
        target.objects().cancel_with(&cancellation);
        let existing = if replace { Existing::Replace } else { Existing::Keep };
        // Another thread would cost a turn of the scheduler each way.
        let ended =
            if target.is_quick() { run(py, move || target.finish(existing))? } else { wait_writing(py, &cancellation, move || target.finish(existing))? };
        match ended {
            Ended::Length(length) => Ok(length.into_pyobject(py)?.into_any()),
            Ended::Fragment(bytes) => Ok(PyBytes::new(py, &bytes).into_any()),
        }
    }

    /// Discards it and leaves nothing. May be repeated, also after `finish`.
    fn abort(&self, py: Python<'_>) {
        py.detach(|| {
            if let Ok(mut target) = self.0.lock() {
                target.take();
            }
        });
    }
}
