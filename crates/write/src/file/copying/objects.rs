//! Copies all objects of a file into a file that is being written.

use std::collections::HashMap;

use hyperslab_array::{Cancellation, Error, Result};
use hyperslab_formats::{Object, ObjectId};
use hyperslab_reader::File;

use super::checkpoints::Checkpoints;
use super::choice::Choice;
use super::dataset::{CopyCounts, DatasetCopy, StorageFormat};
use super::scales::{CopiedScale, CopiedScales};
use super::selected_objects::selected_objects;
use super::source_file::{CopiedAttribute, SourceFile};
use crate::file::file_writer::FileWriter;
use crate::file::reserved_attributes::COMMIT_ATTRIBUTE;

/// How to copy the datasets of a file.
#[derive(Default)]
pub(crate) struct CopyOptions {
    /// More will be appended: small datasets with small chunks then get a new chunk shape once their final size is known.
    pub grows: bool,
    /// New chunk shapes and filters; other datasets keep theirs.
    pub formats: HashMap<ObjectId, StorageFormat>,
    /// What is copied, if not all.
    pub choice: Option<Choice>,
    /// The log, if the copy can be resumed.
    pub checkpoints: Option<Checkpoints>,
}

/// Copies all objects of `file` with their values into `out`. `progress` gets the bytes copied so far and the total.
pub(crate) fn copy_objects(
    file: &File,
    out: &mut FileWriter,
    cancellation: &Cancellation,
    counts: &mut CopyCounts,
    options: &mut CopyOptions,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<()> {
    let CopyOptions { grows, formats, choice, checkpoints } = options;
    let source = match choice {
        Some(choice) => SourceFile::of_objects(file, selected_objects(file, choice, cancellation)?, choice),
        None => SourceFile::new(file, cancellation)?,
    };
    let bytes = |object: &Object| object.dataset().and_then(|dataset| dataset.value_bytes()).unwrap_or(0);
    let total = source.objects().iter().map(|(_, _, object)| bytes(object)).fold(0u64, u64::saturating_add);
    let mut done = 0u64;
    let mut scales = CopiedScales::default();
    for (path, id, object) in source.objects() {
        let (path, id) = (path.as_str(), *id);
        match object {
            Object::Group => {
                out.create_group(path)?;
                for (path, link) in source.links(path, id)? {
                    out.create_link(&path, link)?;
                }
            }
            Object::Dataset(dataset) => {
                let (format, checkpoints, grows) = (formats.get(&id), checkpoints.as_mut(), *grows);
                let mut copy = DatasetCopy { out: &mut *out, path, cancellation, counts: &mut *counts, grows, format, objects: Some(&source), checkpoints };
                copy.dataset(file, id, dataset, source.committed(&dataset.datatype))?;
            }
            Object::Datatype(datatype) => out.create_datatype(path, datatype.as_ref().clone())?,
        }
        let attributes = file.attributes(id).map_err(|error| error.at_object(path))?;
        out.set_tracked(path, file.is_tracked(id)?)?;
        for attribute in attributes.iter().filter(|attribute| id != file.root() || attribute.name != COMMIT_ATTRIBUTE) {
            match source.attribute(attribute).map_err(|error| error.at_object(path))? {
                CopiedAttribute::Value(value) => out.set_attribute(path, &attribute.name, value)?,
                CopiedAttribute::Referring(value, targets) => out.set_copied_attribute(path, &attribute.name, value, &targets)?,
                CopiedAttribute::References(references) => out.set_object_references(path, &attribute.name, references)?,
                CopiedAttribute::Scales(found) => scales.attach(id, found),
                CopiedAttribute::ScaleOf(dimensions) => scales.list(id, dimensions),
            }
        }
        if object.dataset().is_some() {
            done = done.saturating_add(bytes(object));
            progress(done, total);
        }
    }
    let path = |id| source.path(id).ok_or_else(|| Error::internal("a dimension scale of no object"));
    for CopiedScale { of, scale, order } in scales.into_attached() {
        out.attach_copied_scale(path(of.dataset)?, of.dimension, path(scale)?, order)?;
    }
    Ok(())
}
