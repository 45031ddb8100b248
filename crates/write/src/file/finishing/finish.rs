//! Finishes a file: writes partial chunks, then the metadata, then the superblock.

use std::path::Path;

use hyperslab_array::{Error, Result};
use hyperslab_formats::hdf5::writer::{NewContent, NewFile, NewStorage, SUPERBLOCK_BYTES, encode_metadata, encode_superblock};
use hyperslab_storage::{Existing, SharedFile};

use super::description::{chosen, describe, object_indexes};
use crate::file::dataset::state::DatasetWriter;
use crate::file::file_writer::FileWriter;
use crate::file::memory_length::memory_length;

/// Maximum number of objects whose metadata is assumed to fit before the values.
const MAX_OBJECTS_IN_FRONT: usize = 1 << 10;

/// Most bytes of values in an object's header, whose messages have less than 64 KiB.
pub(crate) const MAX_COMPACT_BYTES: u64 = 65_000;

impl FileWriter {
    /// Writes all partial chunks.
    pub(crate) fn flush(&mut self) -> Result<()> {
        let session = self.session.clone();
        for object in self.objects.values_mut() {
            let Some(dataset) = &mut object.dataset else { continue };
            match &mut self.shared {
                Some(shared) if dataset.is_shared() => dataset.flush(shared, &session)?,
                _ => dataset.flush(&mut self.allocator, &session)?,
            }
        }
        Ok(())
    }

    /// Writes everything that is left, makes the file visible and returns its length in bytes. If this or an earlier write
    /// failed, no file is left.
    ///
    /// # Errors
    /// `Io` if the file cannot be written; `Conflict` if `existing` does not allow a file of this name; `NotFound` if a
    /// reference or hard link leads to no object.
    pub fn finish(self, existing: Existing) -> Result<u64> {
        self.finish_if(existing, |_| Ok(()))
    }

    /// Like [`FileWriter::finish`], but calls `decide` with the temporary path of the complete file before it is renamed. If
    /// `decide` fails, no file is left.
    pub(crate) fn finish_if(mut self, existing: Existing, decide: impl FnOnce(&Path) -> Result<()>) -> Result<u64> {
        let end = self.complete(|_| true)?;
        let user_block = self.allocator.user_block();
        let mut output = self.allocator.into_output()?;
        if !self.durable {
            output.without_sync();
        }
        if let Some(base) = &self.base {
            base.check()?;
        }
        let length = end.saturating_add(user_block);
        output.publish_if(length, existing, decide)?;
        Ok(length)
    }

    /// Writes partial chunks and metadata, and returns the end of the file. Datasets for which `own` is false are omitted.
    fn complete(&mut self, own: impl Fn(&DatasetWriter) -> bool) -> Result<u64> {
        if let Some(error) = self.broken.take() {
            return Err(error);
        }
        self.flush()?;
        for references in self.objects.values_mut().filter_map(|object| object.references.as_mut()) {
            references.address = Some(self.allocator.allocate(references.bytes())?);
        }
        let mut file = describe(&self.objects, &self.targets, self.newest, &own)?;
        self.take_compact(&mut file, &own)?;
        let regions = self.place_regions(&file)?;
        let name = self.target().display().to_string();
        let page_bytes = self.allocator.page_bytes();
        let encode = |at: u64| encode_metadata(&file, at, page_bytes).map_err(|error| error.in_file(&name));
        // If there is space before the values, metadata follows the superblock: readers get both with one read.
        let in_front = match self.allocator.front().filter(|front| front.start == SUPERBLOCK_BYTES) {
            Some(front) if self.objects.len() < MAX_OBJECTS_IN_FRONT => {
                Some(encode(front.start)?).filter(|metadata| metadata.bytes.len() as u64 <= front.stop - front.start)
            }
            _ => None,
        };
        let (at, metadata, end) = match in_front {
            Some(metadata) => (SUPERBLOCK_BYTES, metadata, self.allocator.end()),
            None => {
                let at = self.allocator.metadata_end()?;
                let metadata = encode(at)?;
                let end = (at + metadata.bytes.len() as u64).next_multiple_of(page_bytes.unwrap_or(1));
                (at, metadata, end)
            }
        };
        self.place_references(&file, regions, &metadata.addresses)?;
        let chosen = chosen(&self.objects, &own);
        let object_indexes = object_indexes(&chosen);
        for references in chosen.values().filter_map(|object| object.references.as_ref()) {
            let values = references.values(&object_indexes, &metadata.addresses)?;
            let address = references.address.ok_or_else(|| Error::internal("references without an address"))?;
            self.allocator.write_at(address, &values)?;
        }
        let mut superblock = encode_superblock(&metadata, end, self.allocator.user_block());
        if at == SUPERBLOCK_BYTES {
            superblock.extend_from_slice(&metadata.bytes);
        } else {
            self.allocator.write_at(at, &metadata.bytes)?;
        }
        self.allocator.write_at(0, &superblock)?;
        Ok(end)
    }

    /// Puts the values of compact datasets into the description of their objects.
    fn take_compact(&self, file: &mut NewFile, own: impl Fn(&DatasetWriter) -> bool) -> Result<()> {
        let chosen = chosen(&self.objects, own);
        for (object, described) in chosen.values().filter(|object| object.link.is_none()).zip(&mut file.objects) {
            let (Some(dataset), NewContent::Dataset(new)) = (&object.dataset, &mut described.content) else { continue };
            let NewStorage::Contiguous(Some(address)) = new.storage else { continue };
            let length = new.dataspace.element_count()?.saturating_mul(new.datatype.size());
            if !dataset.definition().is_compact || new.datatype.has_references() || length > MAX_COMPACT_BYTES {
                continue;
            }
            let mut bytes = vec![0; memory_length(length)?];
            self.allocator.read_at(address, &mut bytes)?;
            new.storage = NewStorage::Compact(bytes);
        }
        Ok(())
    }

    /// Finishes the files of a task. Returns the length of its own file, `None` if it wrote to the shared subfile only.
    pub(crate) fn finish_task(mut self) -> Result<Option<u64>> {
        let shared = match self.shared.take() {
            None => return self.finish(Existing::Keep).map(Some),
            Some(shared) => shared.into_shared()?,
        };
        if let Some(error) = self.broken.take() {
            return Err(error);
        }
        if self.durable {
            shared.sync()?;
        }
        let has_own = self.objects.values().any(|object| object.dataset.as_ref().is_some_and(|dataset| !dataset.is_shared()));
        if !has_own && self.allocator.is_deferred() {
            return Ok(None);
        }
        let end = self.complete(|dataset| !dataset.is_shared())?;
        let mut output = self.allocator.into_output()?;
        if !self.durable {
            output.without_sync();
        }
        output.publish(end, Existing::Keep)?;
        Ok(Some(end))
    }

    /// Finishes a task's own file and returns its length. If it has at most `max_bytes`, its content is returned instead of
    /// leaving a file; a larger file stays, as after [`FileWriter::finish_task`].
    pub(crate) fn finish_small(mut self, max_bytes: u64) -> Result<(u64, Option<Vec<u8>>)> {
        let end = self.complete(|_| true)?;
        if end <= max_bytes {
            let mut content = vec![0; memory_length(end)?];
            self.allocator.read_at(0, &mut content)?;
            return Ok((end, Some(content)));
        }
        let mut output = self.allocator.into_output()?;
        if !self.durable {
            output.without_sync();
        }
        output.publish(end, Existing::Keep)?;
        Ok((end, None))
    }

    /// Finishes the file without leaving one, and returns its content.
    ///
    /// # Errors
    /// `LimitExceeded` for more than `max_bytes`.
    pub(crate) fn finish_content(mut self, max_bytes: u64) -> Result<Vec<u8>> {
        let end = self.complete(|_| true)?;
        if end > max_bytes {
            return Err(Error::limit_exceeded(format!("a file of {end} bytes, and at most {max_bytes} are kept in memory")));
        }
        let mut content = vec![0; memory_length(end)?];
        self.allocator.read_at(0, &mut content)?;
        Ok(content)
    }

    /// Completes a shared subfile: writes all metadata from offset `at` on and returns the length of the file.
    pub(crate) fn finish_shared(&self, file: &SharedFile, at: u64) -> Result<u64> {
        let metadata = encode_metadata(&describe(&self.objects, &self.targets, self.newest, |_| true)?, at, None)
            .map_err(|error| error.in_file(file.path().display().to_string()))?;
        let end = at + metadata.bytes.len() as u64;
        file.write_at(at, &metadata.bytes)?;
        file.write_at(0, &encode_superblock(&metadata, end, 0))?;
        file.end_at(end)?;
        if self.durable {
            file.sync()?;
        }
        Ok(end)
    }
}
