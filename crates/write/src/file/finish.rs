//! Finish: the end of a subfile. Chunks that waited go out, then all that describes the file, the superblock last.

use std::path::Path;

use hyperslab_array::{Error, Result};
use hyperslab_formats::hdf5::writer::{SUPERBLOCK_BYTES, encode_metadata, encode_superblock};
use hyperslab_storage::{Existing, SharedFile};

use super::dataset::DatasetWriter;
use super::description::{chosen, describe, object_indexes};
use super::file_writer::FileWriter;
use super::memory_length::memory_length;

/// A file of as many objects has more metadata than goes before its values: it is not tried.
const MAX_OBJECTS_IN_FRONT: usize = 1 << 10;

impl FileWriter {
    /// Writes the chunks that still wait for elements.
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

    /// Writes what is left and makes the file visible; its length in bytes. An error leaves no file, and so does
    /// one that a write met before, whoever caught it.
    pub fn finish(self, existing: Existing) -> Result<u64> {
        self.finish_if(existing, |_| Ok(()))
    }

    /// As [`FileWriter::finish`]; `decide` is called with the name of the complete file before it gets its own, and an error of
    /// it leaves no file.
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

    /// Writes what is left and everything that describes it; where the file ends.
    fn complete(&mut self, own: impl Fn(&DatasetWriter) -> bool) -> Result<u64> {
        if let Some(error) = self.broken.take() {
            return Err(error);
        }
        self.flush()?;
        for references in self.objects.values_mut().filter_map(|object| object.references.as_mut()) {
            references.address = Some(self.allocator.allocate(references.bytes())?);
        }
        let file = describe(&self.objects, &self.targets, &own)?;
        let regions = self.place_regions(&file)?;
        let name = self.target().display().to_string();
        let page_bytes = self.allocator.page_bytes();
        let encode = |at: u64| encode_metadata(&file, at, page_bytes).map_err(|error| error.in_file(&name));
        // Beside the superblock, where there is room before the values: readers get both at once.
        let in_front = match self.allocator.front().filter(|front| front.start == SUPERBLOCK_BYTES) {
            Some(front) if self.objects.len() < MAX_OBJECTS_IN_FRONT => Some(encode(front.start)?).filter(|metadata| metadata.bytes.len() as u64 <= front.stop - front.start),
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

    /// Ends a task's part: what is in a file of its own becomes visible there, and nothing where there is none.
    /// Gives that file's length.
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

    /// Ends a task's file of its own. The content of one of up to `max_bytes` is returned, and no file is left; a larger one
    /// stays, as after [`FileWriter::finish_task`]. Gives its length in either case.
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

    /// Makes a file that several tasks have filled an HDF5 file: all metadata from byte `at` on; its length.
    pub(crate) fn finish_shared(&self, file: &SharedFile, at: u64) -> Result<u64> {
        let metadata = encode_metadata(&describe(&self.objects, &self.targets, |_| true)?, at, None).map_err(|error| error.in_file(file.path().display().to_string()))?;
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
