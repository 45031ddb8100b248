//! Copies all objects of a file into a file that is being written.

use std::collections::HashMap;

use hyperslab_array::{Cancellation, Error, Result};
use hyperslab_formats::hdf5::writer::widened_datatype;
use hyperslab_formats::{Object, ObjectId};
use hyperslab_reader::File;

use super::changes::{Change, older_references};
use super::checkpoints::Checkpoints;
use super::choice::Choice;
use super::dataset::{CopyCounts, DatasetCopy, StorageFormat};
use super::joined::Joined;
use super::link_counts::LinkCounts;
use super::properties::{committed_path, copy_link_properties, copy_properties, stored_order};
use super::scales::{CopiedScale, CopiedScales};
use super::selected_objects::selected_objects;
use super::source_file::{CopiedAttribute, SourceFile};
use crate::file::file_writer::FileWriter;
use crate::file::reserved_attributes::COMMIT_ATTRIBUTE;

/// How to copy the datasets of a file.
#[derive(Default)]
pub(crate) struct CopyOptions<'a> {
    /// More will be appended: small datasets with small chunks then get a new chunk shape once their final size is known.
    pub grows: bool,
    /// New chunk shapes and filters; other datasets keep theirs.
    pub formats: HashMap<ObjectId, StorageFormat>,
    /// What is copied, if not all.
    pub choice: Option<Choice>,
    /// The log, if the copy can be resumed.
    pub checkpoints: Option<Checkpoints>,
    /// The file that shows this one and others as one, and what comes from it.
    pub joined: Option<Joined<'a>>,
}

/// Copies all objects of `file` with their values into `out`. `progress` gets the bytes copied so far and the total.
pub(crate) fn copy_objects(
    file: &File,
    out: &mut FileWriter,
    cancellation: &Cancellation,
    counts: &mut CopyCounts,
    options: &mut CopyOptions<'_>,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<()> {
    let CopyOptions { grows, formats, choice, checkpoints, joined } = options;
    let (joined, is_whole) = (joined.as_ref(), choice.is_none());
    let source = match choice {
        Some(choice) => SourceFile::of_objects(file, selected_objects(file, choice, cancellation)?, choice),
        None => SourceFile::new(file, cancellation)?,
    };
    let bytes = |id: ObjectId, object: &Object| {
        let whole = joined.and_then(|joined| joined.dataset(id)).map(|whole| &whole.dataset);
        whole.or_else(|| object.dataset()).and_then(|dataset| dataset.value_bytes()).unwrap_or(0)
    };
    let total = source.objects().iter().map(|(_, id, object)| bytes(*id, object)).fold(0u64, u64::saturating_add);
    let mut done = 0u64;
    let (mut scales, mut links) = (CopiedScales::default(), LinkCounts::new(file.root()));
    if let Some(joined) = joined {
        joined.copy_new_dimension(out, cancellation, counts)?;
    }
    for (path, id, object) in source.objects() {
        let (path, id) = (path.as_str(), *id);
        let properties = source.properties(id).map_err(|error| error.at_object(path))?;
        match object {
            Object::Group => {
                out.create_group(path)?;
                for (place, link) in source.links(path, id)? {
                    let name = place.rsplit('/').next().unwrap_or_default();
                    if joined.is_none_or(|joined| !joined.leaves_link_out(id, name)) {
                        out.create_link(&place, link)?;
                    }
                }
            }
            Object::Dataset(dataset) => {
                let (format, checkpoints, grows) = (formats.get(&id), checkpoints.as_mut(), *grows);
                let mut copy = DatasetCopy { out: &mut *out, path, cancellation, counts: &mut *counts, grows, format, objects: Some(&source), checkpoints };
                let committed = committed_path(&source, path, "the dataset", properties.committed, &mut copy.counts.changes);
                match joined.and_then(|joined| Some((joined, joined.dataset(id)?))) {
                    None => copy.dataset(file, id, dataset, committed)?,
                    Some((joined, whole)) => {
                        copy.objects = Some(&joined.source);
                        copy.joined(file, id, dataset, whole, committed)?;
                    }
                }
            }
            Object::Datatype(datatype) => out.create_datatype(path, widened_datatype(datatype))?,
        }
        let attributes = file.attributes(id).map_err(|error| error.at_object(path))?;
        links.add(path, id, &properties);
        copy_properties(out, path, &properties)?;
        let ordered = stored_order(&attributes, &properties).into_iter().filter_map(|position| attributes.list.get(position));
        for attribute in ordered.filter(|attribute| id != file.root() || attribute.name != COMMIT_ATTRIBUTE) {
            let name = &attribute.name;
            if joined.is_some_and(|joined| joined.leaves_attribute_out(id, name)) {
                continue;
            }
            let committed = properties.committed_of_attributes.get(name).copied();
            let committed = committed_path(&source, path, &format!("the attribute '{name}'"), committed, &mut counts.changes);
            let copied = match joined.map(|joined| joined.attribute(id, name)).transpose()?.flatten() {
                Some(changed) => changed,
                None => source.attribute(attribute).map_err(|error| error.at_object(path))?,
            };
            match copied.with_committed(committed) {
                CopiedAttribute::Value(value) => out.set_attribute(path, name, value)?,
                CopiedAttribute::Referring(value, targets) => out.set_copied_attribute(path, name, value, &targets)?,
                CopiedAttribute::References(references) => out.set_object_references(path, name, references)?,
                CopiedAttribute::Scales(datatype, found) => {
                    counts.changes.extend(older_references(path, name, &datatype));
                    out.place_scales(path, name, datatype)?;
                    let added = joined.map_or(0, |joined| joined.new_dimensions(id));
                    scales.attach(id, found.into_iter().map(|(dimension, scales)| (dimension + added, scales)).collect());
                }
                CopiedAttribute::ScaleOf(datatype, mut dimensions) => {
                    for dimension in &mut dimensions {
                        let added = joined.map_or(0, |joined| joined.new_dimensions(dimension.dataset));
                        dimension.dimension = dimension.dimension.saturating_add(added);
                    }
                    counts.changes.extend(older_references(path, name, &datatype));
                    out.place_scales(path, name, datatype)?;
                    scales.list(id, dimensions, attribute.dataspace.element_count()?);
                }
            }
        }
        if object.dataset().is_some() {
            done = done.saturating_add(bytes(id, object));
            progress(done, total);
        }
    }
    // Links were made before the members that follow their group.
    for (path, id, _) in source.objects().iter().filter(|(_, _, object)| object.is_group()) {
        copy_link_properties(out, path, file, *id, &mut links)?;
    }
    if is_whole {
        counts.changes.extend(links.changes(&source));
    }
    for scale in scales.relisted() {
        let text = "the REFERENCE_LIST did not list the dimensions to which the scale is attached, and does now";
        counts.changes.push(Change::new(source.path(scale).unwrap_or_default(), text));
    }
    let path = |id| source.path(id).ok_or_else(|| Error::internal("a dimension scale of no object"));
    for CopiedScale { of, scale, order } in scales.into_attached() {
        out.attach_copied_scale(path(of.dataset)?, of.dimension, path(scale)?, order)?;
    }
    joined.map_or(Ok(()), |joined| joined.attach_new_dimension(out, &source))
}
