//! Copies of objects, of the same file or of another one, with all that is in them. Chunks are copied as they are stored.

use std::collections::HashMap;

use hyperslab_array::{Cancellation, Dataspace, Elements, Error, Region, Result, StoredReference};

use hyperslab_formats::filter::Pipeline;
use hyperslab_formats::hdf5::edit::{DatasetEdit, FileEdit, create_datatype, create_group, insert_link, replace_fill_value, set_attribute};
use hyperslab_formats::hdf5::writer::{NewDataset, NewStorage, NewTarget, StoredChunk, TargetObject, TargetPart, number_references};
use hyperslab_formats::{ChunkSource, Dataset, FilterDescription, LinkTarget, Object, ObjectId, StorageLayout};
use hyperslab_reader::{File, Found};

use crate::editor::Editor;
use crate::heap::{self, OpenCollection, References};
use crate::objects::{create_filled, parent};
use crate::values::{self, length};

/// Bytes of values that are read at a time.
const SLAB_BYTES: u64 = 32 << 20;
/// Chunks whose places are in memory at a time.
const MAX_CHUNKS: u64 = 1 << 16;

/// Which parts of an object are copied.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct CopyOptions {
    /// Copies only the direct members of a group, without their own members.
    pub shallow: bool,
    /// Copies the targets of soft links in place of the links.
    pub expand_soft: bool,
    /// Copies the targets of external links in place of the links.
    pub expand_external: bool,
    /// Copies no attributes.
    pub without_attributes: bool,
}

impl CopyOptions {
    /// With only the members of a group, without what is in them.
    #[must_use]
    pub fn with_shallow(self, shallow: bool) -> Self {
        Self { shallow, ..self }
    }
    /// With what soft and external links lead to in their place.
    #[must_use]
    pub fn with_expanded(self, soft: bool, external: bool) -> Self {
        Self { expand_soft: soft, expand_external: external, ..self }
    }
    /// Without attributes.
    #[must_use]
    pub fn with_attributes(self, attributes: bool) -> Self {
        Self { without_attributes: !attributes, ..self }
    }
}

/// A copy that is being made.
struct Copy<'a> {
    editor: &'a Editor,
    file: &'a FileEdit<'a>,
    options: CopyOptions,
    cancellation: &'a Cancellation,
    /// The opening of this file, if objects of it are copied.
    own: Option<u64>,
    /// The copy of each object, by its file and ID.
    made: HashMap<(u64, ObjectId), ObjectId>,
    /// Objects whose attributes, and values that are references, follow when all copies are there.
    late: Vec<(File, ObjectId, ObjectId)>,
    heap: OpenCollection,
    freed: values::Freed,
}

impl Editor {
    /// Copies an object of `source`, a view of this file or another file, to `path`. References within this file stay as they are. Those of another
    /// file lead to the copies of their objects, or to nothing. Returns the copy.
    ///
    /// # Errors
    /// As [`Editor::create_group`]; `Unsupported` for an object that cannot be copied, with the feature that prevents it; errors of reading.
    pub fn copy(&mut self, source: &Found, path: &str, options: CopyOptions, cancellation: &Cancellation) -> Result<ObjectId> {
        let (object, heap, freed) = self.change_at(path, |editor, file, view| {
            let (group, name) = parent(file, view, path)?;
            if view.link(group, name).is_ok_and(|link| link.is_some()) {
                return Err(Error::invalid_input(format!("there is an object of the name {name:?} already")));
            }
            // Threads that help to read see the file in the middle of the change.
            let own = if source.file.opening() == view.opening() { Some(editor.fresh_view()?) } else { None };
            let from = own.as_ref().unwrap_or(&source.file);
            let (made, late, own) = (HashMap::new(), Vec::new(), own.as_ref().map(File::opening));
            let mut copy = Copy { editor, file, options, cancellation, own, made, late, heap: editor.heap.clone(), freed: Vec::new() };
            let object = copy.object(from, source.object)?;
            copy.finish()?;
            insert_link(file, group, name, &LinkTarget::Hard(object))?;
            Ok((object, copy.heap, copy.freed))
        })?;
        self.heap = heap;
        self.free(freed)?;
        Ok(object)
    }
}

impl Copy<'_> {
    /// Copies an object and what is in it. A work list takes the place of recursion: groups may be nested deeper than the stack.
    fn object(&mut self, file: &File, object: ObjectId) -> Result<ObjectId> {
        let (root, is_group) = self.single(file, object)?;
        let mut pending = if is_group { vec![(file.clone(), object, root)] } else { Vec::new() };
        while let Some((file, group, copy)) = pending.pop() {
            self.cancellation.check()?;
            let links = file.links(group)?;
            for link in links.iter() {
                let place = |error: Error| error.at_object(link.name.clone());
                let found = match &link.target {
                    LinkTarget::Hard(object) => Some((file.clone(), *object)),
                    LinkTarget::Soft(_) if self.options.expand_soft => self.target(&file, group, &link.name)?,
                    LinkTarget::External { .. } if self.options.expand_external => self.target(&file, group, &link.name)?,
                    _ => None,
                };
                let Some((file, object)) = found else {
                    insert_link(self.file, copy, &link.name, &link.target).map_err(place)?;
                    continue;
                };
                let target = match self.made.get(&(file.opening(), object)).copied() {
                    Some(target) => {
                        hyperslab_formats::hdf5::edit::count_link(self.file, target)?;
                        target
                    }
                    None => {
                        let (target, is_group) = self.single(&file, object).map_err(place)?;
                        if is_group && !self.options.shallow {
                            pending.push((file, object, target));
                        }
                        target
                    }
                };
                insert_link(self.file, copy, &link.name, &LinkTarget::Hard(target)).map_err(place)?;
            }
        }
        Ok(root)
    }

    /// What a soft or external link leads to; `None` if that is nothing.
    fn target(&self, file: &File, group: ObjectId, name: &str) -> Result<Option<(File, ObjectId)>> {
        let path = format!("{}/{name}", file.path_of(group)?.trim_end_matches('/'));
        Ok(match file.exists(&path)? {
            true => Some(file.find(&path)?).map(|found| (found.file, found.object)),
            false => None,
        })
    }

    /// Copies an object without its members; returns the copy and whether it is a group.
    fn single(&mut self, file: &File, object: ObjectId) -> Result<(ObjectId, bool)> {
        let tracked = file.attributes(object)?.tracked;
        let (copy, is_group) = match file.object(object)? {
            Object::Group => (create_group(self.file, file.links(object)?.is_tracked(), file.attributes(object)?.tracked)?, true),
            Object::Datatype(datatype) => (create_datatype(self.file, &datatype)?, false),
            Object::Dataset(dataset) => (self.dataset(file, object, &dataset, tracked)?, false),
        };
        self.made.insert((file.opening(), object), copy);
        self.late.push((file.clone(), object, copy));
        Ok((copy, is_group))
    }

    fn dataset(&mut self, file: &File, id: ObjectId, dataset: &Dataset, tracked: bool) -> Result<ObjectId> {
        let storage = match dataset.storage {
            StorageLayout::Virtual => NewStorage::Virtual(dataset.virtual_mappings.to_vec()),
            StorageLayout::External => return Err(Error::unsupported("values in external files cannot be copied yet")),
            _ => match &dataset.chunk_shape {
                Some(chunk_shape) => NewStorage::Chunked { chunk_shape: chunk_shape.clone(), chunks: Vec::new() },
                None => NewStorage::Contiguous(None),
            },
        };
        let is_virtual = matches!(storage, NewStorage::Virtual(_));
        let mut fill = match &dataset.fill_value {
            Some(bytes) if self.own == Some(file.opening()) => {
                Some(Elements { datatype: dataset.datatype.clone(), bytes: bytes.clone(), heap: file.fill_heap(id)? })
            }
            _ => dataset.portable_fill_value(|| file.fill_heap(id))?,
        };
        if let Some(fill) = fill.as_mut().filter(|_| dataset.datatype.has_references()) {
            // Its references lead to copies that may not be there yet: `finish` puts the value here.
            fill.bytes.fill(0);
        }
        let new = NewDataset {
            datatype: dataset.datatype.clone(),
            committed: None,
            dataspace: dataset.dataspace.clone(),
            fill_value: fill.as_ref().map(|fill| fill.bytes.clone()),
            is_fill_undefined: dataset.is_fill_undefined,
            fill_time: dataset.fill_time,
            allocation: dataset.allocation,
            filters: pipeline(dataset),
            storage,
        };
        let heap = fill.map(|fill| fill.heap).unwrap_or_default();
        let copy = create_filled(self.file, &new, &heap, &mut self.heap, None, tracked)?;
        let is_empty = dataset.dataspace.element_count()? == 0 || matches!(dataset.dataspace, Dataspace::Null);
        if is_virtual || is_empty || dataset.stored_bytes == Some(0) || dataset.datatype.has_references() {
            return Ok(copy);
        }
        if dataset.chunk_shape.is_some() && !dataset.datatype.uses_heap() {
            self.chunks(file, id, dataset, copy)?;
        } else {
            self.values(file, id, dataset, copy)?;
        }
        Ok(copy)
    }

    /// Copies chunks as they are stored.
    fn chunks(&self, file: &File, id: ObjectId, dataset: &Dataset, copy: ObjectId) -> Result<()> {
        let chunk_shape = dataset.chunk_shape.as_deref().unwrap_or_default();
        let shape = dataset.dataspace.shape();
        let row: u64 = shape.iter().zip(chunk_shape).skip(1).map(|(extent, chunk)| extent.div_ceil(*chunk)).fold(1, u64::saturating_mul);
        let rows = (MAX_CHUNKS / row.max(1)).max(1);
        let mut edited = DatasetEdit::open(self.file, copy)?;
        for slab in slabs(shape, rows.saturating_mul(chunk_shape.first().copied().unwrap_or(1))) {
            self.cancellation.check()?;
            let mut chunks = Vec::new();
            for location in file.array_file().locate(id, &slab.selection(shape)?)?.chunks {
                let ChunkSource::Stored { offset, length: bytes, filter_mask } = location.source else { continue };
                let mut raw = vec![0; length(bytes)?];
                file.array_file().storage().read_exact_at(offset, &mut raw)?;
                let address = self.file.allocate(bytes)?;
                self.file.write(address, &raw)?;
                let position = location.region.start.iter().zip(chunk_shape).map(|(start, chunk)| start / (*chunk).max(1)).collect();
                chunks.push(StoredChunk { position, address, length: bytes, filter_mask });
            }
            edited.set_chunks(&chunks)?;
        }
        Ok(())
    }

    /// Copies values as they are read, slab by slab.
    fn values(&mut self, file: &File, id: ObjectId, dataset: &Dataset, copy: ObjectId) -> Result<()> {
        let shape = dataset.dataspace.shape();
        let row = shape.iter().skip(1).fold(dataset.datatype.size().max(1), |bytes, extent| bytes.saturating_mul(*extent)).max(1);
        let chunk = dataset.chunk_shape.as_ref().and_then(|shape| shape.first().copied()).unwrap_or(1).max(1);
        for slab in slabs(shape, (SLAB_BYTES / row).max(1).div_ceil(chunk).saturating_mul(chunk)) {
            let mut found = file.read(id, &slab.selection(shape)?, self.cancellation)?;
            let targets = self.targets(file, &mut found)?;
            let bytes = heap::store(self.file, &found, References::Targets(&targets), &mut self.heap)?;
            // Each slab sees the chunks of the ones before.
            let freed = values::write(self.file, &self.editor.fresh_view()?, copy, &slab, &bytes)?;
            self.freed.extend(freed);
        }
        Ok(())
    }

    /// Copies attributes, and values that are references.
    fn finish(&mut self) -> Result<()> {
        for (file, object, copy) in std::mem::take(&mut self.late) {
            self.cancellation.check()?;
            if let Object::Dataset(dataset) = file.object(object)?
                && dataset.datatype.has_references()
            {
                // The chunk also stores its unwritten elements.
                if let Some(mut fill) = dataset.portable_fill_value(|| file.fill_heap(object))? {
                    let targets = self.targets(&file, &mut fill)?;
                    let bytes = heap::store(self.file, &fill, References::Targets(&targets), &mut self.heap)?;
                    replace_fill_value(self.file, copy, &bytes)?;
                }
                if dataset.stored_bytes != Some(0) && dataset.dataspace.element_count()? > 0 {
                    self.values(&file, object, &dataset, copy)?;
                }
            }
            if self.options.without_attributes {
                continue;
            }
            for attribute in file.attributes(object)?.iter() {
                let mut value = attribute.value.clone().map_err(|error| self.named(&attribute.name, &error))?;
                let targets = self.targets(&file, &mut value).map_err(|error| self.named(&attribute.name, &error))?;
                let bytes =
                    heap::store(self.file, &value, References::Targets(&targets), &mut self.heap).map_err(|error| self.named(&attribute.name, &error))?;
                set_attribute(self.file, copy, &attribute.name, &value.datatype, &attribute.dataspace, &bytes)?;
            }
        }
        Ok(())
    }

    fn named(&self, name: &str, error: &Error) -> Error {
        Error::new(error.kind(), format!("attribute {name:?}: {}", error.message()))
    }

    /// Replaces references by the numbers of their targets: objects of this file as they are, the copies of objects of another file, or nothing,
    /// and objects of third files as they are.
    fn targets(&self, file: &File, elements: &mut Elements) -> Result<Vec<NewTarget>> {
        if !elements.datatype.has_references() {
            return Ok(Vec::new());
        }
        let (arrays, is_own) = (file.array_file(), self.own == Some(file.opening()));
        let ndim_at = |address| {
            let dataset = arrays.tree().at_address(address).ok_or_else(|| Error::corrupt("a reference to a region of an object that does not exist"))?;
            Ok(file.dataset(dataset)?.dataspace.ndim() as u64)
        };
        let target = |StoredReference { file: other, address, part }: StoredReference| {
            let is_other = other.is_some();
            let object = match other {
                Some(_) => TargetObject::Address { file: other, address },
                None if is_own => TargetObject::Address { file: None, address },
                None => {
                    let copied = arrays.tree().at_address(address).and_then(|object| self.made.get(&(file.opening(), object)));
                    let Some(copied) = copied else { return Ok(None) };
                    TargetObject::Address { file: None, address: copied.0 }
                }
            };
            let part = TargetPart::of(part, || if is_other { Ok(1) } else { ndim_at(address) })?;
            Ok(Some(NewTarget { object, part }))
        };
        number_references(elements, |kind, size, bytes| {
            let stored = arrays.references(kind, size, bytes)?.into_iter();
            stored.map(|reference| reference.map_or(Ok(None), target)).collect()
        })
    }
}

/// An array in slabs of `rows` rows.
fn slabs(shape: &[u64], rows: u64) -> impl Iterator<Item = Region> {
    let (all, rows, first) = (Region::all(shape), rows.max(1), shape.first().copied());
    let count = first.map_or(1, |extent| extent.div_ceil(rows));
    (0..count).map(move |number| {
        let mut slab = all.clone();
        if let (Some(start), Some(extent), Some(first)) = (slab.start.first_mut(), slab.count.first_mut(), first) {
            *start = number * rows;
            *extent = rows.min(first - *start);
        }
        slab
    })
}

/// The filters of a dataset, to be written again.
fn pipeline(dataset: &Dataset) -> Pipeline {
    Pipeline { filters: dataset.filters.iter().map(FilterDescription::to_filter).collect() }
}
