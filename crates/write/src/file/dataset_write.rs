//! Writing elements of a dataset: into one run of bytes, into chunks, or into memory until chunks are chosen.

use std::borrow::Cow;
use std::collections::BTreeMap;

use hyperslab_array::{Dataspace, Error, Result};
use hyperslab_reader::Session;
use rayon::prelude::*;

use super::allocator::Allocator;
use super::dataset::{DatasetStorage, DatasetWriter};
use super::fill_unwritten::FILL_BYTES;
use super::growing::{self, GrowingValues};
use super::partial_chunk::{put_away, reopened, store};
use super::region::{Region, runs};
use super::touched_chunks::{TouchedChunk, as_it_lies, blank, fill_in, number_of, touched};

/// Bytes of unfinished chunks that a dataset keeps in memory.
const PARTIAL_BYTES: usize = 256 << 20;

/// Bytes of unfinished chunks in one file below which the last chunk of a growing dataset waits for elements beyond the
/// present extent: encoding it for every append would cost more than the append.
const WAITING_BYTES: u64 = 64 << 20;

/// Bytes of chunks that are filtered before the first of them is written.
const WINDOW_BYTES: u64 = 64 << 20;

/// Bytes that are written between two looks at whether anybody still waits for them.
const PIECE_BYTES: usize = 64 << 20;

impl DatasetWriter {
    /// Writes the elements of `region`, row-major in the layout of the file.
    pub fn write(&mut self, region: &Region, bytes: &[u8], blocks: &mut Allocator, session: &Session) -> Result<()> {
        let before = self.waiting_bytes();
        let written = self.write_region(region, bytes, blocks, session);
        blocks.replace_waiting(before, self.waiting_bytes());
        written
    }

    fn write_region(&mut self, region: &Region, bytes: &[u8], blocks: &mut Allocator, session: &Session) -> Result<()> {
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
            self.choose_chunks(blocks, session)?;
        }
        match &mut self.storage {
            DatasetStorage::Growing(growing) => growing.write(region, bytes, &self.definition)?,
            DatasetStorage::Contiguous(_) => self.write_run(region, bytes, &shape, blocks)?,
            DatasetStorage::Virtual(_) => return Err(Error::unsupported("writing through a virtual dataset")),
            DatasetStorage::Placed { chunk_shape, base, stride } => write_placed(region, bytes, (&shape, chunk_shape, *base, *stride), self.definition.datatype.size(), blocks)?,
            DatasetStorage::Chunked { .. } => self.write_chunks(region, bytes, &shape, blocks, session)?,
        }
        match self.written.last_mut().and_then(|last| last.joined(region).map(|joined| (last, joined))) {
            Some((last, joined)) => *last = joined,
            None => self.written.push(region.clone()),
        }
        Ok(())
    }

    /// Chooses the chunk shape of a growing dataset, and writes the values that have waited for it.
    fn choose_chunks(&mut self, blocks: &mut Allocator, session: &Session) -> Result<()> {
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
            let length = region.elements().unwrap_or(0).saturating_mul(self.definition.datatype.size());
            let mut bytes = blank(length, &self.definition);
            growing.read(&region, &self.definition, &mut bytes)?;
            self.write_chunks(&region, &bytes, &shape, blocks, session)?;
        }
        Ok(())
    }

    fn write_run(&mut self, region: &Region, bytes: &[u8], shape: &[u64], blocks: &mut Allocator) -> Result<()> {
        let DatasetStorage::Contiguous(address) = &mut self.storage else { return Err(Error::internal("chunks, not a run")) };
        let size = self.definition.datatype.size();
        let at = match *address {
            Some(at) => at,
            None => {
                let total = self.definition.dataspace.element_count()?.saturating_mul(size);
                let at = blocks.allocate(total)?;
                if let Some(fill) = self.definition.fill_value.as_ref().filter(|_| region.count != shape) {
                    let piece = fill.repeat((FILL_BYTES / fill.len().max(1)).max(1));
                    let mut done = 0;
                    while done < total {
                        let length = usize::try_from(total - done).unwrap_or(usize::MAX).min(piece.len());
                        blocks.write_at(at + done, piece.get(..length).unwrap_or(&piece))?;
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
                outcome = write_run(bytes, (from, length), size, at + to * size, blocks);
            }
        });
        outcome
    }

    fn write_chunks(&mut self, region: &Region, bytes: &[u8], shape: &[u64], blocks: &mut Allocator, session: &Session) -> Result<()> {
        let DatasetStorage::Chunked { chunk_shape, stored, partial } = &mut self.storage else { return Err(Error::internal("a run, not chunks")) };
        let definition = &self.definition;
        let size = usize::try_from(definition.datatype.size()).unwrap_or(usize::MAX);
        let chunk_bytes = chunk_shape.iter().fold(definition.datatype.size(), |n, extent| n.saturating_mul(*extent));
        let window = usize::try_from((WINDOW_BYTES / chunk_bytes.max(1)).max(session.thread_count()? as u64)).unwrap_or(1).max(1);
        let Dataspace::Simple { max_shape, .. } = &definition.dataspace else { return Err(Error::internal("chunks of a scalar")) };
        // How far each dimension may still grow before a chunk counts as complete.
        let limits: Vec<u64> = match blocks.waiting_bytes() < WAITING_BYTES {
            true => max_shape.iter().map(|max| max.unwrap_or(u64::MAX)).collect(),
            false => shape.to_vec(),
        };
        let mut touched = touched(region, &limits, chunk_shape);
        loop {
            let chunks: Vec<TouchedChunk> = touched.by_ref().take(window).collect();
            if chunks.is_empty() {
                return Ok(());
            }
            let (whole, parts): (Vec<TouchedChunk>, Vec<TouchedChunk>) = chunks.into_iter().partition(|chunk| chunk.whole);
            let filtered = !definition.filters.filters.is_empty();
            let cancellation = blocks.cancellation.clone();
            let encode = |chunk: &TouchedChunk| {
                cancellation.check()?;
                if let Some(run) = as_it_lies(chunk, chunk_shape, region, bytes, size).filter(|_| !filtered) {
                    return Ok((Cow::Borrowed(run), 0));
                }
                let mut target = blank(chunk_bytes, definition);
                fill_in(&mut target, chunk, chunk_shape, region, bytes, size)?;
                definition.filters.encode(target).map(|(bytes, mask)| (Cow::Owned(bytes), mask))
            };
            let encoded: Vec<Result<(Cow<'_, [u8]>, u32)>> = match filtered {
                true => session.compute(|| Ok(whole.par_iter().map(encode).collect()))?,
                false => whole.iter().map(encode).collect(),
            };
            for (chunk, encoded) in whole.into_iter().zip(encoded) {
                let (bytes, mask) = encoded?;
                partial.remove(&chunk.position);
                store(chunk.position, &bytes, mask, stored, blocks)?;
            }
            for chunk in parts {
                let entry = match partial.remove(&chunk.position) {
                    Some(entry) => Ok(entry),
                    None => reopened(&chunk.position, stored, definition, chunk_bytes, blocks),
                };
                let mut entry = entry?;
                fill_in(&mut entry.bytes, &chunk, chunk_shape, region, bytes, size)?;
                entry.written = entry.written.saturating_add(chunk.part.elements().unwrap_or(0));
                let extents = chunk.origin.iter().zip(chunk_shape.iter()).zip(&limits);
                let capacity: u64 = extents.map(|((origin, extent), limit)| (*extent).min(limit.saturating_sub(*origin))).product();
                if entry.written >= capacity {
                    let (bytes, mask) = definition.filters.encode(entry.bytes)?;
                    store(chunk.position, &bytes, mask, stored, blocks)?;
                } else {
                    partial.insert(chunk.position, entry);
                }
                if partial.len().saturating_mul(usize::try_from(chunk_bytes).unwrap_or(usize::MAX)) > PARTIAL_BYTES {
                    put_away(partial, stored, definition, blocks, session)?;
                }
            }
        }
    }

    /// Stores a chunk that went through the filters but those of the mask.
    pub fn put_chunk(&mut self, position: Vec<u64>, bytes: &[u8], filter_mask: u32, blocks: &mut Allocator) -> Result<()> {
        match &mut self.storage {
            DatasetStorage::Chunked { stored, partial, .. } => {
                partial.remove(&position);
                store(position, bytes, filter_mask, stored, blocks)
            }
            _ => Err(Error::internal("a chunk of a dataset without chunks")),
        }
    }

    /// Writes the chunks that still wait for elements.
    pub fn flush(&mut self, blocks: &mut Allocator, session: &Session) -> Result<()> {
        let before = self.waiting_bytes();
        self.choose_chunks(blocks, session)?;
        let flushed = match &mut self.storage {
            DatasetStorage::Growing(_) | DatasetStorage::Contiguous(_) | DatasetStorage::Virtual(_) | DatasetStorage::Placed { .. } => Ok(()),
            DatasetStorage::Chunked { stored, partial, .. } => put_away(partial, stored, &self.definition, blocks, session),
        };
        blocks.replace_waiting(before, self.waiting_bytes());
        flushed
    }

    /// Bytes of the chunks that wait for elements.
    fn waiting_bytes(&self) -> u64 {
        let DatasetStorage::Chunked { chunk_shape, partial, .. } = &self.storage else { return 0 };
        let chunk_bytes = chunk_shape.iter().fold(self.definition.datatype.size(), |n, extent| n.saturating_mul(*extent));
        chunk_bytes.saturating_mul(partial.len() as u64)
    }

    /// Whether chunks wait for elements.
    pub fn is_waiting(&self) -> bool {
        match &self.storage {
            DatasetStorage::Chunked { partial, .. } => !partial.is_empty(),
            DatasetStorage::Growing(growing) => !growing.is_empty(),
            _ => false,
        }
    }
}

/// Writes `length` elements of `size` bytes, those from number `from` on, to byte `at`.
fn write_run(bytes: &[u8], (from, length): (u64, u64), size: u64, at: u64, blocks: &mut Allocator) -> Result<()> {
    let start = usize::try_from(from * size).unwrap_or(usize::MAX);
    let part = usize::try_from(length * size).ok().and_then(|length| bytes.get(start..start.checked_add(length)?));
    let mut at = at;
    for piece in part.ok_or_else(|| Error::internal("values that end too early"))?.chunks(PIECE_BYTES) {
        blocks.cancellation.check()?;
        blocks.write_at(at, piece)?;
        at += piece.len() as u64;
    }
    Ok(())
}

/// Writes each part of a chunk where it belongs, whoever writes the rest of it.
fn write_placed(region: &Region, bytes: &[u8], (shape, chunk_shape, base, stride): (&[u64], &[u64], u64, u64), size: u64, blocks: &mut Allocator) -> Result<()> {
    for chunk in touched(region, shape, chunk_shape) {
        let at = base.saturating_add(number_of(&chunk.position, shape, chunk_shape).saturating_mul(stride));
        let within = |origin: &[u64]| -> Vec<u64> { chunk.part.start.iter().zip(origin).map(|(start, origin)| start - origin).collect() };
        let mut outcome = Ok(());
        runs(&chunk.part.count, &region.count, &within(&region.start), chunk_shape, &within(&chunk.origin), |from, to, length| {
            if outcome.is_ok() {
                outcome = write_run(bytes, (from, length), size, at + to * size, blocks);
            }
        });
        outcome?;
    }
    Ok(())
}
