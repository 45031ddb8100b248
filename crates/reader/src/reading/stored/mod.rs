//! Reads what the file stores of a selection: locates chunks, narrows them, and spreads the work over threads.

mod ahead;
mod band;
mod chunk;
mod inflated_parts;
mod job;
mod locate;
mod narrow;
mod parts;
mod shared_chunks;

use std::sync::Arc;

use hyperslab_array::{Axis, Error, Result, Selection};
use hyperslab_formats::{ChunkLocation, ChunkSource, Dataset, StorageLayout};
use hyperslab_storage::Storage;
use rayon::prelude::*;

use self::ahead::look_ahead;
use self::band::bands;
use self::chunk::bytes_of;
use self::inflated_parts::{Whole, fill_parts, take_parts};
use self::job::{Job, stored_range, with_scratch};
use self::locate::{locate, locate_kept};
use self::narrow::narrow;
use self::shared_chunks::SharedChunks;
use super::dataset_read::{DatasetRead, Keep};

pub(crate) use self::chunk::{MIN_PARALLEL_BYTES, fill_value};
pub(crate) use self::parts::{MAX_CHUNKS, parts};

/// Fills `out` from what the file stores of a dataset that is not virtual.
pub(crate) fn fill(read: DatasetRead<'_>, out: &mut [u8]) -> Result<()> {
    let DatasetRead { file, description, selection, cancellation, .. } = read;
    if description.storage == StorageLayout::Chunked {
        file.session().limits().check_read_chunks(description.chunk_grid.max_touched(selection), file.array_file().storage().len())?;
    }
    // An unfiltered chunk may become many parts.
    let max_chunks = if description.filters.is_empty() { MAX_CHUNKS / 32 } else { MAX_CHUNKS };
    if description.chunk_grid.max_touched(selection) <= max_chunks {
        return fill_part(read, out);
    }
    let mut rest = out;
    for part in parts(&description.chunk_grid, selection, max_chunks) {
        cancellation.check()?;
        let bytes = part.element_count()?.checked_mul(description.datatype.size()).and_then(|bytes| usize::try_from(bytes).ok());
        let split = bytes.and_then(|bytes| rest.split_at_mut_checked(bytes));
        let (here, after) = split.ok_or_else(|| Error::internal("parts of a read exceed its output"))?;
        fill_part(DatasetRead { selection: &part, ..read }, here)?;
        rest = after;
    }
    Ok(())
}

/// As [`fill`]; the places of all chunks are in memory at once.
fn fill_part(read: DatasetRead<'_>, out: &mut [u8]) -> Result<()> {
    let DatasetRead { file, dataset, description, selection, .. } = read;
    let external = match description.storage {
        StorageLayout::External => Some(file.external_storage(dataset, &description.external_files)?),
        _ => None,
    };
    let storage = external.as_ref().unwrap_or_else(|| file.array_file().storage());
    // What is kept is of the file as it was opened, and of its own extent. A program may change its arrays at any time.
    let may_keep = description.storage == StorageLayout::Chunked && description.written_shape.is_none() && file.array_file().is_stored();
    let is_unchanged = may_keep && storage.is_unchanged();
    let mut chunks = match is_unchanged {
        true => locate_kept(read, storage.as_ref())?,
        false => locate(file, dataset, selection, storage.as_ref())?,
    };
    // Only for the bytes from which its points were made.
    let inflated = if is_unchanged { take_parts(read, &mut chunks)? } else { Vec::new() };
    if !chunks.is_empty() || inflated.is_empty() {
        fill_chunks(read, storage, chunks, is_unchanged, out)?;
    }
    // After the chunks that were never written, which fill more than their own places.
    let whole: Whole<'_> = &|read, chunk, out| fill_chunks(read, storage, vec![chunk], false, out);
    fill_parts(read, storage, &inflated, whole, out)
}

/// Fills the places of `chunks` in `out`; places of other chunks may be overwritten.
fn fill_chunks(read: DatasetRead<'_>, storage: &Arc<dyn Storage>, mut chunks: Vec<ChunkLocation>, is_unchanged: bool, out: &mut [u8]) -> Result<()> {
    let DatasetRead { file, description, selection, cancellation, .. } = read;
    if description.filters.is_empty() {
        let mut parts = Vec::with_capacity(chunks.len());
        chunks.drain(..).try_for_each(|chunk| narrow(chunk, selection, description.datatype.size(), &mut parts))?;
        chunks = parts;
    }
    if let [only] = chunks.as_slice()
        && is_all(only, description, selection)
        && let ChunkSource::Stored { offset, length, .. } = only.source
        && length == out.len() as u64
    {
        cancellation.check()?;
        file.session().counters().add_bytes_read(length);
        storage.confirm(offset, length)?;
        return storage.read_exact_at(offset, out);
    }
    let shared = SharedChunks::of(read, &chunks, is_unchanged);
    if let Some(SharedChunks::OfSession(cache)) = shared
        && read.keep == Keep::Chunks
    {
        look_ahead(read, cache);
    }
    let requested = request(read, &chunks, shared, storage.as_ref())?;
    let storage = requested.as_ref().unwrap_or(storage);
    let job = Job { read, storage, shared };
    // A filtered chunk is always decoded whole.
    let work = match description.filters.is_empty() {
        true => out.len() as u64,
        false => chunks.iter().map(|chunk| bytes_of(chunk, description)).fold(0, u64::saturating_add),
    };
    let bands = bands(description, selection, &chunks, out)?;
    let is_light = work < MIN_PARALLEL_BYTES
        || matches!(shared, Some(shared @ SharedChunks::OfSession(_)) if chunks.len() == 1 || shared.has_all(read, &chunks))
        || file.session().thread_count()? == 1;
    if is_light {
        return with_scratch(|scratch| bands.into_iter().try_for_each(|band| job.read_band(band, scratch)));
    }
    let threads = file.session().thread_count()?;
    // If a decoding thread reads, the other threads read windows of their own.
    let is_one_of_many = file.session().pool()?.current_thread_index().is_some();
    file.session().compute(|| {
        if is_one_of_many || bands.len() >= threads.min(chunks.len()) || shared.is_some() {
            bands.into_par_iter().try_for_each(|band| with_scratch(|scratch| job.read_band(band, scratch)))
        } else {
            bands.into_iter().try_for_each(|band| job.read_band_in_parallel(band, threads))
        }
    })
}

/// Requests all chunks of a read that are not decoded yet, if each read of the storage waits for a round trip.
fn request(read: DatasetRead<'_>, chunks: &[ChunkLocation], shared: Option<SharedChunks<'_>>, storage: &dyn Storage) -> Result<Option<Arc<dyn Storage>>> {
    if !storage.is_remote() {
        return Ok(None);
    }
    let is_needed = |chunk: &&ChunkLocation| shared.is_none_or(|shared| !shared.has_all(read, std::slice::from_ref(chunk)));
    let ranges: Vec<(u64, u64)> = chunks.iter().filter(is_needed).map(stored_range).filter(|(_, length)| *length > 0).collect();
    storage.fetched(&ranges, read.cancellation)
}

/// Whether a selection is all of an unfiltered chunk, whose bytes are then the result.
fn is_all(chunk: &ChunkLocation, description: &Dataset, selection: &Selection) -> bool {
    // Indexes increase along an axis: as many as the chunk has, all within it, are the whole chunk.
    let whole = |(axis, (start, extent)): (&Axis, (u64, u64))| {
        axis.count() == extent && axis.index(0) == Some(start) && axis.index(extent.saturating_sub(1)).is_some_and(|last| last - start < extent)
    };
    description.filters.is_empty() && selection.axes().iter().zip(chunk.region.dimensions()).all(whole)
}
