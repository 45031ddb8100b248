//! Fuse: one ordinary file out of a master and its subfiles. Chunks that are the same in both are copied as they
//! are stored, without decoding.

use std::path::Path;

use hyperslab_array::{Axis, ChunkGrid, Dataspace, Error, HeapReference, Result, Selection, StoredSelection};
use hyperslab_formats::filter::{Filter, Pipeline};
use hyperslab_formats::{ChunkSource, Content, Dataset, VirtualMapping};
use hyperslab_storage::Existing;

use super::boxes::Region;
use super::carried::{Carried, Source};
use super::definition::DatasetDefinition;
use super::state::{COMMIT_ATTRIBUTE, reading_session};
use super::subfile::Subfile;
use crate::{Cancellation, File, ObjectId};

/// Bytes of values that are read and written at a time where chunks cannot be copied.
const SLAB_BYTES: u64 = 32 << 20;

/// What fusing did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Fused {
    /// Length of the file.
    pub bytes: u64,
    /// Chunks that were copied as they were stored.
    pub copied_chunks: u64,
    /// Bytes of values that were decoded and encoded again.
    pub recoded_bytes: u64,
}

/// Writes what the container at `master` shows into one file called `target`. `progress` hears how many bytes of
/// values are done, of how many.
pub fn fuse(master: &Path, target: &Path, existing: Existing, cancellation: &Cancellation, progress: &mut dyn FnMut(u64, u64)) -> Result<Fused> {
    let session = reading_session()?;
    let file = session.open(master)?;
    let mut fused = Fused::default();
    let mut out = Subfile::create(target, existing, None, &session)?;
    copy_objects(&file, &mut out, cancellation, &mut fused, false, progress)?;
    fused.bytes = out.finish(existing)?;
    Ok(fused)
}

/// Bytes of values of a dataset that gets another chunk shape when it goes on growing, and of a chunk that is too small then.
const MAX_REGROWN_BYTES: u64 = 2 << 20;
const MIN_GROWN_CHUNK_BYTES: u64 = 256 << 10;

/// Defines what `file` shows in `out`, with all values. If it `grows` on there, small datasets in small chunks get their
/// chunk shape when they have more values.
pub(super) fn copy_objects(file: &File, out: &mut Subfile, cancellation: &Cancellation, fused: &mut Fused, grows: bool, progress: &mut dyn FnMut(u64, u64)) -> Result<()> {
    let source = Source::new(file);
    let total = file.tree().objects.iter().filter_map(|object| match &object.content {
        Content::Dataset(dataset) => dataset.value_bytes(),
        _ => None,
    });
    let total = total.fold(0u64, u64::saturating_add);
    let mut done = 0u64;
    let mut scales = Vec::new();
    for (number, object) in file.tree().objects.iter().enumerate() {
        let path = object.path.as_str();
        match &object.content {
            Content::Group(group) => {
                out.create_group(path)?;
                for (path, link) in source.links(path, group)? {
                    out.create_link(&path, link)?;
                }
            }
            Content::Dataset(dataset) => match source.references(ObjectId(number)).map_err(|error| error.at_object(path))? {
                Some(pointers) => out.create_pointers(path, pointers)?,
                None => {
                    let mut copy = Copy { file, out: &mut *out, path, cancellation, fused: &mut *fused, grows };
                    copy.dataset(ObjectId(number), dataset, source.committed(&dataset.datatype))?;
                }
            },
            Content::Datatype(datatype) => out.create_datatype(path, datatype.clone())?,
            Content::Unreadable(error) => return Err(error.clone().at_object(path)),
        }
        out.set_tracked(path, object.is_tracked())?;
        if let Some(error) = &object.attributes_error {
            return Err(error.clone().at_object(path));
        }
        for attribute in object.attributes.iter().filter(|attribute| number != 0 || attribute.name != COMMIT_ATTRIBUTE) {
            match source.attribute(attribute).map_err(|error| error.at_object(path))? {
                Carried::Value(value) => out.set_attribute(path, &attribute.name, value)?,
                Carried::References(pointers) => out.set_pointers(path, &attribute.name, pointers)?,
                Carried::Scales(found) => scales.extend(found.into_iter().map(|(dimension, scale)| (path, dimension, scale))),
                Carried::Nothing => {}
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

struct Copy<'a> {
    file: &'a File,
    out: &'a mut Subfile,
    path: &'a str,
    cancellation: &'a Cancellation,
    fused: &'a mut Fused,
    grows: bool,
}

/// A source of a virtual dataset and what is taken of it.
struct Part {
    file: File,
    id: ObjectId,
    source: Dataset,
    local: Region,
    region: Region,
}

impl Copy<'_> {
    fn dataset(&mut self, id: ObjectId, dataset: &Dataset, committed: Option<String>) -> Result<()> {
        let definition = DatasetDefinition { fill_value: dataset.fill_value.clone(), committed, ..DatasetDefinition::new(dataset.datatype.clone(), dataset.dataspace.clone()) };
        if dataset.virtual_mappings.is_empty() {
            let never_written = dataset.stored_bytes == Some(0);
            let chunk_shape = dataset.chunk_shape.clone().filter(|chunk| !self.grows || !is_regrown(dataset, chunk));
            let rechunked = chunk_shape != dataset.chunk_shape;
            let definition = DatasetDefinition { chunk_shape, filters: pipeline(dataset), ..definition };
            self.out.create_dataset(self.path, definition)?;
            if never_written || matches!(dataset.dataspace, Dataspace::Null) {
                return Ok(());
            }
            let all = Region::all(dataset.dataspace.shape());
            if dataset.chunk_shape.is_some() && !rechunked && !dataset.datatype.uses_heap() {
                let whole = Part { file: self.file.clone(), id, source: dataset.clone(), local: all.clone(), region: all.clone() };
                if self.chunks(&whole, dataset.dataspace.shape())? {
                    return Ok(());
                }
            }
            return self.recode(self.file, id, dataset, &all, &all);
        }
        let parts = dataset.virtual_mappings.iter().map(|mapping| self.part(mapping)).collect::<Result<Vec<_>>>()?;
        let first = parts.first().ok_or_else(|| Error::internal("a virtual dataset of nothing"))?;
        let alike = parts.iter().all(|part| part.source.chunk_shape == first.source.chunk_shape && pipeline(&part.source) == pipeline(&first.source));
        let definition = match &first.source.chunk_shape {
            // Chunks that fitted the rows of each task: the whole gets a shape of its own.
            Some(_) if !alike => DatasetDefinition { filters: pipeline(&first.source), ..definition },
            Some(chunk_shape) => DatasetDefinition { chunk_shape: Some(chunk_shape.clone()), filters: pipeline(&first.source), ..definition },
            None => definition,
        };
        self.out.create_dataset(self.path, definition)?;
        let target_chunk = self.out.definition(self.path)?.chunk_shape;
        for part in &parts {
            let copies = alike && !dataset.datatype.uses_heap() && part.source.chunk_shape.is_some() && part.source.chunk_shape == target_chunk;
            if copies && self.chunks(part, dataset.dataspace.shape())? {
                continue;
            }
            self.recode(&part.file, part.id, &part.source, &part.local, &part.region)?;
        }
        Ok(())
    }

    fn part(&self, mapping: &VirtualMapping) -> Result<Part> {
        let region = |selection: &StoredSelection| {
            let StoredSelection::Hyperslab(axes) = selection else { return None };
            let start = axes.iter().map(|axis| axis.start).collect();
            let count: Option<Vec<u64>> = axes.iter().map(|axis| axis.block.filter(|_| axis.count == Some(1))).collect();
            Some(Region { start, count: count? })
        };
        let regions = region(&mapping.source_selection).zip(region(&mapping.selection)).filter(|(local, region)| local.count == region.count);
        let (local, region) = regions.ok_or_else(|| Error::unsupported("fusing a virtual dataset that no task wrote").at_object(self.path))?;
        let file = self.file.neighbour(&mapping.file.replace("%%", "%"))?;
        let found = file.find(&mapping.dataset.replace("%%", "%"))?;
        let source = found.file.dataset(found.object)?.clone();
        Ok(Part { file: found.file, id: found.object, source, local, region })
    }

    /// Copies the chunks of a part if each of them is one of the target too, all of it; else nothing.
    fn chunks(&mut self, part: &Part, shape: &[u64]) -> Result<bool> {
        let Some(chunk_shape) = &part.source.chunk_shape else { return Ok(false) };
        let clipped = |origin: &[u64], shape: &[u64]| Region {
            start: origin.to_vec(),
            count: origin.iter().zip(chunk_shape).zip(shape).map(|((origin, chunk), n)| (*chunk).min(n.saturating_sub(*origin))).collect(),
        };
        let axes = part.local.start.iter().zip(&part.local.count).map(|(start, count)| Axis::Range { start: *start, count: *count, step: 1 });
        let selection = Selection::new(axes.collect(), part.source.dataspace.shape())?;
        let moved = |origin: &[u64]| -> Option<Vec<u64>> {
            let axes = origin.iter().zip(&part.local.start).zip(&part.region.start);
            axes.map(|((origin, local), region)| origin.checked_add(*region)?.checked_sub(*local)).collect()
        };
        let grid = ChunkGrid::new(part.source.dataspace.shape().to_vec(), chunk_shape.clone())?;
        let origins = grid.touched(&selection);
        let same = origins.iter().all(|origin| {
            let Some(target) = moved(origin) else { return false };
            let here = clipped(origin, part.source.dataspace.shape());
            let aligned = target.iter().zip(chunk_shape).all(|(start, chunk)| start % chunk == 0);
            aligned && here.shared(&part.local).as_ref() == Some(&here) && clipped(&target, shape).count == here.count
        });
        if !same {
            return Ok(false);
        }
        let storage = part.file.array_file().storage().clone();
        for location in part.file.array_file().locate(part.id, &selection)?.chunks {
            self.cancellation.check()?;
            let ChunkSource::Stored { offset, length, filter_mask } = location.source else { continue };
            let Some(target) = moved(&location.origin) else { continue };
            let mut raw = vec![0; usize::try_from(length).unwrap_or(usize::MAX)];
            storage.read_exact_at(offset, &mut raw)?;
            let position = target.iter().zip(chunk_shape).map(|(start, chunk)| start / chunk).collect();
            self.out.put_chunk(self.path, position, &raw, filter_mask)?;
            self.fused.copied_chunks += 1;
        }
        Ok(true)
    }

    /// Reads `local` of a dataset and writes it as `region`, slab by slab.
    fn recode(&mut self, file: &File, id: ObjectId, source: &Dataset, local: &Region, region: &Region) -> Result<()> {
        let size = source.datatype.size().max(1);
        let row = local.count.iter().skip(1).fold(size, |n, count| n.saturating_mul(*count)).max(1);
        // Whole chunks, so that none is decoded twice.
        let chunk = source.chunk_shape.as_ref().and_then(|shape| shape.first().copied()).unwrap_or(1).max(1);
        let rows = (SLAB_BYTES / row).max(1).div_ceil(chunk).saturating_mul(chunk);
        let total = local.count.first().copied();
        let mut first = 0;
        loop {
            self.cancellation.check()?;
            let count = total.map(|total| rows.min(total - first));
            let slab = |of: &Region| {
                let mut slab = of.clone();
                if let (Some(start), Some(extent), Some(count)) = (slab.start.first_mut(), slab.count.first_mut(), count) {
                    *start += first;
                    *extent = count;
                }
                slab
            };
            let from = slab(local);
            let axes = from.start.iter().zip(&from.count).map(|(start, count)| Axis::Range { start: *start, count: *count, step: 1 });
            let values = file.read(id, &Selection::new(axes.collect(), source.dataspace.shape())?, self.cancellation)?;
            let resolve = |reference: HeapReference| values.heap.object(reference);
            self.out.write(self.path, &slab(region), &values.bytes, &resolve)?;
            self.fused.recoded_bytes += values.bytes.len() as u64;
            first += count.unwrap_or(0);
            if total.is_none_or(|total| first >= total) {
                return Ok(());
            }
        }
    }
}

/// Whether a dataset that can grow has few values in small chunks.
fn is_regrown(dataset: &Dataset, chunk: &[u64]) -> bool {
    let grows = matches!(&dataset.dataspace, Dataspace::Simple { max_shape, .. } if max_shape.contains(&None));
    let chunk_bytes = chunk.iter().fold(dataset.datatype.size(), |n, extent| n.saturating_mul(*extent));
    grows && chunk_bytes < MIN_GROWN_CHUNK_BYTES && dataset.value_bytes().is_some_and(|bytes| bytes <= MAX_REGROWN_BYTES)
}

/// The filters of a dataset that was read, for one that is written.
fn pipeline(dataset: &Dataset) -> Pipeline {
    const FLETCHER32: u16 = 3;
    let filter = |filter: &hyperslab_formats::FilterDescription| Filter {
        id: filter.id,
        name: (filter.id >= 256).then(|| filter.name.clone()),
        optional: filter.id != FLETCHER32,
        parameters: filter.parameters.clone(),
    };
    Pipeline { filters: dataset.filters.iter().map(filter).collect() }
}
