//! Back: reads back what has been written so far to a file that is not complete.

use hyperslab::write::{DatasetDefinition, FileWriter, Link, ObjectKind};
use hyperslab::{Dataspace, ErrorKind, HyperslabAxis, Result, StoredSelection, VirtualMapping};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::datatype::Datatype;
use crate::describe;
use crate::heap::Heap;
use crate::name::Name;
use crate::results::object::{Member, ObjectInfo, ReferenceTarget, shape_of};
use crate::target::Target;

/// Start, stride, count and block of each dimension.
pub(crate) type PyAxes = Vec<[u64; 4]>;
/// File and path of a source, its selection, and the selection of the virtual dataset; `None` selects all.
pub(crate) type PyMapping = (Name, Name, Option<PyAxes>, Option<PyAxes>);

/// The object at a path; `None` if there is none.
pub(crate) fn look_up(objects: &FileWriter, path: &str) -> Result<Option<ObjectInfo>> {
    match objects.look_up(path) {
        Ok(known) => {
            let kind = match known.kind {
                ObjectKind::Group => "group",
                ObjectKind::Dataset => "dataset",
                ObjectKind::Datatype => "datatype",
            };
            Ok(Some(ObjectInfo { kind: kind.to_owned(), id: known.id, path: format!("/{}", known.path).into() }))
        }
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// The members of a group.
pub(crate) fn members(objects: &FileWriter, path: &str) -> Result<Vec<Member>> {
    Ok(objects.members(path)?.into_iter().map(described).collect())
}

/// The member of a group with this name; `None` if there is none.
pub(crate) fn member(objects: &FileWriter, path: &str, name: &str) -> Result<Option<Member>> {
    Ok(objects.member(path, name)?.map(described))
}

fn described((name, link): (String, Option<Link>)) -> Member {
    let (kind, target, file) = match link {
        None => ("object", String::new(), None),
        Some(Link::Hard(path)) => ("hard", format!("/{path}"), None),
        Some(Link::Soft(path)) => ("soft", path, None),
        Some(Link::External { file, path }) => ("external", path, Some(file)),
    };
    Member { name: Name(name), kind, target: Name(target), file: file.map(Name) }
}

/// The extent of a dataset as its writer sees it: the rows of this task if it adds rows of its own, else the whole extent.
pub(crate) fn extent(target: &mut dyn Target, path: &str) -> Result<Dataspace> {
    let whole = target.definition(path)?.0.dataspace;
    match &whole {
        Dataspace::Simple { max_shape, shape } if shape.first() == Some(&0) && max_shape.first() == Some(&None) => {
            Ok(target.objects().definition(path)?.dataspace)
        }
        _ => Ok(whole),
    }
}

/// An object of a file that is being written.
pub(crate) enum Written {
    Group,
    Datatype(hyperslab::Datatype),
    Dataset { definition: Box<DatasetDefinition>, is_virtual: bool },
}

/// The object at a path.
pub(crate) fn find(target: &mut dyn Target, path: &str) -> Result<Written> {
    let found = target.objects().look_up(path)?;
    if found.kind == ObjectKind::Group {
        return Ok(Written::Group);
    }
    let path = &*found.path;
    if let Some(datatype) = target.objects().datatype(path)? {
        return Ok(Written::Datatype(datatype));
    }
    if let Some(definition) = target.objects().references(path)? {
        return Ok(Written::Dataset { definition: Box::new(definition), is_virtual: false });
    }
    let definition = target.definition(path)?.0.with_dataspace(extent(target, path)?);
    Ok(Written::Dataset { definition: Box::new(definition), is_virtual: target.objects().is_virtual(path)? })
}

/// Describes an object, as `File.describe` does; of a dataset also the committed datatype and when the fill value is written.
pub(crate) fn describe<'py>(py: Python<'py>, written: &Written) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    let kind = match written {
        Written::Group => "group",
        Written::Datatype(datatype) => {
            dict.set_item("datatype", Datatype::from(datatype))?;
            "datatype"
        }
        Written::Dataset { definition, is_virtual } => {
            describe_dataset(py, &dict, definition)?;
            let layout = if definition.chunk_shape.is_some() { "chunked" } else { "contiguous" };
            dict.set_item("storage", if *is_virtual { "virtual" } else { layout })?;
            "dataset"
        }
    };
    dict.set_item("kind", kind)?;
    Ok(dict)
}

fn describe_dataset(py: Python<'_>, dict: &Bound<'_, PyDict>, found: &DatasetDefinition) -> PyResult<()> {
    dict.set_item("datatype", Datatype::from(&found.datatype))?;
    dict.set_item("shape", shape_of(&found.dataspace))?;
    if let Dataspace::Simple { max_shape, .. } = &found.dataspace {
        dict.set_item("maxshape", max_shape.clone())?;
    }
    dict.set_item("chunks", found.chunk_shape.clone())?;
    let filters: Vec<(u16, String, Vec<u32>)> = found.filters.filters.iter().map(|filter| (filter.id, filter.label(), filter.parameters.clone())).collect();
    dict.set_item("filters", filters)?;
    dict.set_item("fill", found.fill_value.as_deref().map(|bytes| PyBytes::new(py, bytes)))?;
    dict.set_item("fill_heap", Py::new(py, Heap(found.fill_heap.clone()))?)?;
    dict.set_item("fill_time", found.fill_time.name())?;
    dict.set_item("committed", found.committed.clone())
}

/// What a reference points at.
pub(crate) fn target(objects: &FileWriter, number: u64) -> hyperslab::Result<Option<ReferenceTarget>> {
    let Some(target) = objects.target_of(number) else { return Ok(None) };
    let Some(path) = target.path()? else { return Ok(None) };
    let attribute = target.attribute().map(ToOwned::to_owned);
    Ok(Some(ReferenceTarget { path: format!("/{path}").into(), region: target.region()?.map(describe::selection), attribute: attribute.map(Name) }))
}

/// A part of a virtual dataset. The largest count and block are unlimited.
pub(crate) fn mapping((file, dataset, source, target): PyMapping) -> VirtualMapping {
    let selection = |axes: Option<PyAxes>| match axes {
        None => StoredSelection::All,
        Some(axes) => {
            let limited = |extent: u64| (extent != u64::MAX).then_some(extent);
            let axis = |[start, stride, count, block]: [u64; 4]| HyperslabAxis { start, stride, count: limited(count), block: limited(block), limit: None };
            StoredSelection::Hyperslab(axes.into_iter().map(axis).collect())
        }
    };
    VirtualMapping { file: file.0, dataset: dataset.0, source_selection: selection(source), selection: selection(target) }
}
