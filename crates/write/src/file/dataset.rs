//! The values of one dataset on their way into a file.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use hyperslab_array::{Dataspace, Error, Result};
use hyperslab_formats::VirtualMapping;
use hyperslab_formats::hdf5::writer::{NewDataset, NewStorage, StoredChunk};
use hyperslab_reader::Session;
use rayon::prelude::*;

use crate::shared::task_regions::Place;
use super::allocator::Blocks;
use super::definition::DatasetDefinition;
use super::growing::{self, Growing};
use super::region::{Region, runs};
use super::reread::reopened;
use super::touched_chunks::{Touched, as_it_lies, blank, fill_in, number_of, touched};
use super::unwritten_regions::unwritten;

/// Bytes of unfinished chunks that a dataset keeps in memory.
const PARTIAL_BYTES: usize = 256 << 20;
/// Bytes of unfinished chunks in one file below which the last chunk of a growing dataset waits for elements beyond the
/// present extent: encoding it for every append would cost more than the append.
const WAITING_BYTES: u64 = 64 << 20;
/// Bytes of chunks that are filtered before the first of them is written.
const WINDOW_BYTES: u64 = 64 << 20;
/// Bytes of fill values that are written at a time.
const FILL_BYTES: usize = 1 << 20;

#[derive(Debug)]
pub(crate) struct DatasetWriter {
    pub(crate) definition: DatasetDefinition,
    pub(crate) storage: Storage,
    /// Regions that were written; those side by side are one where that is seen.
    pub(crate) written: Vec<Region>,
    /// Whether its values go into the subfile that several tasks write.
    pub(crate) shared: bool,
}

#[derive(Debug)]
pub(crate) enum Storage {
    Contiguous(Option<u64>),
    Virtual(Vec<VirtualMapping>),
    /// Every chunk has its place from the beginning: row-major from `base` on, `stride` bytes apart.
    Placed { chunk_shape: Vec<u64>, base: u64, stride: u64 },
    /// In chunks whose shape is chosen later.
    Growing(Growing),
    Chunked { chunk_shape: Vec<u64>, stored: BTreeMap<Vec<u64>, StoredChunk>, partial: BTreeMap<Vec<u64>, Partial> },
}

/// A chunk of which some elements are missing.
#[derive(Debug)]
pub(crate) struct Partial {
    pub(crate) bytes: Vec<u8>,
    /// Elements written, as if none was written twice.
    pub(crate) written: u64,
}

impl DatasetWriter {
    /// `definition` has been checked.
    pub fn new(definition: DatasetDefinition) -> Self {
        let storage = match &definition.chunk_shape {
            None => Storage::Contiguous(None),
            Some(chunk_shape) => Storage::Chunked { chunk_shape: chunk_shape.clone(), stored: BTreeMap::new(), partial: BTreeMap::new() },
        };
        Self { definition, storage, written: Vec::new(), shared: false }
    }

    /// The same, and the chunk shape of `definition` is only one that would do: it is chosen when it is known how large the
    /// dataset becomes.
    pub fn growing(definition: DatasetDefinition) -> Self {
        match &definition.dataspace {
            Dataspace::Simple { shape, max_shape } if definition.chunk_shape.is_some() && shape.iter().zip(max_shape).any(|(extent, max)| *max != Some(*extent)) => {
                Self { storage: Storage::Growing(Growing::default()), ..Self::new(definition) }
            }
            _ => Self::new(definition),
        }
    }

    /// A dataset whose values are in others.
    pub fn of_others(definition: DatasetDefinition, mappings: Vec<VirtualMapping>) -> Self {
        Self { definition, storage: Storage::Virtual(mappings), written: Vec::new(), shared: false }
    }

    /// A dataset of a shared subfile: `definition` is what is in that file, `place` where.
    pub fn in_shared(definition: DatasetDefinition, place: &Place) -> Result<Self> {
        let chunk_shape = || definition.chunk_shape.clone().ok_or_else(|| Error::internal("chunks without a shape"));
        let storage = match place {
            Place::Run(address) => Storage::Contiguous(Some(*address)),
            Place::Chunks { base, stride } => Storage::Placed { chunk_shape: chunk_shape()?, base: *base, stride: *stride },
            Place::Segments => Storage::Chunked { chunk_shape: chunk_shape()?, stored: BTreeMap::new(), partial: BTreeMap::new() },
        };
        Ok(Self { definition, storage, written: Vec::new(), shared: true })
    }

    /// Whether its values go into the subfile that several tasks write.
    pub fn is_shared(&self) -> bool {
        self.shared
    }

    /// The chunks that were stored wherever there was room, in no place known before.
    pub fn stored(&self) -> impl Iterator<Item = &StoredChunk> {
        let stored = if let Storage::Chunked { stored, .. } = &self.storage { Some(stored.values()) } else { None };
        stored.into_iter().flatten()
    }

    /// Notes what others have written: regions, and chunks where they have stored them.
    pub fn note(&mut self, regions: &[Region], chunks: impl Iterator<Item = StoredChunk>) -> Result<()> {
        self.written.extend_from_slice(regions);
        for chunk in chunks {
            let Storage::Chunked { stored, .. } = &mut self.storage else { return Err(Error::invalid_input("a list of chunks whose places are known")) };
            if let Some(twice) = stored.insert(chunk.position.clone(), chunk) {
                return Err(Error::invalid_input(format!("two tasks that have both stored the chunk at {:?}", twice.position)));
            }
        }
        Ok(())
    }

    pub fn definition(&self) -> &DatasetDefinition {
        &self.definition
    }

    pub fn written(&self) -> &[Region] {
        &self.written
    }

    /// Changes the path of the committed datatype.
    pub fn recommit(&mut self, change: impl FnOnce(&str) -> Option<String>) {
        if let Some(committed) = &self.definition.committed {
            self.definition.committed = change(committed.trim_start_matches('/'));
        }
    }

    /// Writes the elements of `region`, row-major in the layout of the file.
    pub fn write(&mut self, region: &Region, bytes: &[u8], blocks: &mut Blocks, session: &Session) -> Result<()> {
        let before = self.waiting_bytes();
        let written = self.write_region(region, bytes, blocks, session);
        blocks.replace_waiting(before, self.waiting_bytes());
        written
    }

    fn write_region(&mut self, region: &Region, bytes: &[u8], blocks: &mut Blocks, session: &Session) -> Result<()> {
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
        if let Storage::Growing(_) = &self.storage
            && !Growing::can_hold(&shape, self.definition.datatype.size())
        {
            self.choose_chunks(blocks, session)?;
        }
        match &mut self.storage {
            Storage::Growing(growing) => growing.write(region, bytes, &self.definition)?,
            Storage::Contiguous(_) => self.write_run(region, bytes, &shape, blocks)?,
            Storage::Virtual(_) => return Err(Error::unsupported("writing through a virtual dataset")),
            Storage::Placed { chunk_shape, base, stride } => write_placed(region, bytes, (&shape, chunk_shape, *base, *stride), self.definition.datatype.size(), blocks)?,
            Storage::Chunked { .. } => self.write_chunks(region, bytes, &shape, blocks, session)?,
        }
        match self.written.last_mut().and_then(|last| last.joined(region).map(|joined| (last, joined))) {
            Some((last, joined)) => *last = joined,
            None => self.written.push(region.clone()),
        }
        Ok(())
    }

    /// Chooses the chunk shape of a growing dataset, and writes the values that have waited for it.
    fn choose_chunks(&mut self, blocks: &mut Blocks, session: &Session) -> Result<()> {
        let Storage::Growing(growing) = &mut self.storage else { return Ok(()) };
        let growing = std::mem::take(growing);
        let Dataspace::Simple { shape, max_shape } = &self.definition.dataspace else { return Err(Error::internal("a scalar in chunks")) };
        let (shape, chunk_shape) = (shape.clone(), growing::chunk_shape(shape, max_shape, self.definition.datatype.size()));
        self.definition.set_chunk_shape(chunk_shape.clone())?;
        self.storage = Storage::Chunked { chunk_shape, stored: BTreeMap::new(), partial: BTreeMap::new() };
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

    fn write_run(&mut self, region: &Region, bytes: &[u8], shape: &[u64], blocks: &mut Blocks) -> Result<()> {
        let Storage::Contiguous(address) = &mut self.storage else { return Err(Error::internal("chunks, not a run")) };
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

    fn write_chunks(&mut self, region: &Region, bytes: &[u8], shape: &[u64], blocks: &mut Blocks, session: &Session) -> Result<()> {
        let Storage::Chunked { chunk_shape, stored, partial } = &mut self.storage else { return Err(Error::internal("a run, not chunks")) };
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
            let chunks: Vec<Touched> = touched.by_ref().take(window).collect();
            if chunks.is_empty() {
                return Ok(());
            }
            let (whole, parts): (Vec<Touched>, Vec<Touched>) = chunks.into_iter().partition(|chunk| chunk.whole);
            let filtered = !definition.filters.filters.is_empty();
            let cancellation = blocks.cancellation.clone();
            let encode = |chunk: &Touched| {
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
    pub fn put_chunk(&mut self, position: Vec<u64>, bytes: &[u8], filter_mask: u32, blocks: &mut Blocks) -> Result<()> {
        match &mut self.storage {
            Storage::Chunked { stored, partial, .. } => {
                partial.remove(&position);
                store(position, bytes, filter_mask, stored, blocks)
            }
            _ => Err(Error::internal("a chunk of a dataset without chunks")),
        }
    }

    /// Writes the chunks that still wait for elements.
    pub fn flush(&mut self, blocks: &mut Blocks, session: &Session) -> Result<()> {
        let before = self.waiting_bytes();
        self.choose_chunks(blocks, session)?;
        let flushed = match &mut self.storage {
            Storage::Growing(_) | Storage::Contiguous(_) | Storage::Virtual(_) | Storage::Placed { .. } => Ok(()),
            Storage::Chunked { stored, partial, .. } => put_away(partial, stored, &self.definition, blocks, session),
        };
        blocks.replace_waiting(before, self.waiting_bytes());
        flushed
    }

    /// Bytes of the chunks that wait for elements.
    fn waiting_bytes(&self) -> u64 {
        let Storage::Chunked { chunk_shape, partial, .. } = &self.storage else { return 0 };
        let chunk_bytes = chunk_shape.iter().fold(self.definition.datatype.size(), |n, extent| n.saturating_mul(*extent));
        chunk_bytes.saturating_mul(partial.len() as u64)
    }

    /// Whether chunks wait for elements.
    pub fn is_waiting(&self) -> bool {
        match &self.storage {
            Storage::Chunked { partial, .. } => !partial.is_empty(),
            Storage::Growing(growing) => !growing.is_empty(),
            _ => false,
        }
    }

    /// Writes the fill value where nobody wrote, in a file whose bytes are otherwise zero there. What has no place in the
    /// file, or is a chunk that nobody touched, is the fill value anyway.
    pub fn fill_rest(&self, mut write_at: impl FnMut(u64, &[u8]) -> Result<()>) -> Result<()> {
        let Some(fill) = &self.definition.fill_value else { return Ok(()) };
        let (shape, size) = (self.definition.dataspace.shape(), self.definition.datatype.size());
        let piece = fill.repeat((FILL_BYTES / fill.len().max(1)).max(1));
        let mut outcome = Ok(());
        let mut put = |mut at: u64, length: u64| {
            let end = at.saturating_add(length);
            while outcome.is_ok() && at < end {
                let part = usize::try_from(end - at).ok().and_then(|length| piece.get(..length)).unwrap_or(&piece);
                outcome = write_at(at, part);
                at += part.len() as u64;
            }
        };
        let zeros = vec![0; shape.len()];
        match &self.storage {
            Storage::Contiguous(Some(address)) if !self.written.is_empty() => {
                for region in unwritten(Region::all(shape), &self.written) {
                    runs(&region.count, &region.count, &zeros, shape, &region.start, |_, to, length| put(address + to * size, length * size));
                }
            }
            Storage::Placed { chunk_shape, base, stride } => {
                let known: BTreeSet<Vec<u64>> = self.written.iter().flat_map(|region| touched(region, shape, chunk_shape)).map(|chunk| chunk.position).collect();
                for region in unwritten(Region::all(shape), &self.written) {
                    for chunk in touched(&region, shape, chunk_shape).filter(|chunk| known.contains(&chunk.position)) {
                        let at = base.saturating_add(number_of(&chunk.position, shape, chunk_shape).saturating_mul(*stride));
                        let within: Vec<u64> = chunk.part.start.iter().zip(&chunk.origin).map(|(start, origin)| start - origin).collect();
                        runs(&chunk.part.count, &chunk.part.count, &zeros, chunk_shape, &within, |_, to, length| put(at + to * size, length * size));
                    }
                }
            }
            _ => {}
        }
        outcome
    }

    /// What the file's metadata has to say.
    pub fn description(&self) -> NewDataset {
        let storage = match &self.storage {
            // What nobody wrote is the fill value, though it has its place.
            Storage::Contiguous(address) => NewStorage::Contiguous(address.filter(|_| !self.shared || !self.written.is_empty())),
            Storage::Virtual(mappings) => NewStorage::Virtual(mappings.clone()),
            Storage::Placed { chunk_shape, base, stride } => {
                let shape = self.definition.dataspace.shape();
                let length = chunk_shape.iter().fold(self.definition.datatype.size(), |n, extent| n.saturating_mul(*extent));
                let positions: BTreeSet<Vec<u64>> = self.written.iter().flat_map(|region| touched(region, shape, chunk_shape)).map(|chunk| chunk.position).collect();
                let chunk = |position: Vec<u64>| {
                    let address = base.saturating_add(number_of(&position, shape, chunk_shape).saturating_mul(*stride));
                    StoredChunk { position, address, length, filter_mask: 0 }
                };
                NewStorage::Chunked { chunk_shape: chunk_shape.clone(), chunks: positions.into_iter().map(chunk).collect() }
            }
            Storage::Growing(_) => NewStorage::Chunked { chunk_shape: self.definition.chunk_shape.clone().unwrap_or_default(), chunks: Vec::new() },
            Storage::Chunked { chunk_shape, stored, .. } => {
                NewStorage::Chunked { chunk_shape: chunk_shape.clone(), chunks: stored.values().cloned().collect() }
            }
        };
        let definition = &self.definition;
        NewDataset {
            committed: None,
            datatype: definition.datatype.clone(),
            dataspace: definition.dataspace.clone(),
            fill_value: definition.fill_value.clone(),
            fill_time: definition.fill_time,
            filters: definition.filters.clone(),
            storage,
        }
    }
}

/// Bytes that are written between two looks at whether anybody still waits for them.
const PIECE_BYTES: usize = 64 << 20;

/// Writes `length` elements of `size` bytes, those from number `from` on, to byte `at`.
fn write_run(bytes: &[u8], (from, length): (u64, u64), size: u64, at: u64, blocks: &mut Blocks) -> Result<()> {
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
fn write_placed(region: &Region, bytes: &[u8], (shape, chunk_shape, base, stride): (&[u64], &[u64], u64, u64), size: u64, blocks: &mut Blocks) -> Result<()> {
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

/// Writes a chunk, in its old place where it fits there.
fn store(position: Vec<u64>, bytes: &[u8], filter_mask: u32, stored: &mut BTreeMap<Vec<u64>, StoredChunk>, blocks: &mut Blocks) -> Result<()> {
    let length = bytes.len() as u64;
    let address = match stored.get(&position) {
        Some(old) if old.length >= length => old.address,
        _ => blocks.allocate(length)?,
    };
    blocks.write_at(address, bytes)?;
    stored.insert(position.clone(), StoredChunk { position, address, length, filter_mask });
    Ok(())
}

/// Writes unfinished chunks and forgets them.
fn put_away(
    partial: &mut BTreeMap<Vec<u64>, Partial>,
    stored: &mut BTreeMap<Vec<u64>, StoredChunk>,
    definition: &DatasetDefinition,
    blocks: &mut Blocks,
    session: &Session,
) -> Result<()> {
    let chunks: Vec<(Vec<u64>, Partial)> = std::mem::take(partial).into_iter().collect();
    let encode = |(position, chunk): (Vec<u64>, Partial)| (position, definition.filters.encode(chunk.bytes));
    let encoded: Vec<_> = match chunks.len() {
        // Other threads are not started for one chunk.
        0 | 1 => chunks.into_iter().map(encode).collect(),
        _ => session.compute(|| Ok(chunks.into_par_iter().map(encode).collect()))?,
    };
    for (position, encoded) in encoded {
        let (bytes, mask) = encoded?;
        store(position, &bytes, mask, stored, blocks)?;
    }
    Ok(())
}
