//! Copies all objects of a file into a file that is being written.

use std::collections::HashMap;

use hyperslab_array::{Cancellation, Error, Result};
use hyperslab_formats::{Object, ObjectId};
use hyperslab_reader::File;

use super::changes::{Change, older_references};
use super::checkpoints::Checkpoints;
use super::choice::Choice;
use super::dataset::{CopyCounts, DatasetCopy, StorageFormat};
use super::properties::{committed_path, copy_properties, order_members, stored_order};
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
        let properties = source.properties(id).map_err(|error| error.at_object(path))?;
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
                let committed = committed_path(&source, path, "the dataset", properties.committed, &mut copy.counts.changes);
                copy.dataset(file, id, dataset, committed)?;
            }
            Object::Datatype(datatype) => out.create_datatype(path, datatype.as_ref().clone())?,
        }
        let attributes = file.attributes(id).map_err(|error| error.at_object(path))?;
        copy_properties(out, path, &properties)?;
        let ordered = stored_order(&attributes, &properties).into_iter().filter_map(|position| attributes.list.get(position));
        for attribute in ordered.filter(|attribute| id != file.root() || attribute.name != COMMIT_ATTRIBUTE) {
            let name = &attribute.name;
            let committed = properties.committed_of_attributes.get(name).copied();
            let committed = committed_path(&source, path, &format!("the attribute '{name}'"), committed, &mut counts.changes);
            match source.attribute(attribute).map_err(|error| error.at_object(path))?.with_committed(committed) {
                CopiedAttribute::Value(value) => out.set_attribute(path, name, value)?,
                CopiedAttribute::Referring(value, targets) => out.set_copied_attribute(path, name, value, &targets)?,
                CopiedAttribute::References(references) => out.set_object_references(path, name, references)?,
                CopiedAttribute::Scales(datatype, found) => {
                    counts.changes.extend(older_references(path, name, &datatype));
                    out.place_scales(path, name, datatype)?;
                    scales.attach(id, found);
                }
                CopiedAttribute::ScaleOf(datatype, dimensions) => {
                    counts.changes.extend(older_references(path, name, &datatype));
                    out.place_scales(path, name, datatype)?;
                    scales.list(id, dimensions, attribute.dataspace.element_count()?);
                }
            }
        }
        if object.dataset().is_some() {
            done = done.saturating_add(bytes(object));
            progress(done, total);
        }
    }
    // Links were made before the members that follow their group.
    for (path, id, _) in source.objects().iter().filter(|(_, _, object)| object.is_group()) {
        order_members(out, path, file, *id)?;
    }
    for scale in scales.relisted() {
        let text = "the REFERENCE_LIST did not list the dimensions to which the scale is attached, and does now";
        counts.changes.push(Change::new(source.path(scale).unwrap_or_default(), text));
    }
    let path = |id| source.path(id).ok_or_else(|| Error::internal("a dimension scale of no object"));
    for CopiedScale { of, scale, order } in scales.into_attached() {
        out.attach_copied_scale(path(of.dataset)?, of.dimension, path(scale)?, order)?;
    }
    Ok(())
}
