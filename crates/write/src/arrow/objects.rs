//! Objects: the objects of a file as objects of a container, without their values.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use hyperslab_array::name::is_of_links;
use hyperslab_array::{Attribute, Datatype, Error, Result};
use hyperslab_arrow_container::container::Container;
use hyperslab_arrow_container::elements::Dataspace as StoredSpace;
use hyperslab_arrow_container::lock;
use hyperslab_arrow_container::model::{self, AttributeValue, Body, ROOT, StoredDatatype, Target};
use hyperslab_arrow_container::table::Table;
use hyperslab_container_format::{Decoded, FILTER_NAME_BYTES, decode, encode_datatype, encode_properties};
use hyperslab_formats::hdf5::writer::widened_datatype;
use hyperslab_formats::{CreationOrder, Dataset, Limits, Object, ObjectId};
use hyperslab_reader::File;

use super::references::with_allowed_references;
use super::values::Values;
use crate::file::copying::changes::Change;
use crate::file::copying::link_counts::LinkCounts;
use crate::file::copying::properties::stored_order;
use crate::file::copying::source_file::SourceFile;
use crate::file::references::links::Link;

/// The class of external links.
const EXTERNAL: i32 = 64;
/// Attributes that connect datasets with dimension scales.
const SCALE_ATTRIBUTES: [&str; 2] = ["DIMENSION_LIST", "REFERENCE_LIST"];

pub(super) fn failed(error: hyperslab_arrow_container::error::Error) -> Error {
    Error::unsupported(error.message)
}

/// A datatype of a file: encoded, and the form of its elements. `is_of_scales`: for an attribute of dimension scales.
pub(super) fn datatype(datatype: &Datatype, is_of_scales: bool) -> Result<(Vec<u8>, Decoded)> {
    if let Some(class) = datatype.unsupported_class() {
        return Err(Error::unsupported(format!("datatype class {class}")));
    }
    let encoded = encode_datatype(&with_allowed_references(&widened_datatype(datatype), is_of_scales))?;
    let decoded = decode(&encoded, &Limits::default())?;
    Ok((encoded, decoded))
}

pub(super) fn space(space: &hyperslab_array::Dataspace) -> StoredSpace {
    match space {
        hyperslab_array::Dataspace::Null => StoredSpace::Null,
        hyperslab_array::Dataspace::Scalar => StoredSpace::Scalar,
        hyperslab_array::Dataspace::Simple { shape, max_shape } => {
            StoredSpace::Simple { shape: shape.clone(), max_shape: max_shape.iter().map(|extent| extent.unwrap_or(u64::MAX)).collect() }
        }
    }
}

/// The objects of a container while they are made.
pub(super) struct Objects<'a> {
    pub file: &'a File,
    pub source: &'a SourceFile<'a>,
    pub container: &'a Container,
    pub ids: HashMap<ObjectId, u64>,
    /// Objects of the container by their path in the file.
    by_path: HashMap<String, u64>,
    /// What the container does not keep.
    pub changes: Vec<Change>,
}

impl<'a> Objects<'a> {
    pub fn new(file: &'a File, source: &'a SourceFile<'a>, container: &'a Container) -> Self {
        Self { file, source, container, ids: HashMap::new(), by_path: HashMap::new(), changes: Vec::new() }
    }

    /// Adds all objects. Datasets have no values yet: their fill value is set when those are written.
    pub fn add(&mut self) -> Result<()> {
        for (path, id, object) in self.source.objects() {
            self.note_attributes(path, *id)?;
            let made = match object {
                Object::Group if *id == self.file.root() => {
                    let found = self.comment_and_times(path, *id)?;
                    let mut tree = lock(&self.container.tree);
                    let root = tree.object_mut(ROOT).map_err(failed)?;
                    (root.comment, root.times) = found;
                    drop(tree);
                    self.ids.insert(*id, ROOT);
                    self.by_path.insert(path.clone(), ROOT);
                    continue;
                }
                Object::Group => model::Object::group(Vec::new(), self.file.links(*id)?.is_tracked()),
                Object::Datatype(named) => {
                    self.note_references(path, named);
                    let (encoded, decoded) = datatype(named, false).map_err(|error| error.at_object(path))?;
                    model::Object::new(Body::Datatype(StoredDatatype::new(encoded, decoded.form.stored())), Vec::new())
                }
                Object::Dataset(_) => {
                    // A virtual dataset has the extent that its sources have now.
                    let dataset = &self.file.dataset(*id)?;
                    let (encoded, decoded) = datatype(&dataset.datatype, false).map_err(|error| error.at_object(path))?;
                    self.note_references(path, &dataset.datatype);
                    let points = dataset.fill_value.as_ref().is_some_and(|fill| fill.iter().any(|byte| *byte != 0));
                    if points && matches!(dataset.datatype, Datatype::VariableString { .. }) && self.file.fill_heap(*id)?.is_empty() {
                        self.changes.push(Change::new(path, "the fill value was an empty text, and is none in the container"));
                    }
                    if !dataset.virtual_mappings.is_empty() || !dataset.external_files.is_empty() {
                        self.changes.push(Change::new(path, "the values were in other datasets or files, and are in the container now"));
                    }
                    if dataset.creation_filters().iter().any(|filter| filter.stored_name.as_ref().is_some_and(|name| name.len() >= FILTER_NAME_BYTES)) {
                        let text = format!("the name of a filter has more than {} bytes, and is cut in the container", FILTER_NAME_BYTES - 1);
                        self.changes.push(Change::new(path, text));
                    }
                    let stored = StoredDatatype::new(encoded, decoded.form.stored());
                    let empty = StoredSpace::Simple { shape: vec![0], max_shape: vec![0] };
                    let table = Table::create(&stored.decoded, &empty, &self.container.folder, None, Vec::new()).map_err(failed)?;
                    let creation = encode_properties(dataset).map_err(|error| error.at_object(path))?;
                    model::Object::new(Body::Dataset(Arc::new(model::Dataset::new(stored, space(&dataset.dataspace), table))), creation)
                }
            };
            // What is in a group without a name is kept by its link.
            let is_unnamed = !is_of_links(path) && !path.contains('/');
            let mut made = made;
            made.extra_references = i64::from(is_unnamed);
            (made.comment, made.times) = self.comment_and_times(path, *id)?;
            let added = lock(&self.container.tree).add(made);
            self.ids.insert(*id, added);
            self.by_path.insert(path.clone(), added);
        }
        self.commit_datatypes()?;
        self.link()
    }

    /// Notes references that have another form in a container.
    fn note_references(&mut self, path: &str, datatype: &Datatype) {
        let written = widened_datatype(datatype);
        if with_allowed_references(&written, false) != written {
            self.changes.push(Change::new(path, "references next to values of variable length have the form of HDF5 1.12 in the container"));
        }
    }

    /// Notes what of the attributes has another form in a container. Those of dimension scales get theirs back with the scales.
    fn note_attributes(&mut self, path: &str, id: ObjectId) -> Result<()> {
        let attributes = self.file.attributes(id)?;
        for attribute in attributes.list.iter().filter(|attribute| !SCALE_ATTRIBUTES.contains(&attribute.name.as_str())) {
            if let Ok(value) = &attribute.value {
                self.note_references(path, &value.datatype);
            }
        }
        Ok(())
    }

    /// The comment of an object, and its times.
    fn comment_and_times(&mut self, path: &str, id: ObjectId) -> Result<(Option<String>, Option<[u32; 4]>)> {
        let properties = self.source.properties(id).map_err(|error| error.at_object(path))?;
        let mut note = |text: &str| self.changes.push(Change::new(path, text));
        let is_unknown = |order: CreationOrder| order.is_tracked != order.is_indexed;
        if is_unknown(properties.link_order) || is_unknown(properties.attribute_order) {
            note("the order of creation was recorded without an index of it, and has one now");
        }
        let comment = properties.comment.and_then(|comment| {
            let text = String::from_utf8(comment);
            if text.is_err() {
                note("the comment is not UTF-8, and was left out");
            }
            text.ok()
        });
        Ok((comment, properties.times.map(|times| [times.access, times.modification, times.change, times.birth])))
    }

    /// Lets datasets refer to the committed datatypes that are theirs.
    fn commit_datatypes(&self) -> Result<()> {
        for (_, id, object) in self.source.objects() {
            let Object::Dataset(_) = object else { continue };
            let Some(committed) = self.source.committed(*id)?.and_then(|path| self.by_path.get(&path).copied()) else { continue };
            let added = self.id(*id)?;
            let mut tree = lock(&self.container.tree);
            let made = tree.object_mut(added).map_err(failed)?;
            if let Body::Dataset(stored) = &mut made.body
                && let Some(stored) = Arc::get_mut(stored)
            {
                stored.datatype.committed = Some(committed);
            }
        }
        Ok(())
    }

    fn link(&mut self) -> Result<()> {
        let mut counts = LinkCounts::new(self.file.root());
        for (path, id, object) in self.source.objects() {
            counts.add(path, *id, &self.source.properties(*id)?);
            if !object.is_group() {
                continue;
            }
            let links = self.file.links(*id)?;
            counts.add_links(&links);
            let group = self.id(*id)?;
            let others: HashMap<String, Link> = self.source.links(path, *id)?.into_iter().collect();
            for link in &*links {
                let place = format!("{}/{}", path.trim_end_matches('/'), link.name);
                let target = match others.get(&place) {
                    Some(Link::Soft(path)) => Target::Soft(path.clone()),
                    Some(Link::External { file, path }) => Target::User(EXTERNAL, format!("\0{file}\0{path}\0").into_bytes()),
                    _ => Target::Hard(self.id(link.object().ok_or_else(|| Error::unsupported("a link of this class").at_object(&place))?)?),
                };
                lock(&self.container.tree).link(group, &link.name, link.is_utf8, target).map_err(|error| failed(error).at_object(&place))?;
            }
        }
        self.changes.extend(counts.changes(self.source));
        Ok(())
    }

    pub fn id(&self, id: ObjectId) -> Result<u64> {
        self.ids.get(&id).copied().ok_or_else(|| Error::internal("an object that was not found"))
    }

    /// Adds the attributes of an object.
    pub fn attributes(&self, values: &Values<'_>, path: &str, id: ObjectId) -> Result<()> {
        let (attributes, properties) = (self.file.attributes(id)?, self.source.properties(id)?);
        let added = self.id(id)?;
        let mut made = Vec::new();
        let stored = stored_order(&attributes, &properties).into_iter().filter_map(|position| attributes.list.get(position));
        for (order, attribute) in (0i64..).zip(stored) {
            let value = self.attribute(values, attribute, added, order);
            let mut value = value.map_err(|error| Error::new(error.kind(), format!("attribute {:?}: {}", attribute.name, error.message())).at_object(path))?;
            value.datatype.committed = properties.committed_of_attributes.get(&attribute.name).and_then(|id| self.ids.get(id)).copied();
            made.push(value);
        }
        let mut tree = lock(&self.container.tree);
        let object = tree.object_mut(added).map_err(failed)?;
        object.attributes_tracked = attributes.tracked;
        object.next_attribute = made.len() as i64;
        object.attributes.extend(made.into_iter().map(|value| (value.name.clone(), Arc::new(Mutex::new(value)))));
        Ok(())
    }

    fn attribute(&self, values: &Values<'_>, attribute: &Attribute, object: u64, order: i64) -> Result<AttributeValue> {
        let elements = attribute.value.clone()?;
        let (encoded, decoded) = datatype(&elements.datatype, SCALE_ATTRIBUTES.contains(&attribute.name.as_str()))?;
        let bytes = values.stored(&elements.datatype, &decoded.form, &elements.bytes, &elements.heap)?;
        let stored = StoredDatatype::new(encoded, decoded.form.stored());
        let mut made = AttributeValue::new(attribute.name.clone(), object, stored, space(&attribute.dataspace), bytes);
        made.arenas = vec![values.arena.clone()];
        made.order = order;
        made.utf8 = !attribute.name.is_ascii();
        Ok(made)
    }

    /// The fill value of a dataset as an element of the container.
    pub fn fill(&self, values: &Values<'_>, id: ObjectId, dataset: &Dataset, decoded: &Decoded) -> Result<Vec<u8>> {
        match &dataset.fill_value {
            Some(value) => values.stored(&dataset.datatype, &decoded.form, value, &self.file.fill_heap(id)?),
            None => Ok(Vec::new()),
        }
    }
}
