//! File: an open file; describes its objects and reads hyperslabs into memory that Python owns.

use std::ffi::OsString;

use hyperslab::scan::{coordinate_of_bounds, decoding_of};
use hyperslab::{Axis, Cancellation, Error, Object, ObjectId, Pick, Picked, ReferencedPart, Selection};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};

use crate::datatype::Datatype;
use crate::decoding::Decoding;
use crate::error::raise;
use crate::heap::Heap;
use crate::name::{self, Name};
use crate::ranges::OpenedBy;
use crate::results::object::{AttributeValue, Links, RegionSelection};
use crate::session::Arguments;
use crate::stored::{PyLink, PySelection};
use crate::structure::structure;
use crate::visit::Visit;
use crate::wait::{parse, run, wait_reading};
use crate::{describe, reference, stored};

/// An open file.
#[pyclass(frozen, eq, hash, weakref, module = "hyperslab._native")]
#[derive(PartialEq, Eq, Hash)]
pub(crate) struct File(pub(crate) hyperslab::File);

/// What a reference points at.
#[pyclass(frozen, get_all, module = "hyperslab._native")]
pub(crate) struct Dereferenced {
    /// The file of the object.
    file: Py<File>,
    /// Number of the object in its file.
    object: u64,
    /// Path of the object.
    path: Name,
    /// The elements of a region reference.
    selection: Option<Py<RegionSelection>>,
    /// The name of the attribute that an attribute reference points at.
    attribute: Option<Name>,
}

/// What opens the same version of a file again.
type Origin<'py> = (OsString, Bound<'py, PyTuple>, u64, Option<u64>, Option<String>);

/// Reads that touch at most this many bytes of chunks run on the calling thread: they end before a user could press Ctrl-C, and
/// handing them to another thread would take longer than reading.
pub(crate) const SMALL_BYTES: u64 = 4 << 20;

/// One dimension of a selection: `(start, count, step)`, or increasing indexes.
#[derive(FromPyObject)]
pub(crate) enum PyAxis {
    Range(u64, u64, u64),
    Indices(Vec<u64>),
}

impl PyAxis {
    fn axis(self) -> Axis {
        match self {
            Self::Range(start, count, step) => Axis::Range { start, count, step },
            Self::Indices(indices) => Axis::Indices(indices),
        }
    }
}

pub(crate) fn selection(file: &hyperslab::File, dataset: ObjectId, axes: Vec<PyAxis>) -> hyperslab::Result<Selection> {
    Selection::new(axes.into_iter().map(PyAxis::axis).collect(), file.dataset(dataset)?.dataspace.shape())
}

#[pymethods]
impl File {
    /// The path it was opened by.
    #[getter]
    fn path(&self) -> String {
        self.0.name()
    }

    /// The format, as `hyperslab.open(format=)` takes it: one of `FORMATS`.
    #[getter]
    fn format(&self) -> &'static str {
        self.0.format().name()
    }

    /// The number of the root group.
    #[getter]
    fn root(&self) -> u64 {
        self.0.root().0
    }

    /// Closes the handles of the operating system, for all objects and plans of this opening.
    fn close(&self, py: Python<'_>) {
        py.detach(|| self.0.close());
    }

    /// Whether it was closed.
    #[getter]
    fn closed(&self) -> bool {
        self.0.is_closed()
    }

    /// What opens the same version again: the path, the arguments of the session, the length in bytes, the time of the last
    /// modification in nanoseconds since 1970, and the entity tag of a remote object.
    fn origin<'py>(&self, py: Python<'py>) -> PyResult<Origin<'py>> {
        let file = self.0.clone();
        let version = parse(py, move || file.version())?;
        let arguments = self.0.session().extension::<Arguments>().ok_or_else(|| raise(py, &Error::internal("a session without its arguments")))?;
        Ok((self.0.path().as_os_str().to_owned(), arguments.as_tuple(py)?, version.bytes, version.modified_nanoseconds, version.tag))
    }

    /// The object whose `read_ranges` reads the file, if it was opened so.
    fn reader(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        self.0.kept::<OpenedBy>().0.get().map(|reader| reader.clone_ref(py))
    }

    /// Copies are the file itself: it does not change.
    fn __copy__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __deepcopy__(slf: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
        slf
    }

    /// The same file, opened again.
    fn reopen(&self, py: Python<'_>) -> PyResult<File> {
        let file = self.0.clone();
        parse(py, move || file.reopen().map_err(|error| error.in_file(file.name()))).map(File)
    }

    /// The file and number of the object at `path`.
    fn find(&self, py: Python<'_>, path: Name) -> PyResult<(File, u64)> {
        let file = self.0.clone();
        let found = parse(py, move || file.find(&path))?;
        Ok((File(found.file), found.object.0))
    }

    /// Whether there is an object at `path`; links that lead nowhere lead to none.
    fn exists(&self, py: Python<'_>, path: Name) -> PyResult<bool> {
        let file = self.0.clone();
        parse(py, move || file.exists(&path))
    }

    /// What an object is: `group`, `dataset`, `datatype` or `unreadable`.
    fn kind(&self, py: Python<'_>, object: u64) -> PyResult<&'static str> {
        let file = self.0.clone();
        parse(py, move || {
            Ok(match file.object(ObjectId(object)) {
                Ok(Object::Group) => "group",
                Ok(Object::Dataset(_)) => "dataset",
                Ok(Object::Datatype(_)) => "datatype",
                Err(_) => "unreadable",
            })
        })
    }

    /// Names of a group's links.
    fn names<'py>(&self, py: Python<'py>, group: u64) -> PyResult<Bound<'py, PyList>> {
        let file = self.0.clone();
        let links = parse(py, move || file.links(ObjectId(group)))?;
        name::list(py, links.iter().map(|link| link.name.as_str()))
    }

    /// Names of a group's links that the file states to be UTF-8.
    fn utf8_names(&self, py: Python<'_>, group: u64) -> PyResult<Vec<Name>> {
        let file = self.0.clone();
        let links = parse(py, move || file.links(ObjectId(group)))?;
        Ok(links.iter().filter(|link| link.is_utf8).map(|link| Name(link.name.clone())).collect())
    }

    /// Number of a group's links.
    fn link_count(&self, py: Python<'_>, group: u64) -> PyResult<u64> {
        let file = self.0.clone();
        parse(py, move || file.link_count(ObjectId(group)))
    }

    /// A group's links.
    fn links(&self, py: Python<'_>, group: u64) -> PyResult<Links> {
        let file = self.0.clone();
        parse(py, move || file.links(ObjectId(group))).map(Links)
    }

    /// An absolute path of an object.
    fn object_path(&self, py: Python<'_>, object: u64) -> PyResult<Name> {
        let file = self.0.clone();
        parse(py, move || Ok(Name(file.path_of(ObjectId(object))?.to_string())))
    }

    /// Describes the object at `path`, without its attributes, links, dimensions and values.
    fn describe<'py>(&self, py: Python<'py>, object: u64, path: Name) -> PyResult<Bound<'py, PyDict>> {
        let (file, id) = (self.0.clone(), ObjectId(object));
        file.add_path(id, &path);
        let (found, dataset) = parse(py, move || {
            let found = file.object(id);
            // The extent of a virtual dataset may depend on its sources, which are other files.
            let dataset = if matches!(found, Ok(Object::Dataset(_))) { Some(file.dataset(id)?) } else { None };
            Ok((found, dataset))
        })?;
        let dict = PyDict::new(py);
        let kind = match (found, dataset) {
            (Ok(Object::Datatype(datatype)), _) => {
                dict.set_item("datatype", Datatype::from(&*datatype))?;
                "datatype"
            }
            (Ok(_), Some(dataset)) => {
                describe::dataset(py, &dict, &dataset)?;
                "dataset"
            }
            (Ok(_), None) => "group",
            (Err(error), _) => {
                dict.set_item("refusal", error.to_string())?;
                "unreadable"
            }
        };
        dict.set_item("kind", kind)?;
        Ok(dict)
    }

    /// Name of each dimension of a dataset, and the object that holds its coordinates.
    fn dimensions(&self, py: Python<'_>, dataset: u64) -> PyResult<Vec<(Option<Name>, Option<u64>)>> {
        let file = self.0.clone();
        let dimensions = parse(py, move || file.dimensions(ObjectId(dataset)))?;
        Ok(dimensions.iter().map(|dimension| (dimension.name.clone().map(Name), dimension.scale.map(|id| id.0))).collect())
    }

    /// The netCDF dimensions that a group declares: name, extent, and whether it is unlimited.
    fn declared_dimensions(&self, py: Python<'_>, group: u64) -> PyResult<Vec<(Name, u64, bool)>> {
        let file = self.0.clone();
        let declared = parse(py, move || file.declared_dimensions(ObjectId(group)))?;
        Ok(declared.iter().map(|dimension| (Name(dimension.name.clone()), dimension.extent, dimension.unlimited)).collect())
    }

    /// Raises the error of an object that cannot be read.
    fn check(&self, py: Python<'_>, object: u64) -> PyResult<()> {
        let file = self.0.clone();
        parse(py, move || file.object(ObjectId(object)).map(drop))
    }

    /// What the file says of an object beyond its content, as a dictionary.
    fn structure<'py>(&self, py: Python<'py>, object: u64) -> PyResult<Bound<'py, PyDict>> {
        let (file, id) = (self.0.clone(), ObjectId(object));
        let (properties, found) = parse(py, move || Ok((file.array_file().tree().properties(id)?, file.object(id)?)))?;
        structure(py, &properties, &found)
    }

    /// Names of an object's attributes.
    fn attribute_names(&self, py: Python<'_>, object: u64) -> PyResult<Vec<Name>> {
        let file = self.0.clone();
        let attributes = parse(py, move || file.attributes(ObjectId(object)))?;
        Ok(attributes.iter().map(|attribute| Name(attribute.name.clone())).collect())
    }

    /// An attribute; `None` if there is none.
    fn attribute(&self, py: Python<'_>, object: u64, name: Name) -> PyResult<Option<AttributeValue>> {
        let file = self.0.clone();
        let attributes = parse(py, move || file.attributes(ObjectId(object)))?;
        let Some(attribute) = attributes.get(&name) else { return Ok(None) };
        let value = attribute.value.as_ref().map_err(|error| raise(py, &self.0.place(ObjectId(object), error.clone())))?;
        AttributeValue::new(py, &attribute.dataspace, value).map(Some)
    }

    /// What a reference of some kind (`Object`, `Region`, `Standard`) points at; `None` for a null reference.
    fn dereference(&self, py: Python<'_>, kind: &str, element: Vec<u8>) -> PyResult<Option<Dereferenced>> {
        let (file, kind) = (self.0.clone(), reference::kind(py, kind)?);
        let found = parse(py, move || {
            let Some(found) = file.dereference(kind, element.len(), &element)?.pop().flatten() else { return Ok(None) };
            let path = Name(found.file.path_of(found.object)?.to_string());
            Ok(Some((found, path)))
        })?;
        let Some((found, path)) = found else { return Ok(None) };
        let (selection, attribute) = match found.part {
            ReferencedPart::Object => (None, None),
            ReferencedPart::Region(selection) => {
                let (kind, parts) = describe::selection(selection);
                (Some(Py::new(py, RegionSelection { kind, parts })?), None)
            }
            ReferencedPart::Attribute(name) => (None, Some(Name(name))),
        };
        Ok(Some(Dereferenced { file: Py::new(py, File(found.file))?, object: found.object.0, path, selection, attribute }))
    }

    /// A link of a group: its kind (`hard`, `soft`, `external` or `user-defined`), and for soft and external links the path and the file;
    /// `None` if there is none of this name.
    fn link(&self, py: Python<'_>, group: u64, name: Name) -> PyResult<Option<PyLink>> {
        stored::link(py, &self.0, group, name)
    }

    /// Visits all objects below a group, whose absolute path is `path`.
    fn visit(&self, group: u64, path: Name) -> Visit {
        Visit::new(self.0.clone(), group, &path)
    }

    /// Address of an object's header, as object references of HDF5 hold it; `None` in other formats.
    fn address(&self, object: u64) -> Option<u64> {
        stored::address(&self.0, object)
    }

    /// The coordinate in the same file whose `bounds` or `climatology` names a dataset; `None` for other datasets.
    fn coordinate_of_bounds(&self, py: Python<'_>, dataset: u64) -> PyResult<Option<u64>> {
        let file = self.0.clone();
        parse(py, move || {
            let found = coordinate_of_bounds(&file, ObjectId(dataset), &*file.dataset(ObjectId(dataset))?)?;
            Ok(found.filter(|found| found.file == file).map(|found| found.object.0))
        })
    }

    /// What the stored values of a dataset mean; `None` if they mean themselves.
    fn decoding(&self, py: Python<'_>, dataset: u64) -> PyResult<Option<Decoding>> {
        let file = self.0.clone();
        Ok(parse(py, move || decoding_of(&file, ObjectId(dataset)))?.map(Decoding))
    }

    /// Bytes of the user block.
    #[getter]
    fn user_block_bytes(&self) -> u64 {
        stored::user_block_bytes(&self.0)
    }

    /// The heap objects that a dataset's fill value points at.
    fn fill_heap(&self, py: Python<'_>, dataset: u64) -> PyResult<Heap> {
        stored::fill_heap(py, &self.0, dataset)
    }

    /// Name, offset and length of the files that hold a dataset's external raw data; a length of `None` is all that follows.
    fn external_files(&self, py: Python<'_>, dataset: u64) -> PyResult<Vec<(Name, u64, Option<u64>)>> {
        stored::external_files(py, &self.0, dataset)
    }

    /// The mappings of a virtual dataset: the source's file, path and selection, and the selection in the dataset.
    fn virtual_mappings(&self, py: Python<'_>, dataset: u64) -> PyResult<Vec<(Name, Name, PySelection, PySelection)>> {
        stored::virtual_mappings(py, &self.0, dataset)
    }

    /// Bytes of the values in the file.
    fn stored_bytes(&self, py: Python<'_>, dataset: u64) -> PyResult<u64> {
        let file = self.0.clone();
        parse(py, move || file.stored_bytes(ObjectId(dataset)))
    }

    /// Reads a selection into the `length` bytes of memory at `address`. Returns the heap.
    ///
    /// Callers (only `hyperslab.objects.reading`) hold an array that owns that memory, writable, contiguous and
    /// not used by another thread, until this returns.
    fn read_into(&self, py: Python<'_>, dataset: u64, axes: Vec<PyAxis>, address: usize, length: usize) -> PyResult<Heap> {
        let file = self.0.clone();
        let cancellation = Cancellation::new();
        let shared = cancellation.clone();
        let dataset = ObjectId(dataset);
        let picked = Picked::Outer(axes.into_iter().map(PyAxis::axis).map(Pick::Axis).collect());
        let description = self.0.dataset(dataset).map_err(|error| raise(py, &error))?;
        let is_small = picked.max_bytes(&description) <= SMALL_BYTES && !self.0.is_remote();
        let read = move || {
            if length == 0 || address == 0 {
                return file.read_picked_into(dataset, &picked, &mut [], &shared);
            }
            // SAFETY: the limited API of Python 3.10 has no buffer protocol, so memory comes as an
            // address. By the caller's contract (above) it is valid for `length` bytes and not used
            // elsewhere, and `wait` does not return before this closure has ended.
            let out = unsafe { std::slice::from_raw_parts_mut(address as *mut u8, length) };
            file.read_picked_into(dataset, &picked, out, &shared)
        };
        let heap = if is_small { run(py, read) } else { wait_reading(py, &cancellation, length, read) };
        heap.map(Heap)
    }
}
