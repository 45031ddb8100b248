//! Description: the objects under way as what the file's metadata has to say.

use std::collections::BTreeMap;

use hyperslab_array::{Error, Result};
use hyperslab_formats::hdf5::writer::{NewAttribute, NewContent, NewFile, NewLink, NewObject};

use super::dataset::DatasetWriter;
use super::scales::dimension_scales;
use super::subfile::{Attribute, Object};

/// These objects, of whose datasets `own` chooses some.
pub(super) fn chosen(objects: &BTreeMap<String, Object>, own: impl Fn(&DatasetWriter) -> bool) -> BTreeMap<&String, &Object> {
    objects.iter().filter(|(_, object)| object.dataset.as_ref().is_none_or(&own)).collect()
}

/// Numbers of the objects in a file, by path. The empty path sorts first, so the root is number 0.
pub(super) fn numbers<'a>(objects: &BTreeMap<&'a String, &Object>) -> BTreeMap<&'a str, usize> {
    objects.iter().filter(|(_, object)| object.link.is_none()).enumerate().map(|(number, (path, _))| (path.as_str(), number)).collect()
}

/// The file of the objects that `own` chooses.
pub(super) fn describe(objects: &BTreeMap<String, Object>, own: impl Fn(&DatasetWriter) -> bool) -> Result<NewFile> {
    let objects = chosen(objects, own);
    let numbers = numbers(&objects);
    let mut members: BTreeMap<&str, Vec<(String, NewLink)>> = BTreeMap::new();
    let mut created: Vec<(&&String, &&Object)> = objects.iter().filter(|(path, _)| !path.is_empty()).collect();
    created.sort_by_key(|(_, object)| object.created);
    for (path, object) in created {
        let (above, name) = path.rsplit_once('/').unwrap_or(("", path));
        let link = match (&object.link, numbers.get(path.as_str())) {
            (Some(link), _) => link.clone(),
            (None, Some(number)) => NewLink::Hard(*number),
            (None, None) => return Err(Error::internal("an object without a number")),
        };
        members.entry(above).or_default().push((name.to_owned(), link));
    }
    let mut scales = dimension_scales(&objects, &numbers)?;
    let mut file = NewFile::default();
    for path in numbers.keys() {
        let Some(object) = objects.get(&(*path).to_owned()) else { continue };
        let attribute = |(name, attribute): (&str, &Attribute)| match attribute {
            Attribute::Value(value) => Ok(NewAttribute { name: name.to_owned(), dataspace: value.dataspace.clone(), value: value.value.clone() }),
            Attribute::References(pointers) => pointers.attribute(name, &numbers),
        };
        let content = match (&object.dataset, &object.pointers) {
            (Some(dataset), _) => NewContent::Dataset(Box::new(dataset.description())),
            (None, Some(pointers)) => NewContent::Dataset(Box::new(pointers.description())),
            (None, None) => NewContent::Group(members.remove(path).unwrap_or_default()),
        };
        let mut attributes = object.attributes.in_order().map(attribute).collect::<Result<Vec<_>>>()?;
        attributes.extend(scales.remove(path).unwrap_or_default());
        file.objects.push(NewObject { attributes, tracked: object.tracked, content });
    }
    Ok(file)
}
