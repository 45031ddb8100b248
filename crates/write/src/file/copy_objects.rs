//! Copies all objects of a file into a file that is being written.

use hyperslab_array::{Cancellation, Result};
use hyperslab_formats::{Content, ObjectId};
use hyperslab_reader::File;

use super::dataset_copy::{CopyCounts, DatasetCopy};
use super::file_writer::FileWriter;
use super::reserved_attributes::COMMIT_ATTRIBUTE;
use super::source_file::{CopiedAttribute, SourceFile};

/// Copies all objects of `file` with their values into `out`. If `grows`, more will be appended: small datasets with small
/// chunks then get a new chunk shape once their final size is known. `progress` gets the bytes copied so far and the total.
pub(crate) fn copy_objects(
    file: &File,
    out: &mut FileWriter,
    cancellation: &Cancellation,
    counts: &mut CopyCounts,
    grows: bool,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<()> {
    let source = SourceFile::new(file);
    let total = file.tree().objects.iter().filter_map(|object| match &object.content {
        Content::Dataset(dataset) => dataset.value_bytes(),
        _ => None,
    });
    let total = total.fold(0u64, u64::saturating_add);
    let mut done = 0u64;
    let mut scales = Vec::new();
    for (index, object) in file.tree().objects.iter().enumerate() {
        let path = object.path.as_str();
        match &object.content {
            Content::Group(group) => {
                out.create_group(path)?;
                for (path, link) in source.links(path, group)? {
                    out.create_link(&path, link)?;
                }
            }
            Content::Dataset(dataset) => match source.references(ObjectId(index)).map_err(|error| error.at_object(path))? {
                Some(references) => out.create_object_references(path, references)?,
                None => {
                    let mut copy = DatasetCopy { out: &mut *out, path, cancellation, counts: &mut *counts, grows };
                    copy.dataset(file, ObjectId(index), dataset, source.committed(&dataset.datatype))?;
                }
            },
            Content::Datatype(datatype) => out.create_datatype(path, datatype.clone())?,
            Content::Unreadable(error) => return Err(error.clone().at_object(path)),
        }
        out.set_tracked(path, object.is_tracked())?;
        if let Some(error) = &object.attributes_error {
            return Err(error.clone().at_object(path));
        }
        for attribute in object.attributes.iter().filter(|attribute| index != 0 || attribute.name != COMMIT_ATTRIBUTE) {
            match source.attribute(attribute).map_err(|error| error.at_object(path))? {
                CopiedAttribute::Value(value) => out.set_attribute(path, &attribute.name, value)?,
                CopiedAttribute::References(references) => out.set_object_references(path, &attribute.name, references)?,
                CopiedAttribute::Scales(found) => scales.extend(found.into_iter().map(|(dimension, scale)| (path, dimension, scale))),
                CopiedAttribute::Nothing => {}
            }
        }
        if let Content::Dataset(dataset) = &object.content {
            done = done.saturating_add(dataset.value_bytes().unwrap_or(0));
            progress(done, total);
        }
    }
    for (path, dimension, scale) in scales {
        out.attach_scale(path, dimension, &scale)?;
    }
    Ok(())
}
