//! Writes elements of a dataset: contiguously, into chunks, or into memory until the chunk shape is chosen.

use std::borrow::Cow;
use std::collections::BTreeMap;

use hyperslab_array::{Dataspace, Error, Result};
use hyperslab_reader::Session;
use rayon::prelude::*;

use super::fill_unwritten::FILL_PIECE_BYTES;
use super::growing::{self, GrowingValues};
use super::partial_chunk::{load_partial_chunk, store_chunk, store_partial_chunks};
use super::state::{DatasetStorage, DatasetWriter};
use super::touched_chunks::{TouchedChunk, chunk_index, contiguous_chunk, copy_into_chunk, filled_with_fill_value, touched_chunks};
use crate::file::allocator::Allocator;
use crate::file::memory_length::memory_length;
use crate::file::regions::region::{Region, runs};

/// Bytes of partial chunks that a dataset may hold in memory.
const MAX_PARTIAL_CHUNK_BYTES: usize = 256 << 20;

/// While partial chunks in the file take fewer bytes than this, the last chunk of a growing dataset waits for elements beyond
/// the current extent. Encoding it at every append would cost more than the append.
const MAX_WAITING_BYTES: u64 = 64 << 20;

/// Bytes of chunks that are encoded in parallel before they are written.
const ENCODE_WINDOW_BYTES: u64 = 64 << 20;

/// Bytes written between two checks for cancellation.
const WRITE_PIECE_BYTES: usize = 64 << 20;

impl DatasetWriter {
    /// Writes the elements of `region`: row-major, encoded as in the file.
    pub fn write(&mut self, region: &Region, bytes: &[u8], allocator: &mut Allocator, session: &Session) -> Result<()> {
        let before = self.partial_chunk_bytes();
        let written = self.write_region(region, bytes, allocator, session);
        allocator.replace_partial_chunk_bytes(before, self.partial_chunk_bytes());
        written
    }

    fn write_region(&mut self, region: &Region, bytes: &[u8], allocator: &mut Allocator, session: &Session) -> Result<()> {
        let shape = self.definition.dataspace.shape().to_vec();
        if matches!(self.definition.dataspace, Dataspace::Null) {
            return Err(Error::invalid_input("an empty dataset (null dataspace) holds no values"));
        }
        if !region.fits(&shape) {
            return Err(Error::invalid_input(format!("{:?} elements from {:?} on in a dataset of shape {shape:?}", region.count, region.start)));
        }
        let expected = region.elements().and_then(|elements| elements.checked_mul(self.definition.datatype.size()));
        if expected != Some(bytes.len() as u64) {
            return Err(Error::invalid_input(format!("{} bytes for {:?} elements of {} bytes", bytes.len(), region.count, self.definition.datatype.size())));
        }
        if bytes.is_empty() {
            return Ok(());
        }
        if let DatasetStorage::Growing(_) = &self.storage
            && !GrowingValues::can_hold(&shape, self.definition.datatype.size())
        {
            self.choose_chunks(allocator, session)?;
        }
        match &mut self.storage {
            DatasetStorage::Growing(growing) => growing.write(region, bytes, &self.definition)?,
            DatasetStorage::Contiguous(_) => self.write_run(region, bytes, &shape, allocator)?,
            DatasetStorage::Virtual(_) => return Err(Error::unsupported("writing to a virtual dataset")),
            DatasetStorage::Placed { chunk_shape, base, stride } => {
                write_placed(region, bytes, (&shape, chunk_shape, *base, *stride), self.definition.datatype.size(), allocator)?
            }
            DatasetStorage::Chunked { .. } => self.write_chunks(region, bytes, &shape, allocator, session)?,
        }
        match self.written.last_mut().and_then(|last| last.joined(region).map(|joined| (last, joined))) {
            Some((last, joined)) => *last = joined,
            None => self.written.push(region.clone()),
        }
        Ok(())
    }

    /// Chooses the chunk shape of a growing dataset and writes the values held in memory.
    fn choose_chunks(&mut self, allocator: &mut Allocator, session: &Session) -> Result<()> {
        let DatasetStorage::Growing(growing) = &mut self.storage else { return Ok(()) };
        let growing = std::mem::take(growing);
        let Dataspace::Simple { shape, max_shape } = &self.definition.dataspace else { return Err(Error::internal("a scalar in chunks")) };
        let (shape, chunk_shape) = (shape.clone(), growing::chunk_shape(shape, max_shape, self.definition.datatype.size()));
        self.definition.set_chunk_shape(chunk_shape.clone())?;
        self.storage = DatasetStorage::Chunked { chunk_shape, stored: BTreeMap::new(), partial: BTreeMap::new() };
        if growing.is_empty() {
            return Ok(());
        }
        for region in self.written.clone() {
            let length = region.elements().and_then(|elements| elements.checked_mul(self.definition.datatype.size()));
            let mut bytes = filled_with_fill_value(length.ok_or_else(|| Error::internal("a written region beyond 64 bits"))?, &self.definition)?;
            growing.read(&region, &self.definition, &mut bytes)?;
            self.write_chunks(&region, &bytes, &shape, allocator, session)?;
        }
        Ok(())
    }

    fn write_run(&mut self, region: &Region, bytes: &[u8], shape: &[u64], allocator: &mut Allocator) -> Result<()> {
        let DatasetStorage::Contiguous(address) = &mut self.storage else { return Err(Error::internal("expected contiguous storage")) };
        let size = self.definition.datatype.size();
        let at = match *address {
            Some(at) => at,
            None => {
                let total = self.definition.dataspace.element_count()?.saturating_mul(size);
                let at = allocator.allocate(total)?;
                // Values of variable length of elements that stay unwritten follow when the file is finished.
                if let Some(fill) = self.definition.fill_value.as_ref().filter(|fill| region.count != shape && fill.iter().any(|byte| *byte != 0)) {
                    let piece = fill.repeat((FILL_PIECE_BYTES / fill.len().max(1)).max(1));
                    let mut done = 0;
                    while done < total {
                        let length = usize::try_from(total - done).unwrap_or(usize::MAX).min(piece.len());
                        allocator.write_at(at + done, piece.get(..length).unwrap_or(&piece))?;
                        done += length as u64;
                    }
                }
                *address = Some(at);
                at
            }
        };
        let zeros = vec![0; shape.len()];
        let mut outcome = Ok(());
        runs(&region.count, &region.count, &zeros, shape, &region.start, |from, to, length| {
            if outcome.is_ok() {
                outcome = write_run(bytes, (from, length), size, at + to * size, allocator);
            }
        });
        outcome
    }

    fn write_chunks(&mut self, region: &Region, bytes: &[u8], shape: &[u64], allocator: &mut Allocator, session: &Session) -> Result<()> {
        let DatasetStorage::Chunked { chunk_shape, stored, partial } = &mut self.storage else { return Err(Error::internal("expected chunked storage")) };
        let (definition, fill) = (&self.definition, &mut self.fill);
        let size = memory_length(definition.datatype.size())?;
        let chunk_bytes = chunk_shape.iter().fold(definition.datatype.size(), |n, extent| n.saturating_mul(*extent));
        let window = usize::try_from((ENCODE_WINDOW_BYTES / chunk_bytes.max(1)).max(session.thread_count()? as u64)).unwrap_or(1).max(1);
        let Dataspace::Simple { max_shape, .. } = &definition.dataspace else { return Err(Error::internal("chunks of a scalar")) };
        let limits = complete_extents(max_shape, shape, allocator.partial_chunk_bytes());
        let mut touched = touched_chunks(region, &limits, chunk_shape);
        loop {
            let chunks: Vec<TouchedChunk> = touched.by_ref().take(window).collect();
            if chunks.is_empty() {
                return Ok(());
            }
            // Elements beyond the extent get texts of their own, one chunk after the other.
            let (whole, parts): (Vec<TouchedChunk>, Vec<TouchedChunk>) = chunks.into_iter().partition(|chunk| chunk.whole && fill.is_none());
            let filtered = !definition.filters.filters.is_empty();
            let cancellation = allocator.cancellation.clone();
            let encode = |chunk: &TouchedChunk| {
                cancellation.check()?;
                if let Some(run) = contiguous_chunk(chunk, chunk_shape, region, bytes, size).filter(|_| !filtered) {
                    return Ok((Cow::Borrowed(run), 0));
                }
                let mut target = filled_with_fill_value(chunk_bytes, definition)?;
                copy_into_chunk(&mut target, chunk, chunk_shape, region, bytes, size)?;
                definition.filters.encode(target).map(|(bytes, mask)| (Cow::Owned(bytes), mask))
            };
            let encoded: Vec<Result<(Cow<'_, [u8]>, u32)>> = match filtered {
                true => session.compute(|| Ok(whole.par_iter().map(encode).collect()))?,
                false => whole.iter().map(encode).collect(),
            };
            for (chunk, encoded) in whole.into_iter().zip(encoded) {
                let (bytes, mask) = encoded?;
                partial.remove(&chunk.position);
                store_chunk(chunk.position, &bytes, mask, stored, allocator)?;
            }
            for chunk in parts {
                let entry = match partial.remove(&chunk.position) {
                    Some(entry) => Ok(entry),
                    None => load_partial_chunk(&chunk.position, stored, definition, chunk_bytes, allocator),
                };
                let mut entry = entry?;
                copy_into_chunk(&mut entry.bytes, &chunk, chunk_shape, region, bytes, size)?;
                let elements = chunk.part.elements().ok_or_else(|| Error::internal("a chunk beyond 64 bits"))?;
                entry.written = entry.written.saturating_add(elements);
                let capacity = elements_within(&chunk, chunk_shape, &limits);
                if entry.written >= capacity {
                    allocator.separate(fill.as_mut(), &mut entry.bytes)?;
                    let (bytes, mask) = definition.filters.encode(entry.bytes)?;
                    store_chunk(chunk.position, &bytes, mask, stored, allocator)?;
                } else {
                    partial.insert(chunk.position, entry);
                }
                if partial.len().saturating_mul(memory_length(chunk_bytes)?) > MAX_PARTIAL_CHUNK_BYTES {
                    store_partial_chunks(partial, stored, definition, fill.as_mut(), allocator, session)?;
                }
            }
        }
    }

    /// Stores an encoded chunk; `filter_mask` has a bit for each filter that was skipped.
    pub fn put_chunk(&mut self, position: Vec<u64>, bytes: &[u8], filter_mask: u32, allocator: &mut Allocator) -> Result<()> {
        match &mut self.storage {
            DatasetStorage::Chunked { stored, partial, .. } => {
                partial.remove(&position);
                store_chunk(position, bytes, filter_mask, stored, allocator)
            }
            _ => Err(Error::internal("a chunk of a dataset without chunks")),
        }
    }

    /// Writes all partial chunks.
    pub fn flush(&mut self, allocator: &mut Allocator, session: &Session) -> Result<()> {
        let before = self.partial_chunk_bytes();
        self.choose_chunks(allocator, session)?;
        let flushed = match &mut self.storage {
            DatasetStorage::Growing(_) | DatasetStorage::Virtual(_) | DatasetStorage::Placed { .. } => Ok(()),
            DatasetStorage::Contiguous(_) => self.separate_unwritten(allocator),
            DatasetStorage::Chunked { stored, partial, .. } => store_partial_chunks(partial, stored, &self.definition, self.fill.as_mut(), allocator, session),
        };
        allocator.replace_partial_chunk_bytes(before, self.partial_chunk_bytes());
        flushed
    }

    /// Bytes of the partial chunks in memory.
    fn partial_chunk_bytes(&self) -> u64 {
        let DatasetStorage::Chunked { chunk_shape, partial, .. } = &self.storage else { return 0 };
        let chunk_bytes = chunk_shape.iter().fold(self.definition.datatype.size(), |n, extent| n.saturating_mul(*extent));
        chunk_bytes.saturating_mul(partial.len() as u64)
    }

    /// Whether values wait in memory: partial chunks, or values without a chunk shape.
    pub fn has_partial_chunks(&self) -> bool {
        match &self.storage {
            DatasetStorage::Chunked { partial, .. } => !partial.is_empty(),
            DatasetStorage::Growing(growing) => !growing.is_empty(),
            _ => false,
        }
    }
}

/// Writes `length` elements of `size` bytes, from element `from` of `bytes` on, at file offset `at`.
fn write_run(bytes: &[u8], (from, length): (u64, u64), size: u64, at: u64, allocator: &mut Allocator) -> Result<()> {
    let start = memory_length(from * size)?;
    let part = usize::try_from(length * size).ok().and_then(|length| bytes.get(start..start.checked_add(length)?));
    let mut at = at;
    for piece in part.ok_or_else(|| Error::internal("fewer values than elements"))?.chunks(WRITE_PIECE_BYTES) {
        allocator.cancellation.check()?;
        allocator.write_at(at, piece)?;
        at += piece.len() as u64;
    }
    Ok(())
}

/// Writes the parts of chunks at fixed offsets. Other tasks may write the other parts of the same chunks.
fn write_placed(
    region: &Region,
    bytes: &[u8],
    (shape, chunk_shape, base, stride): (&[u64], &[u64], u64, u64),
    size: u64,
    allocator: &mut Allocator,
) -> Result<()> {
    for chunk in touched_chunks(region, shape, chunk_shape) {
        let at = base.saturating_add(chunk_index(&chunk.position, shape, chunk_shape).saturating_mul(stride));
        let (source, target) = (chunk.part.start_from(&region.start)?, chunk.part.start_from(&chunk.origin)?);
        let mut outcome = Ok(());
        runs(&chunk.part.count, &region.count, &source, chunk_shape, &target, |from, to, length| {
            if outcome.is_ok() {
                outcome = write_run(bytes, (from, length), size, at + to * size, allocator);
            }
        });
        outcome?;
    }
    Ok(())
}

/// A chunk is complete when it has all elements up to these extents: those that the dataset can grow to, or, if too many bytes of incomplete chunks
/// wait already, those that it has now.
fn complete_extents(max_shape: &[Option<u64>], shape: &[u64], waiting_bytes: u64) -> Vec<u64> {
    match waiting_bytes < MAX_WAITING_BYTES {
        true => max_shape.iter().map(|max| max.unwrap_or(u64::MAX)).collect(),
        false => shape.to_vec(),
    }
}

/// Number of a chunk's elements within these extents.
fn elements_within(chunk: &TouchedChunk, chunk_shape: &[u64], limits: &[u64]) -> u64 {
    let extents = chunk.origin.iter().zip(chunk_shape).zip(limits);
    extents.map(|((origin, extent), limit)| (*extent).min(limit.saturating_sub(*origin))).product()
}
