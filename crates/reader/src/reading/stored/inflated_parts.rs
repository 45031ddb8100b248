//! Inflated parts: reads that need little of a large deflated chunk fetch and inflate only what lies between restart points. They write
//! no chunk to a cache, and count what they inflate, so that a chunk that is asked for again and again is decoded once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use hyperslab_array::{Arrangement, Axis, Error, ErrorKind, Region, Result, Selection, scatter};
use hyperslab_formats::filter::inflate_part;
use hyperslab_formats::{ChunkLocation, ChunkSource};
use hyperslab_storage::{RestartPoints, RestartStream, Storage};
use rayon::prelude::*;

use super::chunk::{MIN_PARALLEL_BYTES, bytes_of};
use super::shared_chunks::key;
use crate::kept::buffer_pool::zeros;
use crate::kept::chunk_cache::{ChunkCache, ChunkKey};
use crate::kept::decoding_memory::Held;
use crate::reading::dataset_read::{DatasetRead, Keep};

/// Smaller chunks are not looked up.
const MIN_CHUNK_BYTES: u64 = 64 << 10;
/// Runs of wanted bytes in a chunk: more are not kept in memory, so that the whole chunk is decoded.
const MAX_RUNS: u64 = 1 << 18;
/// If more than this fraction (1/2) of a chunk has to be inflated, the whole chunk is decoded, which also finds damage anywhere in it.
const MAX_SHARE: u64 = 2;
/// The windows of a scan need most of a chunk together, as a rule: only if one needs less than this fraction (1/8) it is read in part.
const MAX_SCAN_SHARE: u64 = 8;
/// Chunks whose inflated bytes are counted.
const MAX_COUNTED: usize = 1 << 14;

/// Fills the output of a read of one chunk by decoding all of it.
pub(super) type Whole<'a> = &'a (dyn Fn(DatasetRead<'_>, ChunkLocation, &mut [u8]) -> Result<()> + Sync);

/// How many bytes of chunks were inflated in parts, by dataset and number of the chunk.
#[derive(Default)]
struct InflatedSoFar(Mutex<HashMap<(u64, u64), u64>>);

impl InflatedSoFar {
    /// Adds `bytes` to a chunk if that is at most `max_bytes` in all.
    fn pays(&self, chunk: (u64, u64), bytes: u64, max_bytes: u64) -> bool {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if counts.len() >= MAX_COUNTED {
            counts.clear();
        }
        let count = counts.entry(chunk).or_default();
        let all = count.saturating_add(bytes);
        if all <= max_bytes {
            *count = all;
        }
        all <= max_bytes
    }
}

/// Elements of a chunk that follow each other there and among the wanted ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ElementRun {
    /// First element in the chunk.
    source: u64,
    /// First element among the wanted ones of the chunk.
    target: u64,
    count: u64,
}

/// A part of a chunk that is read.
pub(super) struct InflatedPart {
    location: ChunkLocation,
    arrangement: Arrangement,
    points: Arc<RestartPoints>,
    stream: Arc<RestartStream>,
    runs: Vec<ElementRun>,
    /// Segments between points that are needed, with the end of the output that is needed in each.
    segments: Vec<(usize, u64)>,
    /// Positions in the selection.
    positions: Region,
    /// Wanted elements.
    elements: u64,
    /// Bytes that are inflated.
    inflated: u64,
}

/// Removes from `chunks` those that have restart points and of which the read needs a small part.
///
/// # Errors
/// What is wrong with a chunk index that the options name.
pub(super) fn take_parts(read: DatasetRead<'_>, chunks: &mut Vec<ChunkLocation>) -> Result<Vec<InflatedPart>> {
    let DatasetRead { file, description, .. } = read;
    let is_large = |chunk: &ChunkLocation| bytes_of(chunk, description) >= MIN_CHUNK_BYTES && matches!(chunk.source, ChunkSource::Stored { .. });
    if description.filters.is_empty() || !chunks.iter().any(is_large) {
        return Ok(Vec::new());
    }
    let Some(points) = file.restart_points()? else { return Ok(Vec::new()) };
    let mut parts = Vec::new();
    let mut others = Vec::with_capacity(chunks.len());
    for chunk in chunks.drain(..) {
        read.cancellation.check()?;
        match part_of(read, &points, &chunk)? {
            Some(part) => parts.push(part),
            None => others.push(chunk),
        }
    }
    *chunks = others;
    Ok(parts)
}

/// The part of a chunk that is read; `None` if it has no restart points, or it is decoded already, or decoding all of it costs little more.
fn part_of(read: DatasetRead<'_>, points: &Arc<RestartPoints>, chunk: &ChunkLocation) -> Result<Option<InflatedPart>> {
    let DatasetRead { file, dataset, description, selection, keep, .. } = read;
    let ChunkSource::Stored { offset, length, .. } = chunk.source else { return Ok(None) };
    let bytes = bytes_of(chunk, description);
    if bytes > file.session().limits().chunk_bytes {
        return Ok(None);
    }
    let Some(stream) = points.stream(offset, length).filter(|stream| stream.output_bytes == bytes) else { return Ok(None) };
    let Some(arrangement) = file.array_file().deflated(dataset, chunk)? else { return Ok(None) };
    let Some(key) = key(read, chunk) else { return Ok(None) };
    let in_scan = |cache: &ChunkCache| cache.decoded(ChunkKey { opening: file.scan_opening(), ..key }).is_some();
    if file.scan_chunks().is_some_and(in_scan) || file.session().chunk_cache().is_some_and(|cache| cache.decoded(key).is_some()) {
        return Ok(None);
    }
    let Some(runs) = element_runs(selection, &chunk.region) else { return Ok(None) };
    let size = description.datatype.size();
    let Some(segments) = segments(&runs, &stream, arrangement, size) else { return Ok(None) };
    let inflated = segments.iter().map(|(index, end)| end.saturating_sub(stream.output_of(*index).0)).sum::<u64>();
    let max_bytes = match keep {
        Keep::Nothing if file.scan_chunks().is_some() => bytes / MAX_SCAN_SHARE,
        Keep::Chunks | Keep::FewChunks if bytes <= file.session().max_kept_chunk_bytes() => bytes,
        _ => u64::MAX,
    };
    let so_far = || file.kept::<InflatedSoFar>().pays((dataset.0, key.number), inflated, max_bytes);
    if inflated > bytes / MAX_SHARE || (max_bytes < u64::MAX && !so_far()) {
        return Ok(None);
    }
    let (start, count) = selection
        .axes()
        .iter()
        .zip(chunk.region.dimensions())
        .map(|(axis, (start, extent))| axis.positions_within(start, start.saturating_add(extent)))
        .unzip();
    let elements = runs.iter().map(|run| run.count).sum();
    let (location, points) = (chunk.clone(), points.clone());
    Ok(Some(InflatedPart { location, arrangement, points, stream, runs, segments, positions: Region { start, count }, elements, inflated }))
}

/// The wanted elements of a chunk in increasing order; `None` if they are none, or too many runs.
fn element_runs(selection: &Selection, region: &Region) -> Option<Vec<ElementRun>> {
    let mut axes = selection.axes().iter().zip(region.dimensions()).rev();
    let (fastest, (start, extent)) = axes.next()?;
    let (first, mut wanted) = fastest.positions_within(start, start.saturating_add(extent));
    // Where indexes follow each other they are one run.
    if wanted > MAX_RUNS && !matches!(fastest, Axis::Range { step: 1, .. }) {
        return None;
    }
    let runs = fastest.runs_within(start, start.saturating_add(extent));
    let mut runs: Vec<ElementRun> = runs.iter().map(|run| ElementRun { source: run.source, target: run.target - first, count: run.count }).collect();
    let mut stride = extent;
    // From the second fastest dimension on, the runs of an index are the runs of the faster dimensions, shifted.
    for (axis, (start, extent)) in axes {
        let (first, count) = axis.positions_within(start, start.saturating_add(extent));
        if count.checked_mul(runs.len() as u64)? > MAX_RUNS {
            return None;
        }
        let mut all: Vec<ElementRun> = Vec::new();
        for position in 0..count {
            let index = axis.index(first + position)?.checked_sub(start)?;
            for run in &runs {
                let run = ElementRun { source: run.source + index * stride, target: run.target + position * wanted, count: run.count };
                match all.last_mut() {
                    Some(last) if last.source + last.count == run.source => last.count += run.count,
                    _ => all.push(run),
                }
            }
        }
        (runs, wanted, stride) = (all, wanted.checked_mul(count)?, stride.checked_mul(extent)?);
    }
    (!runs.is_empty()).then_some(runs)
}

/// The wanted bytes of the output in increasing order: the run and the plane that they belong to, and where they are.
fn byte_ranges(runs: &[ElementRun], output_bytes: u64, arrangement: Arrangement, size: u64) -> impl Iterator<Item = (ElementRun, u64, u64, u64)> + '_ {
    let (planes, width) = match arrangement {
        Arrangement::Elements => (1, size),
        Arrangement::Planes => (size, 1),
    };
    let plane_bytes = output_bytes / planes.max(1);
    (0..planes).flat_map(move |plane| {
        runs.iter().map(move |run| {
            let start = plane * plane_bytes + run.source * width;
            (*run, plane, start, start + run.count * width)
        })
    })
}

/// The segments that have wanted bytes, and the end of these in each; `None` if there are too many ranges of bytes.
fn segments(runs: &[ElementRun], stream: &RestartStream, arrangement: Arrangement, size: u64) -> Option<Vec<(usize, u64)>> {
    let planes = if arrangement == Arrangement::Planes { size } else { 1 };
    if planes.checked_mul(runs.len() as u64)? > MAX_RUNS {
        return None;
    }
    let mut segments: Vec<(usize, u64)> = Vec::new();
    for (_, _, mut start, end) in byte_ranges(runs, stream.output_bytes, arrangement, size) {
        if end > stream.output_bytes {
            return None;
        }
        while start < end {
            // Ranges increase, so that the segment is the last one or follows.
            let index = match segments.last() {
                Some((index, _)) if start < stream.output_of(*index).1 => *index,
                _ => stream.index_at(start),
            };
            let here = end.min(stream.output_of(index).1);
            match segments.last_mut() {
                Some((last, until)) if *last == index => *until = here,
                _ => segments.push((index, here)),
            }
            start = here;
        }
    }
    Some(segments)
}

impl InflatedPart {
    /// Ranges of the file with the needed segments; those that follow each other are one. Also which segments each has.
    fn ranges(&self) -> Vec<(u64, u64, std::ops::Range<usize>)> {
        let ChunkSource::Stored { offset, .. } = self.location.source else { return Vec::new() };
        let mut ranges: Vec<(u64, u64, std::ops::Range<usize>)> = Vec::new();
        for (position, (index, _)) in self.segments.iter().enumerate() {
            let (start, end) = self.stream.bytes_of(*index);
            match ranges.last_mut() {
                // Segments that follow each other may share a byte.
                Some((before, length, members)) if offset + start <= *before + *length => {
                    *length = offset + end - *before;
                    members.end = position + 1;
                }
                _ => ranges.push((offset + start, end - start, position..position + 1)),
            }
        }
        ranges
    }

    /// Fetches and inflates what is needed, and returns the wanted elements, row-major.
    fn values(&self, read: DatasetRead<'_>, storage: &dyn Storage) -> Result<Vec<u8>> {
        let size = read.description.datatype.size();
        let memory = |bytes: u64| usize::try_from(bytes).map_err(|_| Error::limit_exceeded("a chunk exceeds memory"));
        let mut values = zeros(memory(self.elements.saturating_mul(size))?)?;
        let ranges = self.ranges();
        let longest = ranges.iter().map(|(_, length, _)| *length).max().unwrap_or(0);
        let largest = self.segments.iter().map(|(index, end)| end - self.stream.output_of(*index).0).max().unwrap_or(0);
        let mut held = Held::default();
        held.grow(longest.saturating_add(largest).saturating_add(values.len() as u64), read.cancellation)?;
        let mut wanted = byte_ranges(&self.runs, self.stream.output_bytes, self.arrangement, size).peekable();
        let mut output = Vec::new();
        for (offset, length, members) in ranges {
            read.cancellation.check()?;
            let mut raw = zeros(memory(length)?)?;
            read.file.session().counters().add_bytes_read(length);
            storage.read_exact_at(offset, &mut raw)?;
            for (index, end) in self.segments.get(members).unwrap_or_default() {
                let (start, next) = self.stream.output_of(*index);
                output.resize(memory(end - start)?, 0);
                self.inflate(*index, offset, &raw, &mut output)?;
                // Copies what the segment has of the wanted ranges: the last of them may go on in the next one.
                while let Some((run, plane, from, until)) = wanted.peek().copied().filter(|range| range.2 < next) {
                    let place = Wanted { run, plane, from, until, size };
                    place.copy(self.arrangement, (start, &output), &mut values).ok_or_else(|| Error::internal("a restart point outside of its chunk"))?;
                    if until > next {
                        break;
                    }
                    wanted.next();
                }
            }
        }
        if wanted.next().is_some() {
            return Err(Error::internal("wanted bytes that no segment has"));
        }
        Ok(values)
    }

    /// Inflates the beginning of a segment; `raw` are bytes of the file from `offset` on.
    fn inflate(&self, index: usize, offset: u64, raw: &[u8], output: &mut [u8]) -> Result<()> {
        let outside = || Error::internal("a segment outside of what was fetched");
        let (ChunkSource::Stored { offset: chunk, .. }, Some(point)) = (&self.location.source, self.stream.points.get(index)) else { return Err(outside()) };
        let (start, end) = self.stream.bytes_of(index);
        let place = |byte: u64| (chunk + byte).checked_sub(offset).and_then(|byte| usize::try_from(byte).ok());
        let raw = place(start).zip(place(end)).and_then(|(start, end)| raw.get(start..end)).ok_or_else(outside)?;
        if crc32fast::hash(raw) != point.checksum {
            return Err(Error::corrupt("the compressed bytes are not those of which restart points were made"));
        }
        let bit = u8::try_from(point.bit % 8).map_err(|_| outside())?;
        inflate_part(raw, bit, &self.points.window(point)?, point.window_bytes, output)
    }

    /// The wanted elements. If the points do not fit the chunk, which is then decoded whole, a notice says so.
    fn elements(&self, read: DatasetRead<'_>, requested: &dyn Storage, whole: Whole<'_>) -> Result<Vec<u8>> {
        let start = std::time::Instant::now();
        match self.values(read, requested) {
            Ok(values) => {
                let skipped = self.stream.output_bytes.saturating_sub(self.inflated);
                read.file.session().counters().add_inflated_part(start, self.inflated, skipped);
                Ok(values)
            }
            Err(error) if error.kind() == ErrorKind::Corrupt => {
                self.points.report(error.message());
                let axes = read.selection.axes().iter().zip(self.positions.dimensions()).map(|(axis, (first, count))| axis.sub_axis(first, count)).collect();
                let selection = &Selection::new(axes, read.description.dataspace.shape())?;
                let bytes = self.elements.saturating_mul(read.description.datatype.size());
                let mut values = zeros(usize::try_from(bytes).map_err(|_| Error::limit_exceeded("a chunk exceeds memory"))?)?;
                whole(DatasetRead { selection, keep: Keep::Nothing, ..read }, self.location.clone(), &mut values)?;
                Ok(values)
            }
            Err(error) => Err(error),
        }
    }
}

/// A range of wanted bytes of the output.
struct Wanted {
    run: ElementRun,
    plane: u64,
    from: u64,
    until: u64,
    /// Bytes of an element.
    size: u64,
}

impl Wanted {
    /// Copies what `output`, which begins at `start`, has of the range into the wanted elements.
    fn copy(&self, arrangement: Arrangement, (start, output): (u64, &[u8]), values: &mut [u8]) -> Option<()> {
        let from = self.from.max(start);
        let until = self.until.min(start + output.len() as u64);
        let place = |byte: u64| usize::try_from(byte).ok();
        let bytes = output.get(place(from.checked_sub(start)?)?..place(until.checked_sub(start)?)?)?;
        let done = from - self.from;
        match arrangement {
            Arrangement::Elements => {
                let first = place(self.run.target.checked_mul(self.size)?.checked_add(done)?)?;
                values.get_mut(first..first.checked_add(bytes.len())?)?.copy_from_slice(bytes);
            }
            Arrangement::Planes => {
                let first = place((self.run.target + done).checked_mul(self.size)?.checked_add(self.plane)?)?;
                let targets = values.get_mut(first..)?.iter_mut().step_by(place(self.size)?.max(1));
                for (to, from) in targets.zip(bytes) {
                    *to = *from;
                }
            }
        }
        Some(())
    }
}

/// Fills the places of parts in `out`; `whole` reads a chunk whose points do not fit.
pub(super) fn fill_parts(read: DatasetRead<'_>, storage: &Arc<dyn Storage>, parts: &[InflatedPart], whole: Whole<'_>, out: &mut [u8]) -> Result<()> {
    if parts.is_empty() {
        return Ok(());
    }
    let DatasetRead { file, description, selection, cancellation, .. } = read;
    let requested = match storage.is_remote() {
        true => {
            let ranges: Vec<(u64, u64)> = parts.iter().flat_map(|part| part.ranges()).map(|(offset, length, _)| (offset, length)).collect();
            storage.fetched(&ranges, cancellation)?
        }
        false => None,
    };
    let requested = requested.as_ref().unwrap_or(storage);
    let size = usize::try_from(description.datatype.size()).map_err(|_| Error::internal("element size"))?;
    let shape = selection.shape();
    let positions = Selection::all(&shape);
    let target = Region::all(&shape);
    let mut put = |part: &InflatedPart, values: &[u8]| scatter(values.into(), &part.positions, &positions, out, &target, size);
    let work = parts.iter().map(|part| part.inflated).sum::<u64>();
    let threads = file.session().thread_count()?;
    if parts.len() == 1 || work < MIN_PARALLEL_BYTES || threads == 1 {
        return parts.iter().try_for_each(|part| put(part, &part.elements(read, requested.as_ref(), whole)?));
    }
    // A few at a time, so that wanted elements are not in memory twice.
    for group in parts.chunks(threads.saturating_mul(4)) {
        let values: Vec<Vec<u8>> = file.session().compute(|| group.par_iter().map(|part| part.elements(read, requested.as_ref(), whole)).collect())?;
        group.iter().zip(&values).try_for_each(|(part, values)| put(part, values))?;
    }
    Ok(())
}
