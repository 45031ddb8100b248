//! A writer whose file another process goes on with if this one ends early.

use std::path::{Path, PathBuf};

use hyperslab_array::{Error, Result};
use hyperslab_formats::hdf5::writer::StoredChunk;
use hyperslab_reader::Session;

use super::checkpoints::StoredValues;
use crate::file::allocator::{Allocator, Position, checked_alignment};
use crate::file::dataset::state::{DatasetStorage, DatasetWriter};
use crate::file::file_writer::FileWriter;

impl FileWriter {
    /// Begins a file that gets the name `target` when it is finished, or goes on with what an earlier process has left in `aside`. Returns
    /// how many bytes that has.
    ///
    /// # Errors
    /// `Conflict` if there is a file of this name; `Busy` if another process writes it; `InvalidInput` for an alignment that is not a power
    /// of two; `Io`.
    pub(crate) fn resumable(target: &Path, aside: PathBuf, alignment: Option<u64>, session: &Session) -> Result<(Self, u64)> {
        let (allocator, bytes) = Allocator::resumable(target, aside, checked_alignment(alignment)?)?;
        Ok((Self::new(allocator, session), bytes))
    }

    /// Where the next values go.
    pub(crate) fn position(&self) -> Position {
        self.allocator.position()
    }

    /// Goes on where a former run ended. Call it before the first write.
    pub(crate) fn resume(&mut self, position: &Position) {
        self.allocator.resume(position);
    }

    /// Syncs all values that are in the file to the disk. Later ones follow the place that is returned.
    pub(crate) fn sync_values(&mut self) -> Result<Position> {
        self.allocator.sync_values()
    }

    /// Stores the values of a dataset that wait in memory, and returns where its values are; of the chunks only those from `from` on.
    pub(crate) fn settle(&mut self, path: &str, from: u64) -> Result<StoredValues> {
        let path = self.resolve(path)?;
        let session = self.session.clone();
        let dataset = self.objects.get_mut(&path).and_then(|object| object.dataset.as_mut());
        let dataset = dataset.ok_or_else(|| Error::internal("values of an object that is not a dataset"))?;
        dataset.flush(&mut self.allocator, &session)?;
        Ok(dataset.stored_values(from))
    }

    /// Gives a dataset, to which nothing was written, the values that a former run has stored.
    ///
    /// # Errors
    /// `Corrupt` if they cannot belong to the dataset.
    pub(crate) fn restore(&mut self, path: &str, stored: StoredValues) -> Result<()> {
        let end = self.position().end;
        let dataset = self.dataset(path)?;
        dataset.restore(stored, end).map_err(|error| error.at_object(path.to_owned()))
    }
}

impl DatasetWriter {
    fn stored_values(&self, from: u64) -> StoredValues {
        let chunk = |chunk: &StoredChunk| (chunk.position.clone(), chunk.address, chunk.length, chunk.filter_mask);
        StoredValues {
            address: self.address(),
            chunk_shape: if let DatasetStorage::Chunked { chunk_shape, .. } = &self.storage { Some(chunk_shape.clone()) } else { None },
            chunks: self.stored().filter(|chunk| chunk.address >= from).map(chunk).collect(),
            written: self.written.clone(),
        }
    }

    /// `end` is the end of all values of the former run.
    fn restore(&mut self, values: StoredValues, end: u64) -> Result<()> {
        let damaged = || Error::corrupt("the log of the copy does not fit the dataset: remove the log to start again");
        let shape = self.definition.dataspace.shape().to_vec();
        if !values.written.iter().all(|region| region.fits(&shape)) || values.address.is_some_and(|address| address >= end) {
            return Err(damaged());
        }
        self.written.clone_from(&values.written);
        if let Some(chunk_shape) = values.chunk_shape.clone() {
            if chunk_shape.len() != shape.len() || chunk_shape.contains(&0) {
                return Err(damaged());
            }
            if self.definition.chunk_shape.as_ref() != Some(&chunk_shape) {
                self.definition.set_chunk_shape(chunk_shape.clone())?;
            }
            let stored: std::collections::BTreeMap<Vec<u64>, StoredChunk> = values.into_chunks().collect();
            let fits = |chunk: &StoredChunk| chunk.position.len() == shape.len() && chunk.address.checked_add(chunk.length).is_some_and(|stop| stop <= end);
            if !stored.values().all(fits) {
                return Err(damaged());
            }
            self.storage = DatasetStorage::Chunked { chunk_shape, stored, partial: std::collections::BTreeMap::new() };
            return Ok(());
        }
        match &mut self.storage {
            DatasetStorage::Contiguous(address) => *address = values.address,
            DatasetStorage::Growing(_) if values.address.is_none() => {}
            _ => return Err(damaged()),
        }
        Ok(())
    }
}
