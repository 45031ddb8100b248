//! Read: a hyperslab of one dataset. Chunks are fetched in coalesced reads and decoded in parallel,
//! each once, and scattered straight into the caller's buffer.

mod band;

use std::cell::Cell;
use std::sync::Arc;

use hyperslab_array::{Arrangement, Axis, ChunkBuffer, Datatype, DecodedChunk, Elements, Error, ErrorKind, HeapObjects, Placement, Result, Selection, scatter};
use hyperslab_formats::{ChunkLocation, ChunkSource, Dataset, ObjectId, StorageLayout, poison};
use hyperslab_storage::{Storage, coalesce};
use rayon::prelude::*;

use self::band::{Band, Part, bands};
use crate::chunk_cache::ChunkCache;
use crate::session::{being_written, patiently};
use crate::values::{Values, zeros};
use crate::{Cancellation, File, virtual_dataset};

/// Stored ranges closer than this are fetched together: a short skip costs less than a call.
const COALESCE_GAP_BYTES: u64 = 32 << 10;
/// Runs shorter than this are fetched together and copied: a call costs more than a copy.
const LEAST_DIRECT_BYTES: usize = 64 << 10;
/// Less than this is read by the calling thread: waking others costs more.
pub(crate) const LEAST_PARALLEL_BYTES: u64 = 256 << 10;
/// Decoded bytes that wait for their turn at the output; bounds a read whose chunks reach all over it.
const SIDE_BY_SIDE_BYTES: u64 = 64 << 20;
/// Longest coalesced read; bounds a worker's scratch.
const COALESCE_BYTES: u64 = 4 << 20;

pub(crate) fn read(
    file: &File,
    dataset: ObjectId,
    selection: &Selection,
    cancellation: &Cancellation,
) -> Result<Elements> {
    let datatype = file.dataset(dataset)?.datatype.clone();
    let bytes = read_bytes(file, dataset, selection, cancellation)?;
    let heap = heap(file, dataset, &datatype, &bytes)?;
    Ok(Elements { datatype, bytes, heap })
}

/// What `bytes`, elements of (a projection of) the dataset's datatype, point at in heaps.
pub(crate) fn heap(file: &File, dataset: ObjectId, datatype: &Datatype, bytes: &[u8]) -> Result<HeapObjects> {
    let mut heap = HeapObjects::limited(file.session().limits().heap_budget(file.array_file().storage().len()));
    let description = file.dataset(dataset)?;
    if description.virtual_mappings.is_empty() {
        file.array_file().resolve_heap(datatype, bytes, &mut heap)?;
    } else if datatype.uses_heap() {
        virtual_dataset::resolve_heap(file, datatype, bytes, &mut heap)?;
    }
    Ok(heap)
}

/// The selected elements' bytes without what they point at in heaps.
pub(crate) fn read_bytes(file: &File, dataset: ObjectId, selection: &Selection, cancellation: &Cancellation) -> Result<Vec<u8>> {
    let mut bytes = zeros(selected_bytes(file.dataset(dataset)?, selection)?)?;
    fill(file, dataset, selection, &mut bytes, cancellation)?;
    Ok(bytes)
}

/// As `read_bytes`, in memory that the session uses again.
pub(crate) fn read_values(file: &File, dataset: ObjectId, selection: &Selection, cancellation: &Cancellation) -> Result<Values> {
    let mut values = file.session().values().take(selected_bytes(file.dataset(dataset)?, selection)?)?;
    fill(file, dataset, selection, &mut values, cancellation)?;
    Ok(values)
}

pub(crate) fn read_into(
    file: &File,
    dataset: ObjectId,
    selection: &Selection,
    out: &mut [u8],
    cancellation: &Cancellation,
) -> Result<HeapObjects> {
    let description = file.dataset(dataset)?;
    let wanted = selected_bytes(description, selection)?;
    if out.len() != wanted {
        return Err(Error::invalid_input(format!("the buffer has {} bytes, the selection {wanted}", out.len())));
    }
    fill(file, dataset, selection, out, cancellation)?;
    heap(file, dataset, &description.datatype, out)
}

pub(crate) fn stored_bytes(file: &File, dataset: ObjectId) -> Result<u64> {
    let description = file.dataset(dataset)?;
    if let Some(bytes) = description.stored_bytes {
        return Ok(bytes);
    }
    let selection = Selection::all(description.dataspace.shape());
    let located = file.array_file().locate(dataset, &selection)?;
    let lengths = located.chunks.iter().map(|chunk| match &chunk.source {
        ChunkSource::Stored { length, .. } => *length,
        ChunkSource::Inline(bytes) => bytes.len() as u64,
        ChunkSource::Fill => 0,
    });
    Ok(lengths.sum())
}

/// Writes the fill value of elements of `size` bytes all over `out`; zeros where there is none.
pub(crate) fn fill_value(value: Option<&[u8]>, size: usize, out: &mut [u8]) {
    match value {
        Some(value) if value.len() == size && value.iter().any(|&b| b != 0) => {
            out.chunks_exact_mut(size).for_each(|element| element.copy_from_slice(value));
        }
        _ => out.fill(0),
    }
}

fn selected_bytes(dataset: &Dataset, selection: &Selection) -> Result<usize> {
    let count = match &dataset.dataspace {
        hyperslab_array::Dataspace::Null => 0,
        _ => selection.element_count()?,
    };
    count
        .checked_mul(dataset.datatype.size())
        .and_then(|n| usize::try_from(n).ok())
        .filter(|n| isize::try_from(*n).is_ok())
        .ok_or_else(|| Error::limit_exceeded("the selection exceeds the memory of this machine: read it in parts"))
}

fn fill(
    file: &File,
    dataset: ObjectId,
    selection: &Selection,
    out: &mut [u8],
    cancellation: &Cancellation,
) -> Result<()> {
    let description = file.dataset(dataset)?;
    if let Some(refusal) = &description.refusal {
        return Err(refusal.clone());
    }
    // Validates against the dataset's shape, whoever made the selection.
    let selection = Selection::new(selection.axes().to_vec(), description.dataspace.shape())?;
    if out.is_empty() {
        return Ok(());
    }
    poison(out);
    if let Some(written) = &description.written_shape {
        return fill_beyond(file, dataset, description, written, &selection, out, cancellation);
    }
    fill_stored(file, dataset, description, &selection, out, cancellation)
}

/// As [`fill_stored`], of a dataset that goes on beyond what was `written`: there is the fill value.
fn fill_beyond(
    file: &File,
    dataset: ObjectId,
    description: &Dataset,
    written: &[u64],
    selection: &Selection,
    out: &mut [u8],
    cancellation: &Cancellation,
) -> Result<()> {
    let size = usize::try_from(description.datatype.size()).map_err(|_| Error::internal("element size"))?;
    let axes: Vec<Axis> = selection.axes().iter().zip(written).map(|(axis, &extent)| axis.clip(0, extent)).collect();
    let inside = Selection::new(axes, written)?;
    if inside.is_empty() {
        fill_value(description.fill_value.as_deref(), size, out);
        return Ok(());
    }
    let (part, whole) = (inside.shape(), selection.shape());
    // What was written comes first along every dimension: a run at the start where only the slowest is cut.
    if part.iter().skip(1).eq(whole.iter().skip(1)) {
        let (stored, beyond) = out
            .split_at_mut_checked(selected_bytes(description, &inside)?)
            .ok_or_else(|| Error::internal("a part that exceeds the whole"))?;
        fill_value(description.fill_value.as_deref(), size, beyond);
        return fill_stored(file, dataset, description, &inside, stored, cancellation);
    }
    let mut stored = zeros(selected_bytes(description, &inside)?)?;
    poison(&mut stored);
    fill_stored(file, dataset, description, &inside, &mut stored, cancellation)?;
    fill_value(description.fill_value.as_deref(), size, out);
    let positions = whole.iter().map(|&extent| Axis::all(extent)).collect();
    let origin = vec![0; part.len()];
    scatter(stored.as_slice().into(), &part, &origin, &Selection::new(positions, &whole)?, out, &origin, &whole, size)
}

/// Fills `out` from what the file stores.
fn fill_stored(
    file: &File,
    dataset: ObjectId,
    description: &Dataset,
    selection: &Selection,
    out: &mut [u8],
    cancellation: &Cancellation,
) -> Result<()> {
    if description.storage == StorageLayout::Virtual {
        return virtual_dataset::fill(file, description, selection, out, cancellation);
    }
    let external = match description.storage {
        StorageLayout::External => Some(file.external_storage(dataset.0, &description.external_files)?),
        _ => None,
    };
    let storage = external.as_ref().unwrap_or_else(|| file.array_file().storage());
    // A chunk locator may be in the middle of a writer's change.
    let mut located = patiently(
        || Ok(file.array_file().locate(dataset, selection)),
        |located| matches!(located, Err(error) if error.kind() == ErrorKind::Corrupt) && being_written(storage.as_ref()),
    )??;
    if description.filters.is_empty() {
        located.chunks.iter_mut().for_each(|chunk| narrow(chunk, selection, description.datatype.size()));
    }
    if let [only] = located.chunks.as_slice()
        && is_all(only, description, selection)
        && let ChunkSource::Stored { offset, length, .. } = only.source
        && length == out.len() as u64
    {
        cancellation.check()?;
        file.session().counters().add_bytes_read(length);
        return storage.read_exact_at(offset, out);
    }
    let job = Job { file, storage, dataset, description, selection, cancellation };
    // A filtered chunk is decoded whole, however little of it is wanted.
    let work = match description.filters.is_empty() {
        true => out.len() as u64,
        false => located.chunks.iter().map(|chunk| bytes_of(chunk, description)).fold(0, u64::saturating_add),
    };
    let bands = bands(description, selection, &located.chunks, out)?;
    let threads = file.session().thread_count()?;
    if work < LEAST_PARALLEL_BYTES || threads == 1 {
        return with_scratch(|scratch| bands.into_iter().try_for_each(|band| job.read_band(band, scratch)));
    }
    // A decoding thread that reads has others beside it, which have windows of their own to read.
    let is_one_of_many = file.session().pool()?.current_thread_index().is_some();
    file.session().compute(|| {
        if is_one_of_many || bands.len() >= threads.min(located.chunks.len()) || file.chunks().is_some() {
            bands.into_par_iter().try_for_each(|band| with_scratch(|scratch| job.read_band(band, scratch)))
        } else {
            bands.into_iter().try_for_each(|band| job.read_band_in_parallel(band, threads))
        }
    })
}

/// Bytes of a chunk's elements, decoded.
fn bytes_of(chunk: &ChunkLocation, description: &Dataset) -> u64 {
    chunk.shape.iter().fold(description.datatype.size(), |bytes, &extent| bytes.saturating_mul(extent))
}

/// Leaves of an unfiltered chunk the rows between the first and the last that are wanted: those of its slowest
/// dimension, or of the first one behind single indexes. They are one run of its bytes.
fn narrow(chunk: &mut ChunkLocation, selection: &Selection, size: u64) {
    let ChunkSource::Stored { offset, length, .. } = &mut chunk.source else { return };
    let mut below = chunk.shape.iter().fold(size, |bytes, &extent| bytes.saturating_mul(extent));
    if below != *length {
        return;
    }
    for ((axis, start), extent) in selection.axes().iter().zip(&mut chunk.origin).zip(&mut chunk.shape) {
        let (first, count) = axis.positions_within(*start, start.saturating_add(*extent));
        let ends = axis.index(first).zip(count.checked_sub(1).and_then(|more| axis.index(first + more)));
        let Some((low, high)) = ends.filter(|(low, high)| *start <= *low && *low <= *high && *high - *start < *extent) else { return };
        below /= *extent;
        *offset += (low - *start) * below;
        *length = (high - low + 1) * below;
        (*start, *extent) = (low, high - low + 1);
        if *extent > 1 {
            return;
        }
    }
}

/// Whether a selection is all of an unfiltered chunk, whose bytes are then the selection's.
fn is_all(chunk: &ChunkLocation, description: &Dataset, selection: &Selection) -> bool {
    // Positions increase along an axis: as many as the chunk has, all of them in it, are all of it.
    let whole = |((axis, &start), &extent): ((&Axis, &u64), &u64)| {
        axis.count() == extent && axis.index(0) == Some(start) && axis.index(extent.saturating_sub(1)).is_some_and(|last| last - start < extent)
    };
    description.filters.is_empty() && selection.axes().iter().zip(&chunk.origin).zip(&chunk.shape).all(whole)
}

thread_local! {
    /// Kept from read to read: fresh memory costs more than most of what is done with it.
    static SCRATCH: Cell<Scratch> = Cell::default();
}

/// Calls `work` with this thread's scratch. A decoder of somebody else's may read another file meanwhile:
/// that finds an empty one.
fn with_scratch<T>(work: impl FnOnce(&mut Scratch) -> T) -> T {
    let mut scratch = SCRATCH.take();
    let outcome = work(&mut scratch);
    SCRATCH.set(scratch);
    outcome
}

/// One call's fixed facts.
struct Job<'a> {
    file: &'a File,
    /// Where the dataset's bytes are.
    storage: &'a Arc<dyn Storage>,
    dataset: ObjectId,
    description: &'a Dataset,
    selection: &'a Selection,
    cancellation: &'a Cancellation,
}

/// A run of bytes in the file that is a run of bytes in a band.
struct DirectPlace {
    offset: u64,
    target: usize,
    length: usize,
}

/// A worker's buffers, reused from chunk to chunk.
#[derive(Default)]
struct Scratch {
    raw: Vec<u8>,
    decoded: ChunkBuffer,
    /// Where planes are joined.
    spare: Vec<u8>,
}

impl Job<'_> {
    fn read_band(&self, band: Band<'_>, scratch: &mut Scratch) -> Result<()> {
        let Some(band) = self.read_direct(band)? else { return Ok(()) };
        if let Some(cache) = self.file.chunks().filter(|_| !self.description.filters.is_empty()) {
            return self.read_kept(band, cache, scratch);
        }
        let Band { part, chunks } = band;
        let ranges: Vec<(u64, u64)> = chunks.iter().map(|chunk| stored_range(chunk)).collect();
        let Scratch { raw: fetched, decoded, spare } = scratch;
        for read in coalesce(&ranges, COALESCE_GAP_BYTES, COALESCE_BYTES) {
            self.cancellation.check()?;
            self.fetch(fetched, read.offset, read.length)?;
            for &member in &read.members {
                self.cancellation.check()?;
                let (Some(location), Some(&(offset, length))) = (chunks.get(member), ranges.get(member)) else {
                    return Err(Error::internal("coalescing invented a range"));
                };
                let raw = raw_part(fetched, offset - read.offset, length)?;
                let Some(placement) = self.place(location, &part)? else { continue };
                let chunk = match self.decode(location, raw, decoded)? {
                    Some(as_stored) => as_stored.into(),
                    None => self.arranged(&placement, decoded, spare)?,
                };
                placement.copy(chunk, part.out)?;
            }
        }
        Ok(())
    }

    /// Reads a band whose chunks other reads want too.
    fn read_kept(&self, band: Band<'_>, cache: &ChunkCache, scratch: &mut Scratch) -> Result<()> {
        let Band { part, chunks } = band;
        for location in chunks {
            self.cancellation.check()?;
            let Some(placement) = self.place(location, &part)? else { continue };
            let (offset, length) = stored_range(location);
            let mut decoded = || {
                self.fetch(&mut scratch.raw, offset, length)?;
                let mut decoded = ChunkBuffer::default();
                match self.decode(location, &scratch.raw, &mut decoded)? {
                    Some(as_stored) => decoded.bytes = as_stored.to_vec(),
                    None => drop(self.arranged(&placement, &mut decoded, &mut scratch.spare)?),
                }
                Ok(decoded)
            };
            let chunk = match location.source {
                ChunkSource::Stored { .. } => {
                    let key = (self.file.number(), self.dataset.0, offset);
                    cache.chunk(key, bytes_of(location, self.description), decoded)?
                }
                _ => Arc::new(decoded()?),
            };
            placement.copy(chunk.chunk(), part.out)?;
        }
        Ok(())
    }

    /// Reads a band whose chunks lie in the file as they will lie in the output, without a copy in
    /// between; gives the band back where they do not.
    fn read_direct<'b>(&self, band: Band<'b>) -> Result<Option<Band<'b>>> {
        if !self.description.filters.is_empty() {
            return Ok(Some(band));
        }
        let places = band.chunks.iter().map(|chunk| self.direct_place(chunk, &band)).collect::<Option<Vec<_>>>();
        let Some(mut places) = places else { return Ok(Some(band)) };
        places.sort_unstable_by_key(|place| place.target);
        let covered = places.iter().try_fold(0, |end, place| (place.target == end).then_some(end + place.length));
        if covered != Some(band.part.out.len()) || places.iter().any(|place| place.length < LEAST_DIRECT_BYTES.min(band.part.out.len())) {
            return Ok(Some(band));
        }
        let mut rest = band.part.out;
        for place in places {
            self.cancellation.check()?;
            let (here, later) = rest.split_at_mut_checked(place.length).ok_or_else(|| Error::internal("a run beyond its band"))?;
            self.file.session().counters().add_bytes_read(here.len() as u64);
            self.storage.read_exact_at(place.offset, here)?;
            rest = later;
        }
        Ok(None)
    }

    /// Where the wanted elements of a chunk are one run of bytes in the file and one in the band.
    fn direct_place(&self, chunk: &ChunkLocation, band: &Band<'_>) -> Option<DirectPlace> {
        let ChunkSource::Stored { offset, length, .. } = chunk.source else { return None };
        let size = self.description.datatype.size();
        if chunk.shape.iter().product::<u64>().checked_mul(size)? != length {
            return None;
        }
        // From the fastest dimension on: whole ones, then at most one in part, then single indexes.
        let (mut whole_here, mut whole_there) = (true, true);
        let (mut first_here, mut first_there, mut count) = (0u64, 0u64, 1u64);
        let (mut stride_here, mut stride_there) = (1u64, 1u64);
        let axes = self.selection.axes().iter().zip(&chunk.origin).zip(&chunk.shape).zip(&band.part.origin).zip(&band.part.shape);
        for ((((axis, &start), &extent), &position), &wanted) in axes.rev() {
            let part = axis.sub_axis(position, wanted);
            let runs = part.runs_within(start, start.saturating_add(extent));
            let [run] = runs.as_slice() else { return None };
            if run.count > 1 && !(whole_here && whole_there) {
                return None;
            }
            first_here += run.source * stride_here;
            first_there += run.target * stride_there;
            count *= run.count;
            whole_here &= run.count == extent;
            whole_there &= run.count == wanted;
            stride_here *= extent;
            stride_there *= wanted;
        }
        Some(DirectPlace {
            offset: offset.checked_add(first_here.checked_mul(size)?)?,
            target: usize::try_from(first_there.checked_mul(size)?).ok()?,
            length: usize::try_from(count.checked_mul(size)?).ok()?,
        })
    }

    /// Few bands, many chunks: chunks decode side by side, some at a time, then parts of the output are filled
    /// side by side from all of them.
    fn read_band_in_parallel(&self, band: Band<'_>, threads: usize) -> Result<()> {
        let Some(Band { part, chunks }) = self.read_direct(band)? else { return Ok(()) };
        // Whether to join the planes of a chunk: once, not in each part.
        let chunks = chunks
            .into_iter()
            .map(|chunk| Ok((chunk, self.place(chunk, &part)?.is_some_and(|placement| placement.is_in_short_rows()))))
            .collect::<Result<Vec<_>>>()?;
        let mut parts = part.split(threads);
        let largest = chunks.iter().map(|(chunk, _)| bytes_of(chunk, self.description)).max().unwrap_or(0);
        let at_once = usize::try_from(SIDE_BY_SIDE_BYTES / largest.max(1)).unwrap_or(usize::MAX);
        let mut buffers: Vec<(Scratch, bool)> = Vec::new();
        buffers.resize_with(chunks.len().min(at_once.clamp(threads, threads * 8)), Default::default);
        for group in chunks.chunks(buffers.len().max(1)) {
            group.par_iter().zip(&mut buffers).try_for_each(|((location, is_short), (scratch, as_stored))| {
                self.cancellation.check()?;
                let (offset, length) = stored_range(location);
                self.fetch(&mut scratch.raw, offset, length)?;
                *as_stored = self.decode(location, &scratch.raw, &mut scratch.decoded)?.is_some();
                match *is_short && !*as_stored {
                    true => scratch.decoded.join(self.element_size()?, &mut scratch.spare),
                    false => Ok(()),
                }
            })?;
            parts.par_iter_mut().try_for_each(|part| {
                group.iter().zip(&buffers).try_for_each(|((location, _), (scratch, as_stored))| {
                    let chunk = match &location.source {
                        ChunkSource::Inline(bytes) => DecodedChunk::from(&**bytes),
                        _ if *as_stored => scratch.raw.as_slice().into(),
                        _ => scratch.decoded.chunk(),
                    };
                    self.place(location, part)?.map_or(Ok(()), |placement| placement.copy(chunk, part.out))
                })
            })?;
        }
        Ok(())
    }

    fn fetch(&self, raw: &mut Vec<u8>, offset: u64, length: u64) -> Result<()> {
        let length = usize::try_from(length).map_err(|_| Error::limit_exceeded("a chunk exceeds memory"))?;
        raw.resize(length, 0);
        if length == 0 {
            return Ok(());
        }
        self.file.session().counters().add_bytes_read(raw.len() as u64);
        self.storage.read_exact_at(offset, raw)
    }

    /// Decodes a chunk into `out`, or returns the bytes as stored where nothing has to be undone.
    fn decode<'a>(&self, location: &'a ChunkLocation, raw: &'a [u8], out: &mut ChunkBuffer) -> Result<Option<&'a [u8]>> {
        out.bytes.clear();
        out.arrangement = Arrangement::Elements;
        let size = self.description.datatype.size();
        let bytes = location
            .shape
            .iter()
            .try_fold(size, |n, &extent| n.checked_mul(extent))
            .filter(|n| *n <= self.file.session().limits().chunk_bytes)
            .and_then(|n| usize::try_from(n).ok())
            .ok_or_else(|| Error::limit_exceeded(format!("a chunk of shape {:?} exceeds the limit", location.shape)))?;
        match &location.source {
            ChunkSource::Inline(inline) => return Ok(Some(inline)),
            ChunkSource::Fill => {
                let element = usize::try_from(size).map_err(|_| Error::internal("element size"))?;
                out.bytes.resize(bytes, 0);
                fill_value(self.description.fill_value.as_deref(), element, &mut out.bytes);
            }
            ChunkSource::Stored { offset, .. } => {
                if self.description.filters.is_empty() && raw.len() == bytes {
                    return Ok(Some(raw));
                }
                let start = std::time::Instant::now();
                self.file
                    .array_file()
                    .decode(self.dataset, location, raw, out)
                    .map_err(|error| error.at_offset(*offset))?;
                self.file.session().counters().add_decoded_chunk(start);
                if out.bytes.len() != bytes {
                    return Err(Error::internal(format!("a chunk decoded to {} bytes, not {bytes}", out.bytes.len())));
                }
            }
        }
        Ok(None)
    }

    /// Where the elements of a chunk go in a part of the output, if any do.
    fn place(&self, chunk: &ChunkLocation, part: &Part<'_>) -> Result<Option<Placement>> {
        Placement::new(&chunk.shape, &chunk.origin, self.selection, &part.origin, &part.shape, self.element_size()?)
    }

    fn element_size(&self) -> Result<usize> {
        usize::try_from(self.description.datatype.size()).map_err(|_| Error::internal("element size"))
    }

    /// A decoded chunk as it is copied from fastest.
    fn arranged<'a>(&self, placement: &Placement, decoded: &'a mut ChunkBuffer, spare: &mut Vec<u8>) -> Result<DecodedChunk<'a>> {
        if placement.is_in_short_rows() {
            decoded.join(self.element_size()?, spare)?;
        }
        Ok(decoded.chunk())
    }
}

fn stored_range(location: &ChunkLocation) -> (u64, u64) {
    match &location.source {
        ChunkSource::Stored { offset, length, .. } => (*offset, *length),
        _ => (0, 0),
    }
}

fn raw_part(raw: &[u8], offset: u64, length: u64) -> Result<&[u8]> {
    let range = usize::try_from(offset)
        .ok()
        .zip(usize::try_from(length).ok())
        .and_then(|(start, length)| Some(start..start.checked_add(length)?));
    range.and_then(|r| raw.get(r)).ok_or_else(|| Error::internal("a chunk outside of its coalesced read"))
}
