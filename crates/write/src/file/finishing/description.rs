//! Describes the objects being written for the metadata encoder.

use std::collections::BTreeMap;

use hyperslab_array::name::is_of_links;
use hyperslab_array::{Error, Result};
use hyperslab_formats::hdf5::writer::{LibraryVersion, NewAttribute, NewContent, NewFile, NewLink, NewObject};

use super::dimension_scales::{dimension_scales, of_type};
use crate::file::dataset::state::DatasetWriter;
use crate::file::object::{AttributeEntry, ObjectEntry};
use crate::file::references::links::Link;
use crate::file::references::targets::ReferenceTargets;

/// All objects except the datasets for which `own` is false.
pub(crate) fn chosen(objects: &BTreeMap<String, ObjectEntry>, own: impl Fn(&DatasetWriter) -> bool) -> BTreeMap<&String, &ObjectEntry> {
    objects.iter().filter(|(_, object)| object.dataset.as_ref().is_none_or(&own)).collect()
}

/// Index of each object in the file, by path. The empty path sorts first, so the root has index 0.
pub(crate) fn object_indexes<'a>(objects: &BTreeMap<&'a String, &ObjectEntry>) -> BTreeMap<&'a str, usize> {
    objects.iter().filter(|(_, object)| object.link.is_none()).enumerate().map(|(index, (path, _))| (path.as_str(), index)).collect()
}

/// Describes a file with all objects except the datasets for which `own` is false.
pub(crate) fn describe(
    objects: &BTreeMap<String, ObjectEntry>,
    targets: &ReferenceTargets,
    newest: LibraryVersion,
    own: impl Fn(&DatasetWriter) -> bool,
) -> Result<NewFile> {
    let objects = chosen(objects, own);
    let object_indexes = object_indexes(&objects);
    let mut members: BTreeMap<&str, Vec<(String, NewLink)>> = BTreeMap::new();
    let mut created: Vec<(&&String, &&ObjectEntry)> = objects.iter().filter(|(path, _)| !path.is_empty()).collect();
    created.sort_by_key(|(_, object)| object.created);
    for (path, object) in created {
        let (above, name) = path.rsplit_once('/').unwrap_or(("", path));
        // An object without a name: only references lead to it.
        if above.is_empty() && !is_of_links(name) {
            continue;
        }
        let object_index = |path: &str| object_indexes.get(path).map(|index| NewLink::Hard(*index));
        let link = match &object.link {
            Some(Link::Soft(path)) => NewLink::Soft(path.clone()),
            Some(Link::External { file, path }) => NewLink::External { file: file.clone(), path: path.clone() },
            Some(Link::Hard(target)) => {
                object_index(target).ok_or_else(|| Error::not_found(format!("the link /{path} leads to /{target}, which is not an object of this file")))?
            }
            None => object_index(path).ok_or_else(|| Error::internal("an object without an index"))?,
        };
        members.entry(above).or_default().push((name.to_owned(), link));
    }
    let mut scales = dimension_scales(&objects, &object_indexes)?;
    let mut file = NewFile { objects: Vec::new(), targets: targets.listed(&object_indexes), newest };
    for path in object_indexes.keys() {
        let object = objects.get(&(*path).to_owned()).ok_or_else(|| Error::internal("an index without an object"))?;
        let mut of_scales = scales.remove(path).unwrap_or_default();
        let committed_index = |committed: &Option<String>| {
            let Some(committed) = committed else { return Ok(None) };
            let index = object_indexes.get(committed.trim_start_matches('/')).copied();
            index.map(Some).ok_or_else(|| Error::not_found(format!("there is no committed datatype '{committed}'")).at_object(format!("/{path}")))
        };
        let mut attributes = Vec::new();
        for (name, attribute) in object.attributes.in_order() {
            match attribute {
                AttributeEntry::Value(value) => {
                    let committed = committed_index(&value.committed)?;
                    let made = match value.value.datatype.has_references() {
                        true => targets.attribute(name, value, &object_indexes)?,
                        false => NewAttribute { name: name.to_owned(), committed: None, dataspace: value.dataspace.clone(), value: value.value.clone() },
                    };
                    attributes.push(NewAttribute { committed, ..made });
                }
                AttributeEntry::References(references) => attributes.push(references.attribute(name, &object_indexes)?),
                AttributeEntry::OfScales(datatype) => {
                    if let Some(place) = of_scales.iter().position(|made| made.name == name) {
                        attributes.push(of_type(of_scales.remove(place), datatype));
                    }
                }
            }
        }
        attributes.append(&mut of_scales);
        let content = match (&object.dataset, &object.references, &object.datatype) {
            (Some(dataset), ..) => {
                let mut description = dataset.description()?;
                if let Some(fill) = description.fill_value.as_mut().filter(|_| description.datatype.has_references()) {
                    targets.number(&description.datatype, fill, &file.targets, object_indexes.len())?;
                }
                description.committed = committed_index(&dataset.definition().committed)?;
                NewContent::Dataset(Box::new(description))
            }
            (None, Some(references), _) => NewContent::Dataset(Box::new(references.description())),
            (None, None, Some(datatype)) => NewContent::Datatype(datatype.clone()),
            (None, None, None) => NewContent::Group(members.remove(path).unwrap_or_default()),
        };
        file.objects.push(NewObject { attributes, properties: object.properties(), content });
    }
    Ok(file)
}
