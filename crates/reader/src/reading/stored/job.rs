//! Job: fetches the chunks of bands in coalesced reads, decodes them, and scatters them into the output.

use std::cell::Cell;
use std::sync::Arc;

use hyperslab_array::{Arrangement, ChunkBuffer, DecodedChunk, Error, Placement, Result};
use hyperslab_formats::{ChunkLocation, ChunkSource};
use hyperslab_storage::{Storage, coalesce, profile};
use rayon::prelude::*;

use super::band::{Band, OutputPart};
use super::chunk::{bytes_of, fill_value};
use super::shared_chunks::SharedChunks;
use crate::kept::decoding_memory::{Held, bound};
use crate::reading::dataset_read::DatasetRead;

/// Stored ranges with smaller gaps are fetched together: reading over a short gap costs less than another call.
pub(super) const COALESCE_GAP_BYTES: u64 = 32 << 10;
/// Shorter runs are fetched together and copied: another call costs more than a copy.
const MIN_DIRECT_BYTES: usize = 64 << 10;
/// Most decoded bytes that wait to be copied to the output; bounds the memory of reads whose chunks all span the output.
const MAX_PENDING_BYTES: u64 = 64 << 20;
/// Longest coalesced read if the profile of this machine says nothing; bounds a worker's scratch memory.
const COALESCE_BYTES: u64 = 4 << 20;

/// Maximum bytes of a scratch buffer that is kept for the next read.
const MAX_KEPT_BYTES: usize = 64 << 20;

thread_local! {
    /// Kept from read to read: touching fresh memory costs more than most work on it.
    static SCRATCH: Cell<Scratch> = Cell::default();
}

/// Calls `work` with this thread's scratch. A registered decoder may read another file meanwhile; that read gets an empty
/// scratch.
pub(super) fn with_scratch<T>(work: impl FnOnce(&mut Scratch) -> T) -> T {
    let mut scratch = SCRATCH.take();
    let outcome = work(&mut scratch);
    if scratch.bytes() <= MAX_KEPT_BYTES {
        scratch.held = Held::default();
        SCRATCH.set(scratch);
    }
    outcome
}

/// One read of stored chunks.
pub(super) struct Job<'a> {
    pub read: DatasetRead<'a>,
    /// Storage of the dataset's bytes.
    pub storage: &'a Arc<dyn Storage>,
    /// Decoded chunks of other reads.
    pub shared: Option<SharedChunks<'a>>,
}

/// A run of bytes in the file that is also a run of bytes in a band.
struct DirectPlace {
    offset: u64,
    target: usize,
    length: usize,
}

/// A worker's buffers, reused from chunk to chunk.
#[derive(Default)]
pub(super) struct Scratch {
    raw: Vec<u8>,
    decoded: ChunkBuffer,
    /// Target for joining planes.
    spare: Vec<u8>,
    /// What these take of the memory that all threads share.
    held: Held,
}

impl Scratch {
    /// The memory of its buffers.
    fn bytes(&self) -> usize {
        self.raw.capacity() + self.decoded.bytes.capacity() + self.spare.capacity()
    }
}

/// Makes `buffer` `length` bytes long. A file may claim any length: `LimitExceeded` if memory is too short for it.
fn resize(buffer: &mut Vec<u8>, length: usize) -> Result<()> {
    let more = length.saturating_sub(buffer.len());
    buffer.try_reserve_exact(more).map_err(|_| Error::limit_exceeded(format!("no memory for a chunk of {length} bytes: read with fewer threads")))?;
    buffer.resize(length, 0);
    Ok(())
}

impl Job<'_> {
    /// Puts fill values into a band with chunks that were never written, and leaves these out: they may be of any size.
    fn fill_unwritten<'b>(&self, mut band: Band<'b>) -> Result<Band<'b>> {
        let is_stored = |chunk: &&ChunkLocation| !matches!(chunk.source, ChunkSource::Fill);
        if !band.chunks.iter().all(is_stored) {
            fill_value(self.read.description.fill_value.as_deref(), self.element_size()?, band.part.out);
            band.chunks.retain(is_stored);
        }
        Ok(band)
    }

    /// Fills a band from its chunks, one coalesced read after another.
    pub fn read_band(&self, band: Band<'_>, scratch: &mut Scratch) -> Result<()> {
        let Some(band) = self.read_direct(band)? else { return Ok(()) };
        let band = self.fill_unwritten(band)?;
        if let Some(shared) = self.shared {
            return self.read_shared(band, shared, scratch);
        }
        let Band { part, chunks } = band;
        let ranges: Vec<(u64, u64)> = chunks.iter().map(|chunk| stored_range(chunk)).collect();
        let Scratch { raw: fetched, decoded, spare, held } = scratch;
        let max_bytes = profile().settings.transfer_bytes.unwrap_or(COALESCE_BYTES);
        // All that the band needs at once, before any of it: two threads that each want more would wait for each other.
        let largest = chunks.iter().map(|chunk| bytes_of(chunk, self.read.description)).max().unwrap_or(0);
        let longest = ranges.iter().map(|(_, length)| *length).max().unwrap_or(0).max(max_bytes);
        held.grow(largest.saturating_add(longest), self.read.cancellation)?;
        // Remote bytes were coalesced when they were requested.
        let max_gap = if self.storage.is_remote() { 0 } else { COALESCE_GAP_BYTES };
        for read in coalesce(&ranges, max_gap, max_bytes) {
            self.read.cancellation.check()?;
            self.fetch(fetched, read.offset, read.length)?;
            for &member in &read.members {
                self.read.cancellation.check()?;
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

    /// Reads a band whose chunks other reads need too.
    fn read_shared(&self, band: Band<'_>, shared: SharedChunks<'_>, scratch: &mut Scratch) -> Result<()> {
        let Band { part, chunks } = band;
        for location in chunks {
            self.read.cancellation.check()?;
            let Some(placement) = self.place(location, &part)? else { continue };
            let mut decoded = || match shared {
                SharedChunks::OfScan(..) if !placement.is_in_short_rows() => self.decoded(location, scratch),
                _ => self.joined(location, scratch),
            };
            let slot = match location.source {
                ChunkSource::Stored { .. } => shared.slot(self.read, location),
                _ => None,
            };
            match slot {
                Some(slot) => placement.copy(slot.chunk(decoded)?.chunk(), part.out)?,
                None => placement.copy(decoded()?.chunk(), part.out)?,
            }
        }
        Ok(())
    }

    /// A chunk in memory of its own, element after element.
    pub fn joined(&self, location: &ChunkLocation, scratch: &mut Scratch) -> Result<ChunkBuffer> {
        let mut decoded = self.decoded(location, scratch)?;
        // Not into the scratch: its memory would be kept in place of the chunk's.
        decoded.join(self.element_size()?, &mut Vec::new())?;
        Ok(decoded)
    }

    /// A chunk in memory of its own, as the filters leave it.
    fn decoded(&self, location: &ChunkLocation, scratch: &mut Scratch) -> Result<ChunkBuffer> {
        let (offset, length) = stored_range(location);
        scratch.held.grow(length.saturating_add(bytes_of(location, self.read.description)), self.read.cancellation)?;
        self.fetch(&mut scratch.raw, offset, length)?;
        let mut decoded = ChunkBuffer::default();
        if let Some(as_stored) = self.decode(location, &scratch.raw, &mut decoded)? {
            decoded.bytes = as_stored.to_vec();
        }
        Ok(decoded)
    }

    /// Reads a band whose chunks have the same layout in the file and in the output, without an intermediate copy. Returns
    /// the band if they have not.
    fn read_direct<'b>(&self, band: Band<'b>) -> Result<Option<Band<'b>>> {
        if !self.read.description.filters.is_empty() {
            return Ok(Some(band));
        }
        let places = band.chunks.iter().map(|chunk| self.direct_place(chunk, &band)).collect::<Option<Vec<_>>>();
        let Some(mut places) = places else { return Ok(Some(band)) };
        places.sort_unstable_by_key(|place| place.target);
        let covered = places.iter().try_fold(0, |end, place| (place.target == end).then_some(end + place.length));
        if covered != Some(band.part.out.len()) || places.iter().any(|place| place.length < MIN_DIRECT_BYTES.min(band.part.out.len())) {
            return Ok(Some(band));
        }
        let mut rest = band.part.out;
        for place in places {
            self.read.cancellation.check()?;
            let (here, later) = rest.split_at_mut_checked(place.length).ok_or_else(|| Error::internal("a run beyond its band"))?;
            self.read.file.session().counters().add_bytes_read(here.len() as u64);
            self.storage.read_exact_at(place.offset, here)?;
            rest = later;
        }
        Ok(None)
    }

    /// The location of a chunk's wanted elements if they are one run of bytes both in the file and in the band.
    fn direct_place(&self, chunk: &ChunkLocation, band: &Band<'_>) -> Option<DirectPlace> {
        let ChunkSource::Stored { offset, length, .. } = chunk.source else { return None };
        let size = self.read.description.datatype.size();
        if chunk.region.elements()?.checked_mul(size)? != length {
            return None;
        }
        // From the fastest dimension on: whole dimensions, then at most one partial one, then single indexes.
        let (mut whole_here, mut whole_there) = (true, true);
        let (mut first_here, mut first_there, mut count) = (0u64, 0u64, 1u64);
        let (mut stride_here, mut stride_there) = (1u64, 1u64);
        let axes = self.read.selection.axes().iter().zip(chunk.region.dimensions()).zip(band.part.region.dimensions());
        for ((axis, (start, extent)), (position, wanted)) in axes.rev() {
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

    /// For few bands with many chunks: decodes a group of chunks in parallel, then fills parts of the output in parallel from
    /// all of them.
    pub fn read_band_in_parallel(&self, band: Band<'_>, threads: usize) -> Result<()> {
        let Some(band) = self.read_direct(band)? else { return Ok(()) };
        let Band { part, chunks } = self.fill_unwritten(band)?;
        // Whether to join the planes of a chunk: decided once, not in each part.
        let chunks = chunks
            .into_iter()
            .map(|chunk| Ok((chunk, self.place(chunk, &part)?.is_some_and(|placement| placement.is_in_short_rows()))))
            .collect::<Result<Vec<_>>>()?;
        let mut parts = part.split(threads);
        let largest = chunks.iter().map(|(chunk, _)| bytes_of(chunk, self.read.description)).max().unwrap_or(0);
        let at_once = usize::try_from(MAX_PENDING_BYTES / largest.max(1)).unwrap_or(usize::MAX);
        // Chunks of one group wait for each other, so that they must not wait for memory.
        let within_memory = usize::try_from(bound() / largest.saturating_mul(2).max(1)).unwrap_or(usize::MAX).max(1);
        let mut held = Held::default();
        held.grow(largest.saturating_mul(2).saturating_mul(within_memory.min(threads) as u64).min(bound()), self.read.cancellation)?;
        let mut buffers: Vec<(Scratch, bool)> = Vec::new();
        buffers.resize_with(chunks.len().min(at_once.clamp(threads, threads * 8)).min(within_memory), Default::default);
        for group in chunks.chunks(buffers.len().max(1)) {
            group.par_iter().zip(&mut buffers).try_for_each(|((location, is_short), (scratch, as_stored))| {
                self.read.cancellation.check()?;
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
        resize(raw, length)?;
        if length == 0 {
            return Ok(());
        }
        self.read.file.session().counters().add_bytes_read(raw.len() as u64);
        self.storage.read_exact_at(offset, raw)
    }

    /// Decodes a chunk into `out`, or returns the stored bytes if there is nothing to decode.
    fn decode<'a>(&self, location: &'a ChunkLocation, raw: &'a [u8], out: &mut ChunkBuffer) -> Result<Option<&'a [u8]>> {
        out.bytes.clear();
        out.arrangement = Arrangement::Elements;
        let size = self.read.description.datatype.size();
        let bytes = location
            .region
            .count
            .iter()
            .try_fold(size, |n, &extent| n.checked_mul(extent))
            .filter(|n| *n <= self.read.file.session().limits().chunk_bytes)
            .and_then(|n| usize::try_from(n).ok())
            .ok_or_else(|| Error::limit_exceeded(format!("a chunk of shape {:?} exceeds the limit", location.region.count)))?;
        match &location.source {
            ChunkSource::Inline(inline) => return Ok(Some(inline)),
            ChunkSource::Fill => {
                let element = usize::try_from(size).map_err(|_| Error::internal("element size"))?;
                resize(&mut out.bytes, bytes)?;
                fill_value(self.read.description.fill_value.as_deref(), element, &mut out.bytes);
            }
            ChunkSource::Stored { offset, .. } => {
                if self.read.description.filters.is_empty() && raw.len() == bytes {
                    return Ok(Some(raw));
                }
                let start = std::time::Instant::now();
                self.read.file.array_file().decode(self.read.dataset, location, raw, out).map_err(|error| error.at_offset(*offset))?;
                self.read.file.session().counters().add_decoded_chunk(start, out.bytes.len() as u64);
                if out.bytes.len() != bytes {
                    return Err(Error::internal(format!("a chunk decoded to {} bytes, not {bytes}", out.bytes.len())));
                }
            }
        }
        Ok(None)
    }

    /// Where the elements of a chunk go in a part of the output; `None` if none of them are in it.
    fn place(&self, chunk: &ChunkLocation, part: &OutputPart<'_>) -> Result<Option<Placement>> {
        Placement::new(&chunk.region, self.read.selection, &part.region, self.element_size()?)
    }

    fn element_size(&self) -> Result<usize> {
        usize::try_from(self.read.description.datatype.size()).map_err(|_| Error::internal("element size"))
    }

    /// A decoded chunk in the arrangement from which copying is fastest.
    fn arranged<'a>(&self, placement: &Placement, decoded: &'a mut ChunkBuffer, spare: &mut Vec<u8>) -> Result<DecodedChunk<'a>> {
        if placement.is_in_short_rows() {
            decoded.join(self.element_size()?, spare)?;
        }
        Ok(decoded.chunk())
    }
}

pub(super) fn stored_range(location: &ChunkLocation) -> (u64, u64) {
    match &location.source {
        ChunkSource::Stored { offset, length, .. } => (*offset, *length),
        _ => (0, 0),
    }
}

fn raw_part(raw: &[u8], offset: u64, length: u64) -> Result<&[u8]> {
    let range = usize::try_from(offset).ok().zip(usize::try_from(length).ok()).and_then(|(start, length)| Some(start..start.checked_add(length)?));
    range.and_then(|r| raw.get(r)).ok_or_else(|| Error::internal("a chunk outside of its coalesced read"))
}
