//! Ahead: decodes the chunks that the next small reads will need.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use hyperslab_array::{Axis, Cancellation, Region, Result, Selection};
use hyperslab_formats::{ChunkLocation, ChunkSource, ObjectId};

use super::chunk::bytes_of;
use super::job::{Job, with_scratch};
use super::locate::locate_kept;
use super::shared_chunks::key;
use crate::File;
use crate::kept::chunk_cache::{ChunkCache, Slot};
use crate::reading::dataset_read::{DatasetRead, Keep};

/// If small reads go through a dataset in order, starts decoding the next chunks on the threads of the session.
pub(super) fn look_ahead(read: DatasetRead<'_>, cache: &ChunkCache) {
    let DatasetRead { file, dataset, description, selection, .. } = read;
    let threads = || file.session().thread_count().ok().filter(|threads| *threads > 1).map(|threads| threads as u64);
    let Some(next) = file.look_ahead().next(dataset, &description.chunk_grid, selection, threads) else { return };
    let Ok(pool) = file.session().pool() else { return };
    // A decoding thread reads for others, which are many already.
    if pool.current_thread_index().is_some() {
        return;
    }
    let Ok(origins) = description.chunk_grid.touched(&next) else { return };
    for start in origins {
        let chunk = ChunkLocation { region: Region { start, count: description.chunk_grid.chunk_shape().to_vec() }, source: ChunkSource::Fill };
        let slot = key(read, &chunk).and_then(|key| cache.new_slot(key, bytes_of(&chunk, description)));
        let Some(slot) = slot else { continue };
        let file = file.clone();
        pool.spawn(move || {
            // The read that needs the chunk decodes it again, and has the error.
            let _ = catch_unwind(AssertUnwindSafe(|| decode(&file, dataset, chunk.region, &slot)));
        });
    }
}

/// Decodes the chunk of a region into its slot, unless a read was faster or the cache has given the slot up meanwhile.
fn decode(file: &File, dataset: ObjectId, region: Region, slot: &Arc<Slot>) -> Result<()> {
    if slot.decoded().is_some() || Arc::strong_count(slot) == 1 {
        return Ok(());
    }
    let description = &*file.dataset(dataset)?;
    let region = description.chunk_grid.clipped(region.start)?;
    let axes = region.dimensions().map(|(start, count)| Axis::Range { start, count, step: 1 }).collect();
    let selection = &Selection::new(axes, description.dataspace.shape())?;
    let cancellation = &Cancellation::new();
    let storage = file.array_file().storage();
    let read = DatasetRead { file, dataset, description, selection, cancellation, keep: Keep::Chunks };
    if !storage.is_unchanged() {
        return Ok(());
    }
    let job = Job { read, storage, shared: None };
    for location in locate_kept(read, storage.as_ref())? {
        with_scratch(|scratch| slot.chunk(|| job.joined(&location, scratch)).map(drop))?;
    }
    Ok(())
}
