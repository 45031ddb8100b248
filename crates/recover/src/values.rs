//! Which values can be saved: every chunk is read and decoded.

use std::collections::{HashMap, HashSet};

use hyperslab_array::{Cancellation, ChunkBuffer, ErrorKind, Region, Result};
use hyperslab_formats::hdf5::recovered::RecoveredFile;
use hyperslab_formats::hdf5::survey::{Extent, Survey, SurveyedChunk, SurveyedObject};
use hyperslab_formats::{ArrayFile, ChunkLocation, ChunkSource, Dataset, Object, ObjectId, StorageLayout};
use hyperslab_reader::Session;
use rayon::prelude::*;

use crate::certainty;
use crate::report::{Certainty, LostPart, RecoveredValues};

/// Boxes of elements that a report lists.
const MAX_LISTED: usize = 10_000;
/// Zeros of this length that begin at a multiple of it may be a block that was lost.
const BLOCK_BYTES: u64 = 4096;
/// Bytes of contiguous values that are read at once: a multiple of [`BLOCK_BYTES`].
const READ_BYTES: u64 = 4 << 20;
/// Chunks that are decoded between two looks at the progress.
const BATCH: usize = 256;

/// Chunks that are lost, by address of the dataset.
pub(crate) type LostChunks = HashMap<u64, HashSet<Vec<u64>>>;

/// Looks at all values of a survey.
pub(crate) struct ValueCheck<'a> {
    pub survey: &'a Survey,
    pub file: &'a RecoveredFile,
    pub session: &'a Session,
    pub cancellation: &'a Cancellation,
    /// Values of other objects in the order of their places, to find those that share bytes.
    pub shared: SharedBytes,
    pub lost: Vec<LostPart>,
}

/// Ranges of the file that are used twice.
pub(crate) struct SharedBytes(Vec<(u64, u64)>);

impl SharedBytes {
    /// Those of these structures.
    pub fn of(extents: &[Extent]) -> Self {
        let mut ranges: Vec<(u64, u64)> = extents.iter().filter(|extent| extent.length > 0).map(|extent| (extent.offset, extent.end())).collect();
        ranges.sort_unstable();
        let (mut shared, mut end): (Vec<(u64, u64)>, u64) = (Vec::new(), 0);
        for (start, after) in ranges {
            if start < end {
                shared.push((start, after.min(end)));
            }
            end = end.max(after);
        }
        Self(shared)
    }
    /// Whether a range has bytes that are used twice.
    fn touches(&self, start: u64, end: u64) -> bool {
        let before = self.0.partition_point(|(first, _)| *first < end);
        self.0.get(..before).unwrap_or_default().iter().rev().take(64).any(|(_, after)| *after > start)
    }
}

/// What was found of a chunk.
enum Outcome {
    Saved(Certainty),
    Lost(String),
}

impl ValueCheck<'_> {
    /// What can be saved of a dataset's values, and which of its chunks are lost.
    pub fn dataset(&mut self, object: &SurveyedObject, dataset: &Dataset, bad: &[(u64, u64)]) -> Result<(RecoveredValues, HashSet<Vec<u64>>)> {
        let mut values = RecoveredValues {
            certainty: Certainty::Certain,
            has_all_chunks: object.has_all_chunks,
            found: 0,
            saved: 0,
            certain: 0,
            plausible: 0,
            guessed: 0,
            saved_bytes: 0,
            lost_bytes: 0,
            lost: Vec::new(),
            doubtful: Vec::new(),
            lost_heap_values: 0,
        };
        let mut lost = HashSet::new();
        match dataset.storage {
            StorageLayout::Chunked => self.chunks(object, dataset, bad, &mut values, &mut lost)?,
            StorageLayout::Contiguous => self.contiguous(object, dataset, bad, &mut values)?,
            _ => {
                let certainty = certainty::of_plain(object, dataset);
                (values.found, values.saved) = (1, 1);
                values.saved_bytes = dataset.value_bytes().unwrap_or(0);
                values.count(certainty);
            }
        }
        // What is not listed must not be taken for right.
        if values.lost.len() > MAX_LISTED || values.doubtful.len() > MAX_LISTED {
            values.certainty = Certainty::Guessed;
        }
        values.lost.truncate(MAX_LISTED);
        values.doubtful.truncate(MAX_LISTED);
        Ok((values, lost))
    }

    /// What a file that was not closed says of its values may be out of date, whatever its checksums say: other values may have taken
    /// their place since.
    fn closed(&self, certainty: Certainty) -> Certainty {
        let is_stale = self.survey.stated_end.is_none_or(|end| end < self.survey.file_bytes);
        if self.survey.is_open_for_writing || is_stale { certainty.min(Certainty::Plausible) } else { certainty }
    }

    fn chunks(
        &mut self,
        object: &SurveyedObject,
        dataset: &Dataset,
        bad: &[(u64, u64)],
        values: &mut RecoveredValues,
        lost: &mut HashSet<Vec<u64>>,
    ) -> Result<()> {
        let Some(shape) = &dataset.chunk_shape else { return Ok(()) };
        let extent = dataset.dataspace.shape();
        let whole = |chunk: &SurveyedChunk| clipped(&chunk.position, shape, extent);
        let element = dataset.datatype.size();
        let bytes_of = |region: &Region| region.count.iter().fold(element, |n, count| n.saturating_mul(*count));
        values.found = object.chunks.len() as u64;
        let mut seen: HashSet<&[u64]> = HashSet::new();
        for batch in object.chunks.chunks(BATCH) {
            self.cancellation.check()?;
            let check = |buffers: &mut (Vec<u8>, ChunkBuffer), chunk: &SurveyedChunk| -> Result<Outcome> {
                self.cancellation.check()?;
                self.chunk(object, dataset, shape, chunk, bad, buffers)
            };
            let outcomes: Vec<Outcome> =
                self.session.compute(|| batch.par_iter().map_init(|| (Vec::new(), ChunkBuffer::default()), check).collect::<Result<_>>())?;
            for (chunk, outcome) in batch.iter().zip(outcomes) {
                let region = whole(chunk);
                let outcome = match (region.is_some(), seen.insert(&chunk.position)) {
                    (false, _) => continue,
                    (true, true) => outcome,
                    (true, false) => Outcome::Lost("the chunk is listed twice".to_owned()),
                };
                let Some(region) = region else { continue };
                match outcome {
                    Outcome::Saved(certainty) => {
                        values.saved += 1;
                        values.saved_bytes = values.saved_bytes.saturating_add(bytes_of(&region));
                        if certainty == Certainty::Guessed {
                            values.doubtful.push((region.start, region.count));
                        }
                        values.count(certainty);
                    }
                    Outcome::Lost(reason) => {
                        values.lost_bytes = values.lost_bytes.saturating_add(bytes_of(&region));
                        self.lost.push(LostPart { what: "chunk", path: Some(object.path.clone()), name: None, offset: Some(chunk.offset), reason });
                        values.lost.push((region.start, region.count));
                        lost.insert(chunk.position.clone());
                    }
                }
            }
        }
        if !object.has_all_chunks {
            unknown_chunks(object, dataset, shape, values);
        }
        Ok(())
    }

    fn chunk(
        &self,
        object: &SurveyedObject,
        dataset: &Dataset,
        shape: &[u64],
        chunk: &SurveyedChunk,
        bad: &[(u64, u64)],
        (raw, out): &mut (Vec<u8>, ChunkBuffer),
    ) -> Result<Outcome> {
        let Some(end) = chunk.offset.checked_add(chunk.length).filter(|end| *end <= self.survey.file_bytes) else {
            return Ok(Outcome::Lost(format!("its {} bytes end after the end of the file", chunk.length)));
        };
        if bad.iter().any(|(start, length)| *start < end && start + length > chunk.offset) {
            return Ok(Outcome::Lost("the operating system cannot read it".to_owned()));
        }
        if chunk.length > self.session.limits().chunk_bytes {
            return Ok(Outcome::Lost(format!("its {} bytes exceed the limit chunk_bytes", chunk.length)));
        }
        raw.clear();
        raw.resize(usize::try_from(chunk.length).unwrap_or(0), 0);
        self.file.storage().read_exact_at(chunk.offset, raw)?;
        let start = chunk.position.iter().zip(shape).map(|(number, extent)| number.saturating_mul(*extent)).collect();
        let source = ChunkSource::Stored { offset: chunk.offset, length: chunk.length, filter_mask: chunk.filter_mask };
        let location = ChunkLocation { region: Region { start, count: shape.to_vec() }, source };
        match self.file.decode(ObjectId(object.address), &location, raw, out) {
            Ok(()) => {}
            // It cannot be decoded here, and is copied as it is.
            Err(error) if error.kind() == ErrorKind::Unsupported => return Ok(Outcome::Saved(Certainty::Guessed)),
            Err(error) => return Ok(Outcome::Lost(format!("it cannot be decoded: {}", error.message()))),
        }
        let certainty = self.closed(certainty::of_chunk(object, dataset, chunk));
        // Zeros have the right fletcher32 checksum, which is zero.
        let is_doubtful = has_zero_block(chunk.offset, raw) || (certainty != Certainty::Certain && self.shared.touches(chunk.offset, end));
        Ok(Outcome::Saved(if is_doubtful { Certainty::Guessed } else { certainty }))
    }

    fn contiguous(&mut self, object: &SurveyedObject, dataset: &Dataset, bad: &[(u64, u64)], values: &mut RecoveredValues) -> Result<()> {
        let Some((offset, length)) = object.contiguous else {
            values.count(certainty::of_plain(object, dataset));
            return Ok(());
        };
        let needed = dataset.value_bytes().unwrap_or(u64::MAX);
        let end = offset.saturating_add(length.min(needed));
        let there = end.min(self.survey.file_bytes).max(offset);
        let certainty = certainty::of_plain(object, dataset);
        values.found = 1;
        // The rest of an element that the file has in part is lost, too.
        let element = dataset.datatype.size().max(1);
        let lost_from = (there - offset) / element;
        let total = needed / element;
        if lost_from < total {
            let reason = format!("{} of {needed} bytes are after the end of the file", offset.saturating_add(needed) - there);
            self.lost.push(LostPart { what: "values", path: Some(object.path.clone()), name: None, offset: Some(there), reason });
            values.lost.extend(boxes(dataset, lost_from, total));
            values.lost_bytes = (total - lost_from).saturating_mul(element);
        }
        for (start, length) in bad.iter().filter(|(start, length)| *start < there && start + length > offset) {
            let (first, after) = ((start.max(&offset) - offset) / element, (start + length).min(there).saturating_sub(offset).div_ceil(element));
            self.lost.push(LostPart {
                what: "values",
                path: Some(object.path.clone()),
                name: None,
                offset: Some(*start),
                reason: format!("{length} bytes cannot be read; zeros took their place"),
            });
            values.lost.extend(boxes(dataset, first, after));
            values.lost_bytes = values.lost_bytes.saturating_add((after - first).saturating_mul(element));
        }
        let (mut at, mut block) = (offset, Vec::new());
        let is_shared = self.shared.touches(offset, there);
        while at < there {
            self.cancellation.check()?;
            let count = (READ_BYTES - at % BLOCK_BYTES).min(there - at);
            block.resize(usize::try_from(count).unwrap_or(0), 0);
            self.file.storage().read_exact_at(at, &mut block)?;
            for (start, length) in zero_blocks(at, &block) {
                let (first, after) = ((start - offset) / element, (start + length - offset).div_ceil(element));
                values.doubtful.extend(boxes(dataset, first, after.min(total)));
            }
            at += count;
        }
        if is_shared {
            values.doubtful = boxes(dataset, 0, lost_from);
        }
        values.saved = u64::from(there > offset);
        values.saved_bytes =
            lost_from.saturating_mul(element).saturating_sub(values.lost_bytes.saturating_sub((total - lost_from.min(total)).saturating_mul(element)));
        if there > offset {
            values.count(if is_shared { Certainty::Guessed } else { certainty });
        }
        Ok(())
    }
}

impl RecoveredValues {
    /// Takes all values of a dataset of this shape as lost.
    pub(crate) fn lose_all(&mut self, shape: &[u64]) {
        self.lost_bytes = self.lost_bytes.saturating_add(std::mem::take(&mut self.saved_bytes));
        (self.saved, self.certain, self.plausible, self.guessed) = (0, 0, 0, 0);
        self.lost = vec![(vec![0; shape.len()], shape.to_vec())];
        self.doubtful.clear();
    }

    /// Counts a saved chunk.
    fn count(&mut self, certainty: Certainty) {
        match certainty {
            Certainty::Certain => self.certain += 1,
            Certainty::Plausible => self.plausible += 1,
            Certainty::Guessed => self.guessed += 1,
        }
        // What is guessed is listed as doubtful.
        if certainty == Certainty::Plausible {
            self.certainty = Certainty::Plausible;
        }
    }
}

/// The elements of a chunk that lie in the dataset; `None` if there are none.
fn clipped(position: &[u64], shape: &[u64], extent: &[u64]) -> Option<Region> {
    let (mut start, mut count) = (Vec::new(), Vec::new());
    for ((number, chunk), n) in position.iter().zip(shape).zip(extent) {
        let first = number.checked_mul(*chunk).filter(|first| first < n)?;
        start.push(first);
        count.push((*chunk).min(n - first));
    }
    Some(Region { start, count })
}

/// Chunks about which nothing is known, because a part of the index is lost, if they are few enough to be listed.
fn unknown_chunks(object: &SurveyedObject, dataset: &Dataset, shape: &[u64], values: &mut RecoveredValues) {
    let extent = dataset.dataspace.shape();
    let known: HashSet<&[u64]> = object.chunks.iter().map(|chunk| chunk.position.as_slice()).collect();
    let counts: Vec<u64> = extent.iter().zip(shape).map(|(n, chunk)| n.div_ceil((*chunk).max(1))).collect();
    let total = counts.iter().fold(1u64, |n, count| n.saturating_mul(*count));
    let element = dataset.datatype.size();
    let bytes = shape.iter().fold(element, |n, extent| n.saturating_mul(*extent));
    values.lost_bytes = values.lost_bytes.saturating_add(total.saturating_sub(known.len() as u64).saturating_mul(bytes));
    let mut position = vec![0u64; counts.len()];
    for _ in 0..total.min(1 << 24) {
        if values.lost.len() > MAX_LISTED {
            return;
        }
        if !known.contains(position.as_slice())
            && let Some(region) = clipped(&position, shape, extent)
        {
            values.lost.push((region.start, region.count));
        }
        for (number, count) in position.iter_mut().zip(&counts).rev() {
            *number += 1;
            if *number < *count {
                break;
            }
            *number = 0;
        }
    }
}

/// Whether `bytes`, which lie at `offset` of the file, have a whole block of zeros.
fn has_zero_block(offset: u64, bytes: &[u8]) -> bool {
    !zero_blocks(offset, bytes).is_empty()
}

/// The blocks of zeros in `bytes`, which lie at `offset` of the file. A block that the bytes have in part counts if there is another
/// next to it, or if all of the bytes are zeros.
fn zero_blocks(offset: u64, bytes: &[u8]) -> Vec<(u64, u64)> {
    let mut blocks: Vec<(u64, u64)> = Vec::new();
    let mut at = 0usize;
    while at < bytes.len() {
        let place = offset + at as u64;
        let count = usize::try_from(BLOCK_BYTES - place % BLOCK_BYTES).unwrap_or(usize::MAX).min(bytes.len() - at);
        let block = bytes.get(at..at + count).unwrap_or_default();
        if block.iter().all(|byte| *byte == 0) {
            match blocks.last_mut() {
                Some((start, length)) if *start + *length == place => *length += count as u64,
                _ => blocks.push((place, count as u64)),
            }
        }
        at += count;
    }
    blocks
}

/// The elements from number `first` to `after` as boxes: of one run of rows, or of parts of rows.
fn boxes(dataset: &Dataset, first: u64, after: u64) -> Vec<(Vec<u64>, Vec<u64>)> {
    let shape = dataset.dataspace.shape();
    let mut found = Vec::new();
    if shape.is_empty() {
        return vec![(Vec::new(), Vec::new())];
    }
    let mut at = first;
    while at < after && found.len() <= MAX_LISTED {
        // The largest box that begins here: as many dimensions as are whole.
        let (mut below, mut axis) = (1u64, shape.len() - 1);
        while axis > 0 {
            let larger = below.saturating_mul(shape.get(axis).copied().unwrap_or(1));
            if larger == 0 || !at.is_multiple_of(larger) || at.saturating_add(larger) > after {
                break;
            }
            below = larger;
            axis -= 1;
        }
        let extent = shape.get(axis).copied().unwrap_or(1).max(1);
        let index = at / below % extent;
        let rows = ((after - at) / below).min(extent - index).max(1);
        let (mut start, mut rest) = (vec![0; shape.len()], at);
        for (place, extent) in start.iter_mut().zip(shape).rev() {
            let extent = (*extent).max(1);
            (*place, rest) = (rest % extent, rest / extent);
        }
        let count = (0..shape.len()).map(|dimension| match dimension.cmp(&axis) {
            std::cmp::Ordering::Less => 1,
            std::cmp::Ordering::Equal => rows,
            std::cmp::Ordering::Greater => shape.get(dimension).copied().unwrap_or(1),
        });
        found.push((start, count.collect()));
        at = at.saturating_add(rows.saturating_mul(below));
    }
    found
}

/// The objects that are datasets.
pub(crate) fn datasets(survey: &Survey) -> impl Iterator<Item = (&SurveyedObject, &Dataset)> {
    survey.objects.iter().filter_map(|object| match &object.object {
        Some(Object::Dataset(dataset)) => Some((object, dataset.as_ref())),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeros_count_by_aligned_blocks() {
        let mut bytes = vec![0u8; 3 * 4096];
        assert_eq!(zero_blocks(4096, &bytes), [(4096, 3 * 4096)]);
        bytes[5000] = 1;
        assert_eq!(zero_blocks(4096, &bytes), [(4096, 4096), (3 * 4096, 4096)]);
        bytes[0] = 1;
        bytes[3 * 4096 - 1] = 1;
        assert!(zero_blocks(4096, &bytes).is_empty());
        assert_eq!(zero_blocks(4000, &[0; 50]), [(4000, 50)]);
    }
}
