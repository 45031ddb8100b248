//! Copies what can be copied of a file that is damaged.

use std::path::Path;
use std::sync::Arc;

use hyperslab_array::{Cancellation, Datatype, Elements, Error, ErrorKind, Result};
use hyperslab_formats::hdf5::writer::{widened, widened_datatype};
use hyperslab_formats::{Dataset, Object, ObjectId, ObjectProperties};
use hyperslab_reader::File;
use hyperslab_storage::Existing;

use super::fuse::Fused;
use crate::file::copying::changes::{Change, older_references};
use crate::file::copying::dataset::{CopyCounts, DatasetCopy, StorageFormat, described_like};
use crate::file::copying::link_counts::LinkCounts;
use crate::file::copying::properties::{committed_path, copy_link_properties, copy_properties, stored_order};
use crate::file::copying::scales::{CopiedScale, CopiedScales};
use crate::file::copying::source_file::{CopiedAttribute, SourceFile};
use crate::file::definition::DatasetDefinition;
use crate::file::file_writer::FileWriter;

/// What a salvage leaves out.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Loss {
    /// Path of the object.
    pub path: String,
    /// The attribute or link; `None` for the object or its values.
    pub name: Option<String>,
    /// Whether the object is a dataset all of whose values are lost with it.
    pub loses_values: bool,
    /// Why.
    pub reason: String,
}

/// Copies all objects of `file` into the new file `target`. Chunks are copied as they are stored; what cannot be copied is given
/// to `lose`, and the rest is copied nevertheless. The new file begins with `user_block`, whose length is 0 or one that HDF5 allows.
///
/// # Errors
/// `Conflict` if there is a file `target` and it is not to be replaced; `Io` if it cannot be written; `Cancelled`.
pub fn salvage(
    file: &File,
    target: &Path,
    existing: Existing,
    user_block: &[u8],
    cancellation: &Cancellation,
    lose: &mut dyn FnMut(Loss),
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Fused> {
    let mut out = FileWriter::create(target, existing, None, file.session())?;
    if !user_block.is_empty() {
        out.set_user_block(user_block.len() as u64)?;
        out.write_user_block(user_block)?;
    }
    let source = SourceFile::new(file, cancellation)?.lenient();
    let mut salvage = Salvage { target, file, source: &source, out: &mut out, cancellation, counts: CopyCounts::default(), lose };
    let bytes = |object: &Object| object.dataset().and_then(|dataset| dataset.value_bytes()).unwrap_or(0);
    let total = source.objects().iter().map(|(_, _, object)| bytes(object)).fold(0u64, u64::saturating_add);
    let (mut done, mut scales, mut links) = (0u64, CopiedScales::default(), LinkCounts::new(file.root()));
    // References are written last, when it is known which objects are not there.
    let refers = |object: &Object| object.dataset().is_some_and(|dataset| dataset.datatype.has_references());
    for last in [false, true] {
        for (path, id, object) in source.objects().iter().filter(|(_, _, object)| refers(object) == last) {
            cancellation.check()?;
            let made = salvage.object(path, *id, object);
            if !salvage.noted_object(path, made)? && salvage.out.definition(path).is_err() {
                source.set_missing(*id);
                // Some datasets with references were written before this one failed.
                salvage.out.clear_references_to(path.trim_start_matches('/'));
            }
            if object.dataset().is_some() {
                done = done.saturating_add(bytes(object));
                progress(done, total);
            }
        }
    }
    for (path, id, object) in source.objects().iter().filter(|(_, id, _)| !source.is_missing(*id)) {
        salvage.attributes(path, *id, &mut scales)?;
        links.add(path, *id, &salvage.properties(*id));
        if object.is_group() {
            salvage.links(path, *id)?;
            // Links that cannot be read are lost already.
            if file.links(*id).is_ok() {
                copy_link_properties(salvage.out, path, file, *id, &mut links)?;
            }
        }
    }
    salvage.counts.changes.extend(links.changes(&source));
    for scale in scales.relisted() {
        let text = "the REFERENCE_LIST did not list the dimensions to which the scale is attached, and does now";
        salvage.counts.changes.push(Change::new(source.path(scale).unwrap_or_default(), text));
    }
    let path = |id| source.path(id).ok_or_else(|| Error::internal("a dimension scale of no object"));
    for CopiedScale { of, scale, order } in scales.into_attached() {
        let attached = salvage.out.attach_copied_scale(path(of.dataset)?, of.dimension, path(scale)?, order);
        salvage.noted(path(of.dataset)?, Some("DIMENSION_LIST"), attached)?;
    }
    let counts = salvage.counts;
    Ok(Fused::of(out.finish(existing)?, counts))
}

/// Bytes of values that are not copied as chunks, for each byte of the damaged file, and in any case.
const MAX_EXPANSION: u64 = 64;
const MIN_MAX_BYTES: u64 = 64 << 20;

struct Salvage<'a> {
    target: &'a Path,
    file: &'a File,
    source: &'a SourceFile<'a>,
    out: &'a mut FileWriter,
    cancellation: &'a Cancellation,
    counts: CopyCounts,
    lose: &'a mut dyn FnMut(Loss),
}

impl Salvage<'_> {
    /// What a step has made; `None` if that is lost.
    fn noted<T>(&mut self, path: &str, name: Option<&str>, made: Result<T>) -> Result<Option<T>> {
        let Some(reason) = self.reason(&made)? else { return made.map(Some) };
        self.lose(path, name, &reason);
        Ok(None)
    }

    /// Whether an object was made. A dataset that was not may have some of its values, and it is unknown which.
    fn noted_object(&mut self, path: &str, made: Result<()>) -> Result<bool> {
        let Some(reason) = self.reason(&made)? else { return Ok(true) };
        (self.lose)(Loss { path: path.to_owned(), name: None, loses_values: true, reason });
        Ok(false)
    }

    /// Why a step has failed; `None` if it has not. Fails if the new file cannot be written, or shall not.
    fn reason<T>(&self, made: &Result<T>) -> Result<Option<String>> {
        match made {
            Ok(_) => Ok(None),
            // Other files, to which a damaged name leads, may be unreadable.
            Err(error) if error.kind() == ErrorKind::Io && !self.is_of_output(error) => Ok(Some(error.message().to_owned())),
            Err(error) if matches!(error.kind(), ErrorKind::Cancelled | ErrorKind::Io | ErrorKind::Conflict) => Err(error.clone()),
            Err(error) => Ok(Some(error.message().to_owned())),
        }
    }

    /// Whether an error is about the new file, which may still have another name that contains its own.
    fn is_of_output(&self, error: &Error) -> bool {
        let name = self.target.file_name().map(std::ffi::OsStr::to_string_lossy).unwrap_or_default();
        error.file().is_none_or(|file| file.contains(name.as_ref()))
    }

    fn lose(&mut self, path: &str, name: Option<&str>, reason: &str) {
        (self.lose)(Loss { path: path.to_owned(), name: name.map(ToOwned::to_owned), loses_values: false, reason: reason.to_owned() });
    }

    /// Reports the references that became null references since the last call.
    fn lost_references(&mut self, path: &str, name: Option<&str>) {
        let (dangling, unreadable) = (self.source.take_dangling(), self.source.take_unreadable());
        if dangling > 0 {
            self.lose(path, name, &format!("{dangling} references to objects that were not recovered are null references now"));
        }
        if unreadable > 0 {
            self.lose(path, name, &format!("{unreadable} references that cannot be read are null references now"));
        }
    }

    fn object(&mut self, path: &str, id: ObjectId, object: &Object) -> Result<()> {
        match object {
            Object::Group => self.out.create_group(path),
            Object::Datatype(datatype) => self.out.create_datatype(path, widened_datatype(datatype)),
            Object::Dataset(dataset) if !dataset.virtual_mappings.is_empty() => {
                let definition = DatasetDefinition { committed: self.committed(path, id, &dataset.datatype), ..described_like(dataset) };
                let fill = self.fill_value(path, id, dataset);
                self.out.create_virtual(path, definition.with_fill(fill.map(widened).transpose()?), dataset.virtual_mappings.to_vec())
            }
            Object::Dataset(dataset) => {
                self.check_size(dataset)?;
                let committed = self.committed(path, id, &dataset.datatype);
                let dataset = &match self.fill_value(path, id, dataset) {
                    None if dataset.fill_value.is_some() => Arc::new(dataset.without_fill_value()),
                    _ => dataset.clone(),
                };
                let mut copy = DatasetCopy {
                    out: &mut *self.out,
                    path,
                    cancellation: self.cancellation,
                    counts: &mut self.counts,
                    grows: false,
                    format: None::<&StorageFormat>,
                    objects: Some(self.source),
                    checkpoints: None,
                };
                let copied = copy.dataset(self.file, id, dataset, committed);
                self.lost_references(path, None);
                copied
            }
        }
    }

    /// The path of the committed datatype of a dataset, if it is still there and still the same.
    fn committed(&mut self, path: &str, id: ObjectId, datatype: &Datatype) -> Option<String> {
        let committed = self.properties(id).committed;
        let is_other =
            |id| self.source.objects().iter().any(|(_, other, object)| *other == id && !matches!(object, Object::Datatype(found) if **found == *datatype));
        committed_path(self.source, path, "the dataset", committed.filter(|id| !is_other(*id)), &mut self.counts.changes)
    }

    /// What the file says of an object beyond its content; nothing of a damaged one.
    fn properties(&self, id: ObjectId) -> ObjectProperties {
        self.source.properties(id).unwrap_or_default()
    }

    /// The fill value of a dataset; `None` for zeros, and for one that is lost.
    fn fill_value(&mut self, path: &str, id: ObjectId, dataset: &Dataset) -> Option<Elements> {
        dataset.portable_fill_value(|| self.file.fill_heap(id)).unwrap_or_else(|error| {
            self.lose(path, None, &format!("the fill value cannot be copied: {}: elements that were never written are empty now", error.message()));
            None
        })
    }

    /// Whether a damaged shape may be the reason why a dataset claims far more values than the file can hold, all of which would be
    /// written. Chunks that are copied as they are stored take what they have.
    fn check_size(&self, dataset: &Dataset) -> Result<()> {
        let copies = dataset.chunk_shape.is_some() && !dataset.datatype.uses_heap() && !dataset.datatype.has_references();
        let max_bytes = self.file.array_file().storage().len().saturating_mul(MAX_EXPANSION).saturating_add(MIN_MAX_BYTES);
        match dataset.value_bytes().filter(|bytes| copies || *bytes <= max_bytes) {
            Some(_) => Ok(()),
            None => Err(Error::limit_exceeded(format!("its shape {:?} is that of more values than the file can hold", dataset.dataspace.shape()))),
        }
    }

    fn attributes(&mut self, path: &str, id: ObjectId, scales: &mut CopiedScales) -> Result<()> {
        let attributes = self.file.attributes(id);
        let Some(attributes) = self.noted(path, None, attributes)? else { return Ok(()) };
        let properties = self.properties(id);
        let set = copy_properties(self.out, path, &properties);
        self.noted(path, None, set)?;
        for attribute in stored_order(&attributes, &properties).into_iter().filter_map(|position| attributes.list.get(position)) {
            let name = attribute.name.as_str();
            let committed = properties.committed_of_attributes.get(name).copied();
            let committed = committed_path(self.source, path, &format!("the attribute '{name}'"), committed, &mut self.counts.changes);
            let copied = self.source.attribute(attribute).map(|copied| copied.with_committed(committed));
            self.lost_references(path, Some(name));
            let Some(copied) = self.noted(path, Some(name), copied)? else { continue };
            let set: Result<(), Error> = match copied {
                CopiedAttribute::Value(value) => self.out.set_attribute(path, name, value),
                CopiedAttribute::Referring(value, targets) => self.out.set_copied_attribute(path, name, value, &targets),
                CopiedAttribute::References(references) => self.out.set_object_references(path, name, references),
                CopiedAttribute::Scales(datatype, found) => {
                    self.counts.changes.extend(older_references(path, name, &datatype));
                    scales.attach(id, found);
                    self.out.place_scales(path, name, datatype)
                }
                CopiedAttribute::ScaleOf(datatype, dimensions) => {
                    self.counts.changes.extend(older_references(path, name, &datatype));
                    scales.list(id, dimensions, attribute.dataspace.element_count()?);
                    self.out.place_scales(path, name, datatype)
                }
            };
            self.noted(path, Some(name), set)?;
        }
        Ok(())
    }

    fn links(&mut self, path: &str, group: ObjectId) -> Result<()> {
        let links = self.source.links(path, group);
        let Some(links) = self.noted(path, None, links)? else { return Ok(()) };
        for (place, link) in links {
            let made = self.out.create_link(&place, link);
            let name = place.rsplit('/').next().map(ToOwned::to_owned);
            self.noted(path, name.as_deref(), made)?;
        }
        Ok(())
    }
}
