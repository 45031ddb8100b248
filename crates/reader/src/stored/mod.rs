//! Reads what the file stores of a selection: locates chunks, narrows them, and spreads the work over threads.

mod ahead;
mod band;
mod chunk;
mod job;
mod shared_chunks;

use hyperslab_array::{Axis, ErrorKind, Result, Selection};
use hyperslab_formats::{ChunkLocation, ChunkSource, Dataset, ObjectId, StorageLayout};
use hyperslab_storage::Storage;
use rayon::prelude::*;

use self::ahead::look_ahead;
use self::band::bands;
use self::chunk::bytes_of;
use self::job::{Job, with_scratch};
use self::shared_chunks::SharedChunks;
use crate::File;
use crate::dataset_read::DatasetRead;
use crate::live_file::{being_written, retry_while_torn};

pub(crate) use self::chunk::fill_value;

/// Less than this is read by the calling thread: waking other threads costs more.
pub(crate) const MIN_PARALLEL_BYTES: u64 = 256 << 10;

/// Fills `out` from what the file stores of a dataset that is not virtual.
pub(crate) fn fill(read: DatasetRead<'_>, out: &mut [u8]) -> Result<()> {
    let DatasetRead { file, dataset, description, selection, cancellation, .. } = read;
    let external = match description.storage {
        StorageLayout::External => Some(file.external_storage(dataset, &description.external_files)?),
        _ => None,
    };
    let storage = external.as_ref().unwrap_or_else(|| file.array_file().storage());
    // What is kept is of the file as it was opened, and of its own extent.
    let may_keep = description.storage == StorageLayout::Chunked && description.written_shape.is_none();
    let is_unchanged = may_keep && storage.is_unchanged();
    let mut chunks = match is_unchanged {
        true => locate_kept(read, storage.as_ref())?,
        false => locate(file, dataset, selection, storage.as_ref())?,
    };
    if description.filters.is_empty() {
        chunks.iter_mut().for_each(|chunk| narrow(chunk, selection, description.datatype.size()));
    }
    if let [only] = chunks.as_slice()
        && is_all(only, description, selection)
        && let ChunkSource::Stored { offset, length, .. } = only.source
        && length == out.len() as u64
    {
        cancellation.check()?;
        file.session().counters().add_bytes_read(length);
        return storage.read_exact_at(offset, out);
    }
    let shared = SharedChunks::of(read, &chunks, is_unchanged);
    if let Some(SharedChunks::OfSession(cache)) = shared {
        look_ahead(read, cache);
    }
    let job = Job { read, storage, shared };
    // A filtered chunk is always decoded whole.
    let work = match description.filters.is_empty() {
        true => out.len() as u64,
        false => chunks.iter().map(|chunk| bytes_of(chunk, description)).fold(0, u64::saturating_add),
    };
    let bands = bands(description, selection, &chunks, out)?;
    let threads = file.session().thread_count()?;
    let is_light = matches!(shared, Some(shared @ SharedChunks::OfSession(_)) if chunks.len() == 1 || shared.has_all(read, &chunks));
    if work < MIN_PARALLEL_BYTES || threads == 1 || is_light {
        return with_scratch(|scratch| bands.into_iter().try_for_each(|band| job.read_band(band, scratch)));
    }
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

/// The chunks that a selection touches, of a file that is unchanged since it was opened.
fn locate_kept(read: DatasetRead<'_>, storage: &dyn Storage) -> Result<Vec<ChunkLocation>> {
    let DatasetRead { file, dataset, description, selection, .. } = read;
    file.chunk_places().locate(dataset, &description.chunk_grid, selection, |selection| locate(file, dataset, selection, storage))
}

/// The chunks that a selection touches.
fn locate(file: &File, dataset: ObjectId, selection: &Selection, storage: &dyn Storage) -> Result<Vec<ChunkLocation>> {
    // A writer may be changing the chunk locator.
    let located = retry_while_torn(
        || Ok(file.array_file().locate(dataset, selection)),
        |located| matches!(located, Err(error) if error.kind() == ErrorKind::Corrupt) && being_written(storage),
    )??;
    Ok(located.chunks)
}

/// Narrows an unfiltered chunk to the rows from the first to the last wanted one, along its slowest dimension of more than
/// one wanted index. These rows are one run of its bytes.
fn narrow(chunk: &mut ChunkLocation, selection: &Selection, size: u64) {
    let ChunkSource::Stored { offset, length, .. } = &mut chunk.source else { return };
    let mut below = chunk.region.count.iter().fold(size, |bytes, &extent| bytes.saturating_mul(extent));
    if below != *length {
        return;
    }
    for ((axis, start), extent) in selection.axes().iter().zip(&mut chunk.region.start).zip(&mut chunk.region.count) {
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

/// Whether a selection is all of an unfiltered chunk, whose bytes are then the result.
fn is_all(chunk: &ChunkLocation, description: &Dataset, selection: &Selection) -> bool {
    // Indexes increase along an axis: as many as the chunk has, all within it, are the whole chunk.
    let whole = |(axis, (start, extent)): (&Axis, (u64, u64))| {
        axis.count() == extent && axis.index(0) == Some(start) && axis.index(extent.saturating_sub(1)).is_some_and(|last| last - start < extent)
    };
    description.filters.is_empty() && selection.axes().iter().zip(chunk.region.dimensions()).all(whole)
}
