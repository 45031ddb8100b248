//! Copies datasets, or parts of them, from other files into one dataset. Chunks that are identical in source and target are
//! copied without decoding.

use std::collections::BTreeSet;
use std::sync::Arc;

use hyperslab_array::{Cancellation, Dataspace, Elements, Error, HeapReference, Result, StoredSelection};
use hyperslab_formats::filter::Pipeline;
use hyperslab_formats::hdf5::writer::{widened, widened_datatype};
use hyperslab_formats::{ChunkSource, Dataset, FilterDescription, ObjectId, VirtualMapping};
use hyperslab_reader::File;

use super::changes::Change;
use super::checkpoints::Checkpoints;
use super::references::name_references;
use super::source_file::SourceFile;
use crate::file::dataset::touched_chunks::touched_chunks;
use crate::file::definition::DatasetDefinition;
use crate::file::file_writer::FileWriter;
use crate::file::finishing::MAX_COMPACT_BYTES;
use crate::file::memory_length::memory_length;
use crate::file::references::targets::Target;
use crate::file::regions::boxes::{boxes, size_of_chunks};
use crate::file::regions::region::Region;
use crate::file::regions::stored_box::region_of;

/// Bytes of values re-encoded at a time, if chunks cannot be copied.
const SLAB_BYTES: u64 = 32 << 20;
/// Bytes of values that are written into chunks of another shape at a time.
const BOX_BYTES: u64 = 128 << 20;
/// Maximum bytes of values of a growing dataset that gets a new chunk shape.
const MAX_REGROWN_BYTES: u64 = 2 << 20;
/// Chunks that are located at a time.
const MAX_LOCATED_CHUNKS: u64 = 1 << 16;
/// Most chunks of a copy: the place of each is kept in memory, in about 200 bytes.
const MAX_COPIED_CHUNKS: u64 = 1 << 24;
/// Minimum bytes of a chunk that keeps its shape in a growing dataset.
const MIN_GROWN_CHUNK_BYTES: u64 = 256 << 10;

/// How much was copied, and how.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct CopyCounts {
    /// Chunks copied without decoding.
    pub copied_chunks: u64,
    /// Bytes of values that were decoded and re-encoded.
    pub reencoded_bytes: u64,
    /// What is not as it was.
    pub changes: Vec<Change>,
}

/// Copies values into the dataset `path` of `out`.
pub(crate) struct DatasetCopy<'a> {
    pub out: &'a mut FileWriter,
    pub path: &'a str,
    pub cancellation: &'a Cancellation,
    pub counts: &'a mut CopyCounts,
    /// Whether more will be appended to the dataset.
    pub grows: bool,
    /// Its new chunk shape and filters, if it gets others.
    pub format: Option<&'a StorageFormat>,
    /// The objects that references lead to.
    pub objects: Option<&'a SourceFile<'a>>,
    /// The log of a copy that can be resumed.
    pub checkpoints: Option<&'a mut Checkpoints>,
}

/// The `local` region of a dataset in another file, and the `region` of the target where it belongs.
pub(crate) struct SourcePart {
    pub file: File,
    pub id: ObjectId,
    pub source: Arc<Dataset>,
    pub local: Region,
    pub region: Region,
    /// The index along a first dimension that only the target has.
    pub index: Option<u64>,
}

impl SourcePart {
    /// Coordinates of the target, for those without its new first dimension.
    fn placed(&self, mut coordinates: Vec<u64>) -> Vec<u64> {
        if let Some(index) = self.index {
            coordinates.insert(0, index);
        }
        coordinates
    }

    /// How the target is stored if it is to hold chunks as the source has them.
    fn format(&self) -> StorageFormat {
        let StorageFormat { chunk_shape, filters } = StorageFormat::of(&self.source);
        let chunk_shape = chunk_shape.map(|mut shape| {
            if self.index.is_some() {
                shape.insert(0, 1);
            }
            shape
        });
        StorageFormat { chunk_shape, filters }
    }
}

/// Chunk shape and filters of a source.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct StorageFormat {
    pub chunk_shape: Option<Vec<u64>>,
    pub filters: Pipeline,
}

impl StorageFormat {
    pub fn of(dataset: &Dataset) -> Self {
        Self { chunk_shape: dataset.creation_chunk_shape().map(<[u64]>::to_vec), filters: pipeline(dataset) }
    }
}

impl DatasetCopy<'_> {
    /// Copies a whole dataset of `file`. `committed` is the path of its committed datatype, if any.
    pub fn dataset(&mut self, file: &File, id: ObjectId, dataset: &Arc<Dataset>, committed: Option<String>) -> Result<()> {
        if dataset.datatype.has_references() {
            // What references lead to is not in the log, so a later run copies them again.
            self.checkpoints = None;
        }
        self.whole_dataset(file, id, dataset, committed)?;
        self.checkpoints.as_deref_mut().map_or(Ok(()), |checkpoints| checkpoints.end(self.out))
    }

    /// Gives the dataset, which has been created, the values that a former run copied. `is_steady` says that no step of the copy changes
    /// chunks that another one stored.
    fn begin_steps(&mut self, is_steady: bool) -> Result<()> {
        self.checkpoints.as_deref_mut().map_or(Ok(()), |checkpoints| checkpoints.begin(self.out, self.path, is_steady))
    }

    /// Makes one step of the copy, unless a former run has made it.
    fn step(&mut self, make: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        self.cancellation.check()?;
        if self.checkpoints.as_deref_mut().is_some_and(Checkpoints::skips_step) {
            return Ok(());
        }
        make(self)?;
        self.checkpoints.as_deref_mut().map_or(Ok(()), |checkpoints| checkpoints.end_step(self.out))
    }

    fn whole_dataset(&mut self, file: &File, id: ObjectId, dataset: &Arc<Dataset>, committed: Option<String>) -> Result<()> {
        let has_references = dataset.datatype.has_references();
        let definition = DatasetDefinition { committed, ..described_like(dataset) };
        let mut fill = dataset.portable_fill_value(|| file.fill_heap(id)).map_err(|error| error.at_object(self.path))?;
        let fill_targets = match &mut fill {
            Some(fill) if has_references => self.named(fill)?,
            _ => Vec::new(),
        };
        let definition = definition.with_fill(fill.map(widened).transpose()?);
        self.note_changes(dataset);
        match self.format {
            Some(format) => self.in_format(file, id, dataset, definition, &fill_targets, format),
            None if dataset.virtual_mappings.is_empty() => self.as_stored(file, id, dataset, definition, &fill_targets),
            None => self.as_one(file, dataset, definition, &fill_targets),
        }
    }

    /// Notes what of a dataset cannot be as it was.
    pub(super) fn note_changes(&mut self, dataset: &Dataset) {
        let has_references = dataset.datatype.has_references();
        let mut note = |text: &str| self.counts.changes.push(Change::new(self.path, text));
        if !dataset.virtual_mappings.is_empty() {
            note("the virtual dataset is an ordinary one now, which holds the values");
        }
        if !dataset.external_files.is_empty() {
            note("the values were in external files, and are in this file now");
        }
        if dataset.is_created_compact() && (has_references || dataset.stored_bytes.is_some_and(|bytes| bytes > MAX_COMPACT_BYTES)) {
            note("the values were in the object's header (compact layout), and are contiguous now");
        }
        if has_references && !dataset.creation_filters().is_empty() {
            note("the references had filters, and have none now");
        }
    }

    /// Copies a dataset with the chunks and filters that are asked for.
    fn in_format(
        &mut self,
        file: &File,
        id: ObjectId,
        dataset: &Arc<Dataset>,
        definition: DatasetDefinition,
        fill_targets: &[Target],
        format: &StorageFormat,
    ) -> Result<()> {
        if !dataset.virtual_mappings.is_empty() {
            return Err(Error::unsupported("new chunks for a virtual dataset: make one file of it first").at_object(self.path));
        }
        let filters = if dataset.datatype.has_references() { Pipeline::default() } else { format.filters.clone() };
        let wanted = DatasetDefinition { chunk_shape: format.chunk_shape.clone(), filters, allocation: None, ..definition };
        self.out.create_copied_dataset(self.path, wanted, fill_targets)?;
        self.begin_steps(true)?;
        if dataset.stored_bytes == Some(0) { Ok(()) } else { self.reencode_boxes(file, id, dataset) }
    }

    /// Copies a dataset with the chunks and filters that it has.
    fn as_stored(&mut self, file: &File, id: ObjectId, dataset: &Arc<Dataset>, definition: DatasetDefinition, fill_targets: &[Target]) -> Result<()> {
        let never_written = dataset.stored_bytes == Some(0);
        let wanted = dataset.creation_chunk_shape();
        let chunk_shape = wanted.filter(|chunk| !self.grows || !is_regrown(dataset, chunk)).map(<[u64]>::to_vec);
        let rechunked = chunk_shape.as_deref() != wanted;
        let has_references = dataset.datatype.has_references();
        let filters = if has_references { Pipeline::default() } else { pipeline(dataset) };
        let definition = DatasetDefinition { chunk_shape, filters, ..definition };
        // The bytes of references are addresses in the other file.
        let copies = dataset.chunk_shape.is_some() && !rechunked && !dataset.datatype.uses_heap() && !has_references;
        if copies {
            self.out.create_copy(self.path, definition)?
        } else {
            self.out.create_copied_dataset(self.path, definition, fill_targets)?
        }
        let made = self.out.definition(self.path)?;
        if !has_references && made.filters != pipeline(dataset) {
            // The encoder's own version, or what follows from the type.
            self.counts.changes.push(Change::new(self.path, "the values were encoded again, and parameters of filters are those of the encoder"));
        }
        if made.chunk_shape.as_deref() != wanted && !self.grows {
            self.counts.changes.push(Change::new(self.path, "chunks were larger than the dataset can become, and are not any more"));
        }
        self.begin_steps(true)?;
        // Chunks larger than the dataset can become get another shape.
        let copies = copies && self.out.definition(self.path)?.chunk_shape == dataset.chunk_shape;
        if never_written || matches!(dataset.dataspace, Dataspace::Null) {
            return Ok(());
        }
        let all = Region::all(dataset.dataspace.shape());
        if copies {
            let whole = SourcePart { file: file.clone(), id, source: dataset.clone(), local: all.clone(), region: all.clone(), index: None };
            if self.chunks(&whole, dataset.dataspace.shape())? {
                return Ok(());
            }
        }
        self.reencode(file, id, dataset, &all, &all, None)
    }

    /// Copies the sources of a virtual dataset into one dataset.
    pub(super) fn as_one(&mut self, file: &File, dataset: &Arc<Dataset>, definition: DatasetDefinition, fill_targets: &[Target]) -> Result<()> {
        let (mappings, shape) = (&dataset.virtual_mappings, dataset.dataspace.shape());
        let mut first: Option<StorageFormat> = None;
        let mut alike = true;
        // There may be more sources than files may be open, so each is open only while it is examined.
        for mapping in mappings.iter() {
            let stored = self.part(file, mapping, shape)?.format();
            alike &= first.as_ref().is_none_or(|first| *first == stored);
            first.get_or_insert(stored);
        }
        let first = first.ok_or_else(|| Error::internal("a virtual dataset without mappings"))?;
        self.create(definition, &first, alike, fill_targets)?;
        self.begin_steps(false)?;
        for mapping in mappings.iter() {
            let part = self.part(file, mapping, shape)?;
            self.put(&part, alike)?;
        }
        Ok(())
    }

    /// Defines the dataset for sources in the storage format `first`; `alike` says whether all of them have it.
    pub fn create(&mut self, definition: DatasetDefinition, first: &StorageFormat, alike: bool, fill_targets: &[Target]) -> Result<()> {
        let definition = match &first.chunk_shape {
            // Each task's chunks fit its own rows, so the whole dataset gets a new chunk shape.
            Some(_) if !alike => DatasetDefinition { filters: first.filters.clone(), ..definition },
            Some(chunk_shape) => DatasetDefinition { chunk_shape: Some(chunk_shape.clone()), filters: first.filters.clone(), ..definition },
            None => definition,
        };
        self.out.create_copied_dataset(self.path, definition, fill_targets)
    }

    /// Copies a part: chunk by chunk without decoding if all parts are stored `alike` and the chunk grids match, else re-encoded.
    pub fn put(&mut self, part: &SourcePart, alike: bool) -> Result<()> {
        let target = self.out.definition(self.path)?;
        let copies = alike && !target.datatype.uses_heap() && part.source.chunk_shape.is_some() && part.format().chunk_shape == target.chunk_shape;
        let shape = target.dataspace.shape();
        if copies && self.chunks(part, if part.index.is_some() { shape.get(1..).unwrap_or_default() } else { shape })? {
            return Ok(());
        }
        self.reencode(&part.file, part.id, &part.source, &part.local, &part.region, part.index)
    }

    fn part(&self, file: &File, mapping: &VirtualMapping, shape: &[u64]) -> Result<SourcePart> {
        let found = file.linked_file(&mapping.file.replace("%%", "%"))?.find(&mapping.dataset.replace("%%", "%"))?;
        let source = found.dataset()?;
        let region = |selection: &StoredSelection, shape: &[u64]| match selection {
            StoredSelection::All => Some(Region::all(shape)),
            other => region_of(other),
        };
        let regions = region(&mapping.source_selection, source.dataspace.shape()).zip(region(&mapping.selection, shape));
        let matching = regions.and_then(|(local, region)| without_new_dimension(local, region)).filter(|(local, region, _)| local.count == region.count);
        let (local, region, index) = matching.ok_or_else(|| Error::unsupported("copying a virtual dataset whose parts are not boxes").at_object(self.path))?;
        Ok(SourcePart { file: found.file, id: found.object, source, local, region, index })
    }

    /// Copies the chunks of a part without decoding if each of them is a whole chunk of the target. Otherwise copies nothing and
    /// returns `false`.
    fn chunks(&mut self, part: &SourcePart, shape: &[u64]) -> Result<bool> {
        let source = &part.source;
        let Some(chunk_shape) = &source.chunk_shape else { return Ok(false) };
        if !are_whole_chunks(part, shape, chunk_shape) {
            return Ok(false);
        }
        let chunk_bytes = chunk_shape.iter().fold(source.datatype.size(), |bytes, extent| bytes.saturating_mul(*extent)).max(1);
        let step_bytes = self.checkpoints.as_deref().map_or(u64::MAX, Checkpoints::interval_bytes);
        let size = size_of_chunks(source.dataspace.shape(), chunk_shape, MAX_LOCATED_CHUNKS.min(step_bytes / chunk_bytes));
        for band in boxes(&part.local, &size) {
            self.step(|copy| copy.stored_chunks(part, &band, chunk_shape))?;
        }
        Ok(true)
    }

    /// Copies the chunks of a part that are stored in `band`.
    fn stored_chunks(&mut self, part: &SourcePart, band: &Region, chunk_shape: &[u64]) -> Result<()> {
        let storage = part.file.array_file().storage().clone();
        let filters = pipeline(&part.source);
        // The library keeps the mask of a chunk that it overwrites with as many bytes, so a chunk without filters gets them.
        let all_skipped = filters.all_skipped();
        let can_encode = filters.writing_refusal().is_none();
        let chunk_bytes = chunk_shape.iter().try_fold(part.source.datatype.size(), |bytes, extent| bytes.checked_mul(*extent));
        let located = part.file.array_file().locate(part.id, &band.selection(part.source.dataspace.shape())?)?.chunks;
        let stored =
            located.iter().filter_map(|found| if let ChunkSource::Stored { offset, length, .. } = found.source { Some((offset, length)) } else { None });
        let storage = storage.fetched(&stored.collect::<Vec<_>>(), self.cancellation)?.unwrap_or(storage);
        for location in located {
            self.cancellation.check()?;
            let ChunkSource::Stored { offset, length, filter_mask } = location.source else { continue };
            let axes = location.region.start.iter().zip(&part.local.start).zip(&part.region.start);
            let moved: Option<Vec<u64>> = axes.map(|((origin, local), region)| origin.checked_add(*region)?.checked_sub(*local)).collect();
            let Some(target) = moved else { continue };
            if filters == Pipeline::default() && Some(length) != chunk_bytes {
                return Err(Error::corrupt(format!("a stored chunk of {length} bytes without filters, which is not the size of a chunk")).at_object(self.path));
            }
            if self.counts.copied_chunks >= MAX_COPIED_CHUNKS {
                return Err(Error::limit_exceeded(format!("more than {MAX_COPIED_CHUNKS} chunks, whose places are kept in memory: choose larger chunks"))
                    .at_object(self.path));
            }
            let mut raw = vec![0; memory_length(length)?];
            storage.read_exact_at(offset, &mut raw)?;
            let (raw, filter_mask) = if filter_mask == all_skipped && filter_mask != 0 && can_encode { filters.encode(raw)? } else { (raw, filter_mask) };
            let position = part.placed(target.iter().zip(chunk_shape).map(|(start, chunk)| start / chunk).collect());
            self.out.put_chunk(self.path, position, &raw, filter_mask)?;
            self.counts.copied_chunks += 1;
        }
        Ok(())
    }

    /// Reads a whole dataset and writes it into chunks of another shape, box by box. A box consists of whole chunks of the target,
    /// so that none waits in memory for the rest of its values.
    fn reencode_boxes(&mut self, file: &File, id: ObjectId, source: &Dataset) -> Result<()> {
        let target = self.out.definition(self.path)?;
        let shape = source.dataspace.shape();
        let chunk = target.chunk_shape.clone().unwrap_or_else(|| vec![1; shape.len()]);
        let all = Region::all(shape);
        if all.elements().is_none_or(|elements| elements == 0) || shape.is_empty() {
            return self.reencode(file, id, source, &all, &all, None);
        }
        let size = box_shape(shape, &chunk, source.chunk_shape.as_deref(), source.datatype.size());
        for part in boxes(&all, &size) {
            self.step(|copy| {
                for stored in copy.stored_parts(file, id, source, &chunk, part)? {
                    copy.reencode_part(file, id, source, &stored, &stored, None)?;
                }
                Ok(())
            })?;
        }
        Ok(())
    }

    /// The parts of a box to write: all of it, or those chunks of the target in which the source has stored something. The others have
    /// fill values only, and need not be stored either.
    fn stored_parts(&self, file: &File, id: ObjectId, source: &Dataset, chunk: &[u64], part: Region) -> Result<Vec<Region>> {
        let Some(source_chunk) = &source.chunk_shape else { return Ok(vec![part]) };
        let shape = source.dataspace.shape();
        let (mut touched, mut all) = (BTreeSet::new(), true);
        for band in boxes(&part, &size_of_chunks(shape, source_chunk, MAX_LOCATED_CHUNKS)) {
            for location in file.array_file().locate(id, &band.selection(shape)?)?.chunks {
                match (location.source, location.region.shared(&part)) {
                    (ChunkSource::Fill, _) => all = false,
                    (_, Some(stored)) => touched.extend(touched_chunks(&stored, shape, chunk).map(|chunk| chunk.position)),
                    _ => {}
                }
            }
        }
        if all {
            return Ok(vec![part]);
        }
        let region = |position: Vec<u64>| Region { start: position.iter().zip(chunk).map(|(number, extent)| number * extent).collect(), count: chunk.to_vec() };
        Ok(touched.into_iter().filter_map(|position| region(position).shared(&part)).collect())
    }

    /// Reads the region `local` of a dataset and writes it as `region`, at the `index` of a first dimension that only the target has,
    /// slab by slab.
    pub(super) fn reencode(&mut self, file: &File, id: ObjectId, source: &Dataset, local: &Region, region: &Region, index: Option<u64>) -> Result<()> {
        let size = source.datatype.size().max(1);
        let row = local.count.iter().skip(1).fold(size, |n, count| n.saturating_mul(*count)).max(1);
        // Slabs of whole chunks, so that no chunk is decoded twice.
        let chunk = source.chunk_shape.as_ref().and_then(|shape| shape.first().copied()).unwrap_or(1).max(1);
        let rows = (SLAB_BYTES / row).max(1).div_ceil(chunk).saturating_mul(chunk);
        let total = local.count.first().copied();
        let mut first = 0;
        loop {
            let count = total.map(|total| rows.min(total - first));
            let slab = |of: &Region| {
                let mut slab = of.clone();
                if let (Some(start), Some(extent), Some(count)) = (slab.start.first_mut(), slab.count.first_mut(), count) {
                    *start += first;
                    *extent = count;
                }
                slab
            };
            self.step(|copy| copy.reencode_part(file, id, source, &slab(local), &slab(region), index))?;
            first += count.unwrap_or(0);
            if total.is_none_or(|total| first >= total) {
                return Ok(());
            }
        }
    }

    /// Reads the region `local` of a dataset at once and writes it as `region`, at the `index` of a new first dimension.
    fn reencode_part(&mut self, file: &File, id: ObjectId, source: &Dataset, local: &Region, region: &Region, index: Option<u64>) -> Result<()> {
        let mut values = file.read(id, &local.selection(source.dataspace.shape())?, self.cancellation)?;
        let targets = if source.datatype.has_references() { self.named(&mut values)? } else { Vec::new() };
        let values = widened(values)?;
        let resolve = |reference: HeapReference| values.heap.object(reference);
        let mut region = region.clone();
        if let Some(index) = index {
            region.start.insert(0, index);
            region.count.insert(0, 1);
        }
        self.out.write_copied(self.path, &region, &values.bytes, &resolve, &targets)?;
        self.counts.reencoded_bytes += values.bytes.len() as u64;
        Ok(())
    }

    /// Replaces the references in `elements` by the numbers of their targets, which are returned.
    pub(super) fn named(&self, elements: &mut Elements) -> Result<Vec<Target>> {
        let named = match self.objects {
            Some(objects) => name_references(objects, elements),
            None => Err(Error::unsupported("copying references of several files")),
        };
        named.map_err(|error| error.at_object(self.path))
    }
}

/// The definition of a dataset like this one, without chunks, filters, fill value and committed datatype.
pub(crate) fn described_like(dataset: &Dataset) -> DatasetDefinition {
    DatasetDefinition {
        is_fill_undefined: dataset.is_fill_undefined,
        fill_time: dataset.fill_time,
        allocation: dataset.allocation,
        is_compact: dataset.is_created_compact(),
        ..DatasetDefinition::new(widened_datatype(&dataset.datatype), dataset.dataspace.clone())
    }
}

/// A region of a source and the region of the target where it belongs, without a first dimension of one index that only the target has,
/// and that index. `None` if their dimensions differ in another way.
fn without_new_dimension(local: Region, mut region: Region) -> Option<(Region, Region, Option<u64>)> {
    if region.count.len() == local.count.len() {
        return Some((local, region, None));
    }
    if region.count.len() != local.count.len() + 1 || region.count.first() != Some(&1) {
        return None;
    }
    region.count.remove(0);
    let index = region.start.remove(0);
    Some((local, region, Some(index)))
}

/// Whether all chunks of a part are whole chunks of a target of `shape`.
fn are_whole_chunks(part: &SourcePart, shape: &[u64], chunk_shape: &[u64]) -> bool {
    let ends = |region: &Region| region.dimensions().map(|(start, count)| start.saturating_add(count)).collect::<Vec<_>>();
    let (from, to) = (ends(&part.local), ends(&part.region));
    let extents = part.source.dataspace.shape().iter().zip(shape);
    let axes = part.local.start.iter().zip(&part.region.start).zip(from.iter().zip(&to)).zip(extents).zip(chunk_shape);
    axes.fold(true, |all, ((((local, region), (from, to)), (source, target)), chunk)| {
        let is_cut_alike = from.is_multiple_of(*chunk) || (from == source && to == target);
        all && local.is_multiple_of(*chunk) && region.is_multiple_of(*chunk) && is_cut_alike && to <= target
    })
}

/// The shape of the boxes in which a dataset is read and written into other chunks: whole `chunk`s, as many of the source's as
/// [`BOX_BYTES`] allow, so that few of these are decoded more than once.
fn box_shape(shape: &[u64], chunk: &[u64], source: Option<&[u64]>, element_bytes: u64) -> Vec<u64> {
    let mut size: Vec<u64> = chunk.iter().zip(shape).map(|(chunk, extent)| (*chunk).clamp(1, (*extent).max(1))).collect();
    let bytes = |size: &[u64]| size.iter().fold(element_bytes.max(1), |n, extent| n.saturating_mul(*extent));
    let grow = |size: &mut Vec<u64>, axis: usize, wanted: u64| {
        let (Some(extent), Some(step)) = (shape.get(axis).copied(), chunk.get(axis).copied()) else { return };
        let wanted = wanted.div_ceil(step.max(1)).saturating_mul(step.max(1)).min(extent.max(1));
        let mut larger = size.clone();
        if let Some(count) = larger.get_mut(axis) {
            *count = wanted.max(*count);
        }
        let chunks = |source: &[u64]| larger.iter().zip(source).fold(1u64, |n, (extent, chunk)| n.saturating_mul(extent.div_ceil((*chunk).max(1))));
        if bytes(&larger) <= BOX_BYTES && source.is_none_or(|source| chunks(source) <= MAX_LOCATED_CHUNKS) {
            *size = larger;
        }
    };
    // First whole chunks of the source, then as much as fits, from the fastest dimension on.
    for axis in (0..size.len()).rev() {
        grow(&mut size, axis, source.and_then(|source| source.get(axis)).copied().unwrap_or(1));
    }
    for axis in (0..size.len()).rev() {
        let room = BOX_BYTES / bytes(&size).max(1);
        let now = size.get(axis).copied().unwrap_or(1);
        let step = source.and_then(|source| source.get(axis)).copied().unwrap_or(1).max(1);
        let wanted = now.saturating_mul(room);
        grow(&mut size, axis, if wanted >= shape.get(axis).copied().unwrap_or(1) { wanted } else { wanted / step * step });
    }
    size
}

/// The filters of a dataset that was read, as a pipeline for writing.
pub(super) fn pipeline(dataset: &Dataset) -> Pipeline {
    Pipeline { filters: dataset.creation_filters().iter().map(FilterDescription::to_filter).collect() }
}

/// Whether a growing dataset has few values in small chunks.
fn is_regrown(dataset: &Dataset, chunk: &[u64]) -> bool {
    let grows = matches!(&dataset.dataspace, Dataspace::Simple { max_shape, .. } if max_shape.contains(&None));
    let chunk_bytes = chunk.iter().fold(dataset.datatype.size(), |n, extent| n.saturating_mul(*extent));
    grows && chunk_bytes < MIN_GROWN_CHUNK_BYTES && dataset.value_bytes().is_some_and(|bytes| bytes <= MAX_REGROWN_BYTES)
}
