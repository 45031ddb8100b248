//! Locate: the chunks of a selection, from the file or from what earlier reads found.

use hyperslab_array::{ErrorKind, Result, Selection};
use hyperslab_formats::{ChunkLocation, ObjectId};
use hyperslab_storage::Storage;

use crate::File;
use crate::opening::live_file::{being_written, retry_while_torn};
use crate::reading::dataset_read::DatasetRead;

/// The chunks that a selection touches, of a file that is unchanged since it was opened.
pub(super) fn locate_kept(read: DatasetRead<'_>, storage: &dyn Storage) -> Result<Vec<ChunkLocation>> {
    let DatasetRead { file, dataset, description, selection, .. } = read;
    file.chunk_places().locate(dataset, &description.chunk_grid, selection, |selection| locate(file, dataset, selection, storage))
}

/// The chunks that a selection touches.
pub(super) fn locate(file: &File, dataset: ObjectId, selection: &Selection, storage: &dyn Storage) -> Result<Vec<ChunkLocation>> {
    // A writer may be changing the chunk locator.
    let located = retry_while_torn(
        || Ok(file.array_file().locate(dataset, selection)),
        |located| matches!(located, Err(error) if error.kind() == ErrorKind::Corrupt) && being_written(storage),
    )??;
    Ok(located.chunks)
}
