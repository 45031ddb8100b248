//! Restart points of a file's chunks: found for a file that is read, and made for a chunk index.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use hyperslab_array::{Cancellation, Error, Result, interruption};
use hyperslab_formats::{ArrayFile, ChunkLocation, ChunkSource, Dataset, ObjectId, filter};
use hyperslab_storage::{LocalIndex, MadePoint, RestartPoints, RestartPointsBuilder, Storage};
use rayon::prelude::*;

use crate::kept::buffer_pool::zeros;
use crate::kept::decoding_memory::Held;
use crate::{File, Session};

/// A chunk gets points if it is longer than this number of intervals.
const MIN_INTERVALS: u64 = 2;
/// Fewest bytes between points: the window of one has 32 KiB.
const MIN_INTERVAL_BYTES: u64 = 64 << 10;
/// Bytes of chunks, stored and inflated, that are in memory at once.
const GROUP_BYTES: u64 = 256 << 20;

/// The points that were found for a local file.
#[derive(Default)]
struct Found(OnceLock<Option<Arc<RestartPoints>>>);

impl File {
    /// The places at which inflating its chunks can begin, if there is a chunk index with them. The index of a remote file was chosen when it was opened;
    /// the index of a local file is looked for once.
    ///
    /// # Errors
    /// If the storage options name an index: what is wrong with it.
    pub(crate) fn restart_points(&self) -> Result<Option<Arc<RestartPoints>>> {
        let storage = self.array_file().storage();
        if storage.is_remote() {
            return Ok(storage.restart_points());
        }
        let found = self.kept::<Found>();
        if let Some(points) = found.0.get() {
            return Ok(points.clone());
        }
        let index = match storage.modified_nanoseconds() {
            Some(modified) if self.array_file().is_stored() && self.array_file().targets().is_empty() => LocalIndex::of(self.path(), storage.len(), modified),
            _ => None,
        };
        let points = index.map(|index| index.find(self.session().storage_options(), self.depth() > 0)).transpose()?.flatten();
        Ok(found.0.get_or_init(|| points).clone())
    }
}

/// Deflated chunks that get points, by offset: their length, and the bytes of their output.
#[derive(Default)]
pub(crate) struct DeflatedChunks(Mutex<BTreeMap<u64, (u64, u64)>>);

impl DeflatedChunks {
    /// Adds the `chunks` that are large enough for points `interval` bytes of output apart.
    ///
    /// # Errors
    /// As [`ArrayFile::deflated`].
    pub fn add(&self, file: &dyn ArrayFile, id: ObjectId, dataset: &Dataset, chunks: &[ChunkLocation], interval: u64) -> Result<()> {
        let bytes_of = |chunk: &ChunkLocation| chunk.region.count.iter().fold(dataset.datatype.size(), |bytes, &extent| bytes.saturating_mul(extent));
        for chunk in chunks {
            let ChunkSource::Stored { offset, length, .. } = chunk.source else { continue };
            let bytes = bytes_of(chunk);
            if bytes > interval.saturating_mul(MIN_INTERVALS) && length > 0 && file.deflated(id, chunk)?.is_some() {
                self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(offset, (length, bytes));
            }
        }
        Ok(())
    }
}

/// Checks the distance of points.
///
/// # Errors
/// `InvalidInput` if it is too short.
pub(crate) fn check_interval(interval: u64) -> Result<()> {
    match interval < MIN_INTERVAL_BYTES {
        true => Err(Error::invalid_input(format!("restart points every {interval} bytes: give {MIN_INTERVAL_BYTES} or more, such as 1048576"))),
        false => Ok(()),
    }
}

/// Makes the points of chunks, which are fetched and inflated by all threads of the session. A chunk that is damaged gets none.
///
/// # Errors
/// `Io`, `Conflict` or `Cancelled`; `LimitExceeded` if memory is too short for a chunk.
pub(crate) fn make_points(session: &Session, storage: &Arc<dyn Storage>, chunks: DeflatedChunks, interval: u64) -> Result<RestartPointsBuilder> {
    let mut builder = RestartPointsBuilder::new(interval)?;
    let max_bytes = session.limits().chunk_bytes;
    let chunks = chunks.0.into_inner().unwrap_or_else(PoisonError::into_inner).into_iter();
    let mut rest = chunks.map(|(offset, (length, bytes))| (offset, length, bytes)).filter(|(_, length, bytes)| *length.max(bytes) <= max_bytes).peekable();
    let at_once = session.thread_count()?.saturating_mul(4);
    let cancellation = interruption::current_cancellation().unwrap_or_default();
    while rest.peek().is_some() {
        interruption::check()?;
        let mut group: Vec<(u64, u64, u64)> = Vec::new();
        let mut memory = 0u64;
        while let Some((_, length, bytes)) = rest.peek()
            && (group.is_empty() || group.len() < at_once && memory.saturating_add(length + bytes) <= GROUP_BYTES)
        {
            memory = memory.saturating_add(length + bytes);
            group.extend(rest.next());
        }
        let ranges: Vec<(u64, u64)> = group.iter().map(|(offset, length, _)| (*offset, *length)).collect();
        let fetched = storage.fetched(&ranges, &cancellation)?;
        let storage = fetched.as_ref().unwrap_or(storage);
        let made: Vec<Option<Vec<MadePoint>>> =
            session.compute(|| group.par_iter().map(|chunk| points_of(storage.as_ref(), *chunk, interval, &cancellation)).collect())?;
        for ((offset, length, bytes), points) in group.into_iter().zip(made) {
            if let Some(points) = points {
                builder.add(offset, length, bytes, &points)?;
            }
        }
    }
    Ok(builder)
}

fn points_of(storage: &dyn Storage, (offset, length, bytes): (u64, u64, u64), interval: u64, cancellation: &Cancellation) -> Result<Option<Vec<MadePoint>>> {
    cancellation.check()?;
    let mut held = Held::default();
    // What is inflated again to try the points is as long as the output.
    held.grow(length.saturating_add(bytes.saturating_mul(2)), cancellation)?;
    let memory = |bytes: u64| zeros(usize::try_from(bytes).map_err(|_| Error::limit_exceeded("a chunk exceeds memory"))?);
    let (mut raw, mut output) = (memory(length)?, memory(bytes)?);
    storage.read_exact_at(offset, &mut raw)?;
    Ok(filter::restart_points(&raw, interval, &mut output))
}
