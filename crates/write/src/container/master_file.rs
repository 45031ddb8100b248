//! Reads a master from a file, and writes it.

use std::collections::BTreeMap;
use std::path::Path;

use hyperslab_array::{Cancellation, Dataspace, Error, Result, Selection};
use hyperslab_formats::hdf5::writer::{encode_datatype, parse_datatype};
use hyperslab_formats::{ChunkSource, Dataset, Object, ObjectId};
use hyperslab_reader::File;
use hyperslab_storage::Existing;

use super::commit_name::CommitName;
use super::dimensions::single_scales;
use super::fragment::{AttributeFragment, EntryKind, OtherFragment, StoredValue};
use super::master::{BEFORE, MappedPart, Master, MasterDataset, MasterObject};
use super::plan::WritePlan;
use crate::encoding::hex::Hex;
use crate::file::copying::source_file::{CopiedAttribute, SourceFile};
use crate::file::definition::{AttributeValue, DatasetDefinition, text_attribute};
use crate::file::file_writer::FileWriter;
use crate::file::ordered::Ordered;
use crate::file::reading_session::reading_session;
use crate::file::regions::region::Region;
use crate::file::regions::stored_box::region_of;
use crate::file::reserved_attributes::COMMIT_ATTRIBUTE;

/// Maximum bytes of a dataset whose values are in the master itself.
const MAX_VALUE_BYTES: u64 = 64 << 20;

impl Master {
    /// Reads a committed master.
    pub fn load(path: &Path) -> Result<Self> {
        let file = reading_session()?.open(path)?;
        let source = SourceFile::new(&file, &Cancellation::new())?;
        let reader = MasterReader { file: &file, source: &source };
        let mut master = Self::default();
        let by = BEFORE;
        for (path, id, object) in source.objects() {
            let (id, place) = (*id, path.trim_start_matches('/').to_owned());
            let mut links = Vec::new();
            let (kind, dataset, other) = match object {
                Object::Group => {
                    links = source.links(path, id).map_err(|error| error.at_object(path))?;
                    (EntryKind::Group, None, None)
                }
                Object::Dataset(found) => reader.dataset(path, id, found)?,
                Object::Datatype(datatype) => (EntryKind::Datatype, None, Some(OtherFragment::Datatype(Hex(encode_datatype(datatype)?)))),
            };
            let (attributes, scales) = reader.attributes(path, id)?;
            let object =
                MasterObject { tracked: file.is_tracked(id)?, attributes, dataset, scales, ..MasterObject::new(by, kind, master.objects.len(), other) };
            master.objects.insert(place, object);
            for (path, link) in links {
                let object = MasterObject::new(by, EntryKind::Link, master.objects.len(), Some(OtherFragment::Link(link)));
                master.objects.insert(path.trim_start_matches('/').to_owned(), object);
            }
        }
        master.reset_dimensions()?;
        Ok(master)
    }

    /// Writes the master with `commit` as its last commit, makes it visible and returns its length. See
    /// [`FileWriter::finish_if`] for `decide`.
    pub fn write(&mut self, path: &Path, plan: &WritePlan, commit: &CommitName, existing: Existing, decide: impl FnOnce(&Path) -> Result<()>) -> Result<u64> {
        let mut file = FileWriter::create(path, existing, plan.alignment, &reading_session()?)?;
        if !plan.durable {
            file.without_sync();
        }
        self.write_into(&mut file, commit)?;
        file.finish_if(existing, decide)
    }

    /// Writes all objects into a new file, with `commit` as its last commit.
    pub fn write_into(&mut self, file: &mut FileWriter, commit: &CommitName) -> Result<()> {
        self.grow_dimensions()?;
        let mut objects: Vec<(&String, &MasterObject)> = self.objects.iter().collect();
        objects.sort_by_key(|(_, object)| object.created);
        for (path, object) in objects {
            match (&object.dataset, &object.other) {
                (Some(dataset), _) => dataset.write(path, file)?,
                (None, None) => file.create_group(path)?,
                (None, Some(OtherFragment::Link(link))) => {
                    file.create_link(path, link.clone())?;
                    continue;
                }
                (None, Some(OtherFragment::References(references))) => file.create_object_references(path, references.clone())?,
                (None, Some(OtherFragment::Datatype(datatype))) => file.create_datatype(path, parse_datatype(&datatype.0)?)?,
            }
            file.set_tracked(path, object.tracked)?;
            for (name, (_, value)) in object.attributes.in_order() {
                match value {
                    AttributeFragment::Value(value) => file.set_attribute(path, name, value.value()?)?,
                    AttributeFragment::References(references) => file.set_object_references(path, name, references.clone())?,
                }
            }
        }
        for (path, object) in &self.objects {
            for (dimension, scale) in &object.scales {
                file.attach_scale(path, *dimension, scale)?;
            }
        }
        file.set_attribute("", COMMIT_ATTRIBUTE, text_attribute(&commit.to_string()))
    }
}

/// Attributes of an object with who defined each.
type MasterAttributes = Ordered<(String, AttributeFragment)>;

/// A committed master that is read.
struct MasterReader<'a> {
    file: &'a File,
    source: &'a SourceFile<'a>,
}

impl MasterReader<'_> {
    /// What a dataset is in the master: values, or references to objects.
    fn dataset(&self, path: &str, id: ObjectId, found: &Dataset) -> Result<(EntryKind, Option<MasterDataset>, Option<OtherFragment>)> {
        let definition = DatasetDefinition {
            fill_value: found.fill_value.clone(),
            fill_time: found.fill_time,
            committed: self.source.committed(id)?,
            ..DatasetDefinition::new(found.datatype.clone(), found.dataspace.clone())
        };
        let parts = found.virtual_mappings.iter().map(|mapping| {
            let region = region_of(&mapping.selection).ok_or_else(|| refused(path, "a virtual dataset that no task wrote"))?;
            Ok(MappedPart { by: BEFORE.to_owned(), region, mapping: mapping.clone() })
        });
        let parts = parts.collect::<Result<Vec<_>>>()?;
        let growable = matches!(&found.dataspace, Dataspace::Simple { max_shape, .. } if max_shape.contains(&None));
        let is_whole = match found.dataspace {
            Dataspace::Scalar => true,
            Dataspace::Simple { .. } => found.virtual_mappings.is_empty() && found.stored_bytes != Some(0) && found.value_bytes() != Some(0),
            Dataspace::Null => false,
        };
        let located = |error: Error| error.at_object(path);
        if let (true, Some(references)) = (is_whole, self.source.references(id).map_err(located)?) {
            return Ok((EntryKind::References, None, Some(OtherFragment::References(references))));
        }
        // A growing dataset without values has no chunks.
        let has_values = is_whole && (found.chunk_shape.is_none() || has_chunks(self.file, id, found.dataspace.shape()).map_err(located)?);
        let scalar = if has_values { Some((BEFORE.to_owned(), self.value(path, id, found)?)) } else { None };
        Ok((EntryKind::Dataset, Some(MasterDataset { definition, rows: None, parts, scalar, growable }), None))
    }

    /// All values of a dataset that are in the master itself.
    fn value(&self, path: &str, id: ObjectId, found: &Dataset) -> Result<StoredValue> {
        if found.value_bytes().is_none_or(|bytes| bytes > MAX_VALUE_BYTES) {
            return Err(refused(path, "a dataset that no task wrote"));
        }
        let value = self.file.read(id, &Selection::all(found.dataspace.shape()), &Cancellation::new()).map_err(|error| error.at_object(path))?;
        StoredValue::new(&AttributeValue::new(found.dataspace.clone(), value))
    }

    /// The attributes of an object, and the paths of its dimension scales, by dimension.
    fn attributes(&self, path: &str, id: ObjectId) -> Result<(MasterAttributes, BTreeMap<u32, String>)> {
        let (file, source) = (self.file, self.source);
        let located = |error: Error| error.at_object(path);
        let (mut attributes, mut scales) = (Ordered::default(), BTreeMap::new());
        for attribute in file.attributes(id).map_err(located)?.iter().filter(|attribute| id != file.root() || attribute.name != COMMIT_ATTRIBUTE) {
            let value = match source.attribute(attribute).map_err(located)? {
                CopiedAttribute::Value(value) => AttributeFragment::Value(StoredValue::new(&value)?),
                CopiedAttribute::Referring(..) => {
                    return Err(refused(path, "an attribute with references to regions or attributes, or with references among other values"));
                }
                CopiedAttribute::References(references) => AttributeFragment::References(references),
                CopiedAttribute::Scales(_, found) => {
                    scales = single_scales(&source.paths_of(&found)?).map_err(located)?;
                    continue;
                }
                CopiedAttribute::ScaleOf(..) => continue,
            };
            attributes.insert(&attribute.name, (BEFORE.to_owned(), value));
        }
        Ok((attributes, scales))
    }
}

fn refused(path: &str, what: &str) -> Error {
    Error::unsupported(format!("appending to a file that holds {what}")).at_object(path)
}

impl MasterDataset {
    fn write(&self, path: &str, file: &mut FileWriter) -> Result<()> {
        match (&self.definition.dataspace, &self.scalar) {
            (Dataspace::Simple { .. }, _) if !self.parts.is_empty() => {
                let mappings = self.parts.iter().map(|part| part.mapping.clone()).collect();
                file.create_virtual(path, self.definition.clone(), mappings)
            }
            (Dataspace::Scalar | Dataspace::Simple { .. }, Some((_, value))) => {
                let value = value.value()?;
                file.create_dataset(path, self.definition.clone())?;
                let resolve = |reference| value.value.heap.object(reference);
                file.write(path, &Region::all(self.definition.dataspace.shape()), &value.value.bytes, &resolve)
            }
            // Nothing was written: all elements have the fill value.
            _ => file.create_dataset(path, self.definition.clone()),
        }
    }
}

/// Whether any chunk of a dataset is stored.
fn has_chunks(file: &File, id: ObjectId, shape: &[u64]) -> Result<bool> {
    let locations = file.array_file().locate(id, &Selection::all(shape))?;
    Ok(locations.chunks.iter().any(|location| matches!(location.source, ChunkSource::Stored { .. })))
}
