//! Results about objects: links and members of groups, attributes, definitions of datasets, targets of references.

use std::sync::Arc;

use hyperslab::{Dataspace, Elements, Link, LinkTarget};
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyList, PyString};

use crate::datatype::Datatype;
use crate::heap::Heap;
use crate::name::{self, Name};

const HARD: &str = "hard";
const SOFT: &str = "soft";
const EXTERNAL: &str = "external";
const USER_DEFINED: &str = "user-defined";

/// The target of a link that is not hard, as text; empty for a hard link.
fn target(link: &Link) -> String {
    match &link.target {
        LinkTarget::Hard(_) => String::new(),
        LinkTarget::Soft(path) => path.clone(),
        LinkTarget::External { file, path } => format!("{file}:{path}"),
        LinkTarget::UserDefined(class) => class.to_string(),
    }
}

/// The links of a group of an open file as columns, each made when it is read: a group may have very many links.
#[pyclass(frozen, module = "hyperslab._native")]
pub(crate) struct Links(pub Arc<hyperslab::Links>);

#[pymethods]
impl Links {
    /// Names in the group.
    #[getter]
    fn names<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        name::list(py, self.0.iter().map(|link| link.name.as_str()))
    }

    /// `hard`, `soft`, `external` or `user-defined`.
    #[getter]
    fn kinds<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let [hard, soft, external, other] = [HARD, SOFT, EXTERNAL, USER_DEFINED].map(|kind| PyString::intern(py, kind));
        let kind = |link: &Link| match &link.target {
            LinkTarget::Hard(_) => hard.clone(),
            LinkTarget::Soft(_) => soft.clone(),
            LinkTarget::External { .. } => external.clone(),
            LinkTarget::UserDefined(_) => other.clone(),
        };
        PyList::new(py, self.0.iter().map(kind))
    }

    /// Numbers of the objects that hard links lead to; `None` for other links.
    #[getter]
    fn objects<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let object = |link: &Link| if let LinkTarget::Hard(id) = &link.target { Some(id.0) } else { None };
        PyList::new(py, self.0.iter().map(object))
    }

    /// Name, kind, number of the object and target of the link at a position. Links may share one long target: only this one is copied.
    fn entry(&self, py: Python<'_>, index: usize) -> PyResult<(Name, Py<PyString>, Option<u64>, Name)> {
        let link = self.0.as_slice().get(index).ok_or_else(|| PyIndexError::new_err("link index out of range"))?;
        let (kind, object) = match &link.target {
            LinkTarget::Hard(id) => (HARD, Some(id.0)),
            LinkTarget::Soft(_) => (SOFT, None),
            LinkTarget::External { .. } => (EXTERNAL, None),
            LinkTarget::UserDefined(_) => (USER_DEFINED, None),
        };
        Ok((Name(link.name.clone()), PyString::intern(py, kind).unbind(), object, Name(target(link))))
    }

    fn __len__(&self) -> usize {
        self.0.as_slice().len()
    }
}

/// A member of a group of a file that is being written.
#[pyclass(frozen, get_all, module = "hyperslab._native")]
pub(crate) struct Member {
    /// Name in the group.
    pub name: Name,
    /// `object`; for links `hard` (another name of an object), `soft` or `external`.
    pub kind: &'static str,
    /// Path that a link leads to; empty for an object.
    pub target: Name,
    /// File that an external link leads to.
    pub file: Option<Name>,
}

#[pymethods]
impl Member {
    /// A member that is an object of the group itself.
    #[new]
    fn object(name: Name) -> Self {
        Self { name, kind: "object", target: Name(String::new()), file: None }
    }
}

/// An object of a file that is being written.
#[pyclass(frozen, eq, get_all, module = "hyperslab._native")]
#[derive(PartialEq)]
pub(crate) struct ObjectInfo {
    /// `group`, `dataset` or `datatype`.
    pub kind: String,
    /// Number of the object, the same under all of its names.
    pub id: u64,
    /// Absolute path.
    pub path: Name,
}

#[pymethods]
impl ObjectInfo {
    #[new]
    fn new(kind: String, id: u64, path: Name) -> Self {
        Self { kind, id, path }
    }
}

/// An attribute.
#[pyclass(frozen, get_all, module = "hyperslab._native")]
pub(crate) struct AttributeValue {
    /// Extent of each dimension; `None` for a null dataspace.
    pub shape: Option<Vec<u64>>,
    /// The datatype.
    pub datatype: Py<Datatype>,
    /// The elements as stored.
    pub data: Py<PyBytes>,
    /// Variable-length values.
    pub heap: Py<Heap>,
}

impl AttributeValue {
    pub fn new(py: Python<'_>, dataspace: &Dataspace, value: &Elements) -> PyResult<Self> {
        Ok(Self {
            shape: shape_of(dataspace),
            datatype: Py::new(py, Datatype::from(&value.datatype))?,
            data: PyBytes::new(py, &value.bytes).unbind(),
            heap: Py::new(py, Heap(value.heap.clone()))?,
        })
    }
}

/// Extent of each dimension; `None` for a null dataspace.
pub(crate) fn shape_of(dataspace: &Dataspace) -> Option<Vec<u64>> {
    match dataspace {
        Dataspace::Null => None,
        space => Some(space.shape().to_vec()),
    }
}

/// A dataset of a task or of a file that is being written.
#[pyclass(frozen, get_all, module = "hyperslab._native")]
pub(crate) struct Definition {
    /// Extent of each dimension.
    pub shape: Vec<u64>,
    /// The datatype.
    pub datatype: Py<Datatype>,
    /// Shape of a chunk.
    pub chunks: Option<Vec<u64>>,
    /// Start and count of the part that may be written; `None` if that is all.
    pub region: Option<(Vec<u64>, Vec<u64>)>,
}

/// What a reference of a file that is being written points at.
#[pyclass(frozen, get_all, module = "hyperslab._native")]
pub(crate) struct ReferenceTarget {
    /// Path of the object.
    pub path: Name,
    /// The kind and the parts of a region, see [`RegionSelection`]; `None` for the object itself or an attribute.
    pub region: Option<(&'static str, Vec<Vec<Vec<u64>>>)>,
    /// The name of an attribute.
    pub attribute: Option<Name>,
}

/// Objects of one kind, datatype and shape with the same attributes and names of members.
#[pyclass(frozen, get_all, module = "hyperslab._native")]
pub(crate) struct Gathered {
    /// `group`, `dataset` or `datatype`.
    pub kind: &'static str,
    /// The datatype of datasets.
    pub datatype: Option<Py<Datatype>>,
    /// The extent of each dimension of datasets; `None` for a null dataspace.
    pub shape: Option<Vec<u64>>,
    /// The attributes that were asked for.
    pub attributes: Vec<(Name, Py<AttributeValue>)>,
    /// Names of the members of groups.
    pub names: Vec<Name>,
    /// Positions of the objects in the list that was asked for, 8 bytes each.
    pub positions: Py<PyBytes>,
    /// The members of each group, 8 bytes each.
    pub members: Py<PyBytes>,
    /// The elements of datasets as stored, object after object; `None` if the datasets must be read one by one.
    pub values: Option<Py<PyByteArray>>,
}

/// The elements that a region reference selects.
#[pyclass(frozen, get_all, module = "hyperslab._native")]
pub(crate) struct RegionSelection {
    /// `points`, `blocks`, `hyperslab`, `all` or `none`.
    pub kind: &'static str,
    /// Coordinates of points, first and last element of blocks, or start, stride, count and block of each dimension.
    pub parts: Vec<Vec<Vec<u64>>>,
}
