//! Allocates space in the file that is being written.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use hyperslab_array::{Cancellation, Error, Result};
use hyperslab_formats::hdf5::writer::{HeapWriter, PageKind, Pages, SUPERBLOCK_BYTES};
use hyperslab_storage::{Existing, Output, SharedFile, Storage, StorageOptions, block_bytes_in, folder_of};
use serde::{Deserialize, Serialize};

/// Output file of a writer and the position where its next bytes go.
#[derive(Debug)]
pub(crate) struct Allocator {
    file: Destination,
    room: Space,
    alignment: u64,
    /// End of the last byte written.
    top: u64,
    /// Bytes reserved for users at the beginning of the file (HDF5's user block).
    user_block: u64,
    /// Bytes of partial chunks of all datasets held in memory.
    partial_chunk_bytes: u64,
    /// A heap collection with free space, and its address.
    pub(super) open_heap: Option<(u64, HeapWriter)>,
    /// Cancelled when the caller gives up.
    pub cancellation: Cancellation,
}

#[derive(Debug)]
enum Destination {
    /// A file that is created with its first write.
    Deferred(PathBuf),
    /// A file that only this writer writes.
    Own(Output),
    /// A file that several tasks write.
    Shared(SharedFile),
}

#[derive(Debug)]
enum Space {
    /// Everything from `next` on. `front` is the gap left before the first aligned block.
    Unbounded { next: u64, front: Option<FreeRange> },
    /// Pages (HDF5's file space strategy PAGE); the first page holds metadata.
    Pages(Pages),
    /// Segments of this writer, interleaved with segments of the other writers.
    Segments(Segments),
}

impl Space {
    /// All of a file after the superblock.
    const UNBOUNDED: Self = Self::Unbounded { next: SUPERBLOCK_BYTES, front: None };
}

/// Where the next values go, for a copy that is resumed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Position {
    /// End of everything that was allocated.
    pub end: u64,
    /// End of the last byte written; the rest of a page may follow.
    pub top: u64,
    /// The gap before the first aligned block.
    pub front: Option<FreeRange>,
}

/// Free bytes near the beginning of the file: `start..stop`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FreeRange {
    pub start: u64,
    pub stop: u64,
}

/// Segments of one writer: segment `i` begins at `first + i * step`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Segments {
    pub first: u64,
    pub step: u64,
    /// Length of a segment in bytes.
    pub bytes: u64,
    /// Bytes used in the current segment, and its index.
    pub used: u64,
    pub index: u64,
}

impl Allocator {
    fn new(file: Destination, room: Space, alignment: u64) -> Self {
        Self { file, room, alignment, top: 0, user_block: 0, partial_chunk_bytes: 0, open_heap: None, cancellation: Cancellation::new() }
    }

    /// A file that has the name `target` from the start.
    pub fn in_place(target: &Path, alignment: Option<u64>) -> Result<Self> {
        let output = Output::in_place(target)?;
        let alignment = alignment.unwrap_or_else(|| output.block_bytes());
        Ok(Self::new(Destination::Own(output), Space::UNBOUNDED, alignment))
    }

    /// A file that gets the name `target`, a path or an address, when it is complete; `existing` says what happens to a file of that name.
    pub fn own(target: &Path, existing: Existing, alignment: Option<u64>, options: &StorageOptions) -> Result<Self> {
        let output = Output::create_at(target, existing, options)?;
        let alignment = alignment.unwrap_or_else(|| output.block_bytes());
        Ok(Self::new(Destination::Own(output), Space::UNBOUNDED, alignment))
    }

    /// The object at an address, one of many parts of a write. It is written to a local file without a name, and uploaded when it is complete.
    pub fn object(address: &str, alignment: Option<u64>, options: &StorageOptions) -> Result<Self> {
        let output = Output::create_object(address, options)?;
        let alignment = alignment.unwrap_or_else(|| output.block_bytes());
        Ok(Self::new(Destination::Own(output), Space::UNBOUNDED, alignment))
    }

    /// Like [`Allocator::in_place`], but the file is created with the first write.
    pub fn deferred(target: &Path, alignment: Option<u64>) -> Result<Self> {
        let alignment = match alignment {
            Some(alignment) => alignment,
            None => block_bytes_in(&folder_of(target))?,
        };
        Ok(Self::new(Destination::Deferred(target.to_path_buf()), Space::UNBOUNDED, alignment))
    }

    /// The file of a copy that can be resumed, and how many bytes a former run has left.
    pub fn resumable(target: &Path, aside: PathBuf, alignment: Option<u64>) -> Result<(Self, u64)> {
        let (output, length) = Output::resumable(target, aside)?;
        let alignment = alignment.unwrap_or_else(|| output.block_bytes());
        Ok((Self::new(Destination::Own(output), Space::UNBOUNDED, alignment), length))
    }

    /// One writer's segments in a file that several tasks write.
    pub fn shared(file: SharedFile, segments: Segments, alignment: u64) -> Self {
        Self::new(Destination::Shared(file), Space::Segments(segments), alignment)
    }

    /// Reserves `bytes` at the beginning of the file for users. Call it before the first write.
    pub fn set_user_block(&mut self, bytes: u64) {
        self.user_block = bytes;
    }

    /// Divides the file into pages of `page_bytes`. Call it before the first write.
    pub fn set_pages(&mut self, page_bytes: u64) {
        self.room = Space::Pages(Pages::new(page_bytes, page_bytes));
    }

    /// Page size in bytes, `None` if the file is not paged.
    pub fn page_bytes(&self) -> Option<u64> {
        if let Space::Pages(pages) = &self.room { Some(pages.page_bytes()) } else { None }
    }

    /// Size of the user block in bytes. Addresses count from its end.
    pub fn user_block(&self) -> u64 {
        self.user_block
    }

    /// Bytes of partial chunks that the file's datasets hold in memory. Chunks of a deleted dataset still count.
    pub fn partial_chunk_bytes(&self) -> u64 {
        self.partial_chunk_bytes
    }

    /// Updates the count of partial chunk bytes: a dataset that held `before` bytes now holds `after`.
    pub fn replace_partial_chunk_bytes(&mut self, before: u64, after: u64) {
        self.partial_chunk_bytes = self.partial_chunk_bytes.saturating_sub(before).saturating_add(after);
    }

    /// Path of the file, or the path that it gets when it is complete.
    pub fn target(&self) -> &Path {
        match &self.file {
            Destination::Deferred(target) => target,
            Destination::Own(output) => output.target(),
            Destination::Shared(file) => file.path(),
        }
    }

    /// End of the last byte written.
    pub fn top(&self) -> u64 {
        self.top
    }

    /// Whether the file does not exist yet, because nothing was written.
    pub fn is_deferred(&self) -> bool {
        matches!(self.file, Destination::Deferred(_))
    }

    /// The output file; created now if nothing was written.
    pub fn into_output(self) -> Result<Output> {
        match self.file {
            Destination::Deferred(target) => Output::in_place(target),
            Destination::Own(output) => Ok(output),
            Destination::Shared(_) => Err(Error::internal("a shared file is not finished by one writer")),
        }
    }

    /// The shared file.
    pub fn into_shared(self) -> Result<SharedFile> {
        match self.file {
            Destination::Shared(file) => Ok(file),
            _ => Err(Error::internal("expected a shared file")),
        }
    }

    /// Allocates `length` bytes and returns their offset. Lengths of at least one file system block are aligned to it.
    pub fn allocate(&mut self, length: u64) -> Result<u64> {
        let alignment = if length >= self.alignment { self.alignment } else { 8 };
        let too_large = || Error::unsupported("files of 8 EiB or more");
        match &mut self.room {
            Space::Unbounded { next, front } => {
                let start = next.checked_next_multiple_of(alignment);
                let end = start.and_then(|start| start.checked_add(length)).filter(|end| i64::try_from(*end).is_ok());
                let (start, end) = start.zip(end).ok_or_else(too_large)?;
                if front.is_none() && alignment > 8 {
                    *front = Some(FreeRange { start: *next, stop: start });
                }
                *next = end;
                Ok(start)
            }
            Space::Pages(pages) => {
                let start = pages.allocate(PageKind::Raw, length);
                if i64::try_from(pages.end()).is_ok() { Ok(start) } else { Err(too_large()) }
            }
            Space::Segments(segments) => {
                let mut within = segments.used.checked_next_multiple_of(alignment).ok_or_else(too_large)?;
                if length > segments.bytes {
                    return Err(Error::unsupported(format!("a chunk of {length} bytes in a shared subfile with segments of {} bytes", segments.bytes)));
                }
                if within.saturating_add(length) > segments.bytes {
                    segments.index += 1;
                    within = 0;
                }
                segments.used = within + length;
                let start = segments.index.checked_mul(segments.step).and_then(|at| at.checked_add(segments.first)?.checked_add(within));
                start.filter(|start| start.checked_add(length).is_some_and(|end| i64::try_from(end).is_ok())).ok_or_else(too_large)
            }
        }
    }

    /// Free bytes near the beginning of the file, before the first aligned block.
    pub fn front(&self) -> Option<FreeRange> {
        match &self.room {
            Space::Unbounded { front, .. } => *front,
            Space::Pages(pages) => Some(FreeRange { start: SUPERBLOCK_BYTES, stop: pages.page_bytes() }),
            Space::Segments(_) => None,
        }
    }

    /// End of all allocated space.
    pub fn end(&self) -> u64 {
        match &self.room {
            Space::Unbounded { next, .. } => *next,
            Space::Pages(pages) => pages.end(),
            Space::Segments(_) => self.top,
        }
    }

    /// Where the next values go.
    pub fn position(&self) -> Position {
        let front = if let Space::Unbounded { front, .. } = &self.room { *front } else { None };
        Position { end: self.end(), top: self.top, front }
    }

    /// Goes on where a former run ended. Call it before the first write.
    pub fn resume(&mut self, position: &Position) {
        self.top = position.top;
        match &mut self.room {
            Space::Unbounded { next, front } => (*next, *front) = (position.end, position.front),
            Space::Pages(pages) => *pages = Pages::new(pages.page_bytes(), position.end),
            Space::Segments(_) => {}
        }
    }

    /// Syncs what was written to the disk. Later values follow it.
    pub fn sync_values(&mut self) -> Result<Position> {
        if let Space::Pages(pages) = &mut self.room {
            *pages = Pages::new(pages.page_bytes(), pages.end());
        }
        if let Destination::Own(output) = &self.file {
            output.sync_values()?;
        }
        Ok(self.position())
    }

    /// Offset for metadata that follows all values.
    pub fn metadata_end(&mut self) -> Result<u64> {
        match &self.room {
            Space::Pages(pages) => Ok(pages.end()),
            _ => self.allocate(0),
        }
    }

    /// Offset for bytes whose length is not known yet, a multiple of 8. [`Allocator::write_open`] allocates and writes them.
    pub fn open_end(&mut self) -> Result<u64> {
        match self.room {
            Space::Unbounded { .. } => self.allocate(0),
            Space::Pages(ref pages) => Ok(pages.raw_end()),
            Space::Segments(_) => Err(Error::unsupported("values of variable length in a shared subfile")),
        }
    }

    /// Writes `bytes` at `at`, the offset returned by [`Allocator::open_end`], and allocates their space.
    pub fn write_open(&mut self, at: u64, bytes: &[u8]) -> Result<()> {
        match &mut self.room {
            Space::Unbounded { next, .. } => *next = at + bytes.len() as u64,
            Space::Pages(pages) => pages.take_raw(at, bytes.len() as u64),
            Space::Segments(_) => {}
        }
        self.write_at(at, bytes)
    }

    pub fn write_at(&mut self, offset: u64, bytes: &[u8]) -> Result<()> {
        if let Destination::Deferred(target) = &self.file {
            self.file = Destination::Own(Output::in_place(target)?);
        }
        self.top = self.top.max(offset.saturating_add(bytes.len() as u64));
        match &self.file {
            Destination::Own(output) => output.write_at(offset.saturating_add(self.user_block), bytes),
            Destination::Shared(file) => file.write_at(offset, bytes),
            Destination::Deferred(_) => Err(Error::internal("the output file was not created")),
        }
    }

    /// Fills the beginning of the user block.
    pub fn write_user_block(&mut self, bytes: &[u8]) -> Result<()> {
        if bytes.len() as u64 > self.user_block {
            return Err(Error::invalid_input(format!("{} bytes for a user block of {}", bytes.len(), self.user_block)));
        }
        if let Destination::Deferred(target) = &self.file {
            self.file = Destination::Own(Output::in_place(target)?);
        }
        match &self.file {
            Destination::Own(output) => output.write_at(0, bytes),
            Destination::Shared(_) | Destination::Deferred(_) => Err(Error::internal("a user block in a file of several tasks")),
        }
    }

    pub fn read_at(&self, offset: u64, bytes: &mut [u8]) -> Result<()> {
        match &self.file {
            Destination::Own(output) => output.read_at(offset.saturating_add(self.user_block), bytes),
            Destination::Shared(file) => file.read_at(offset, bytes),
            Destination::Deferred(_) => Err(Error::internal("reading back a file that was not created")),
        }
    }

    /// Everything written so far, as a storage that can be read.
    pub fn storage(&self) -> Result<Arc<dyn Storage>> {
        match &self.file {
            Destination::Own(output) => output.storage(),
            Destination::Shared(_) => Err(Error::unsupported("reading back a file that several tasks write")),
            Destination::Deferred(_) => Err(Error::internal("reading back a file that was not created")),
        }
    }
}

/// Checks that the alignment is a power of two of at least 8.
pub(crate) fn checked_alignment(alignment: Option<u64>) -> Result<Option<u64>> {
    match alignment {
        Some(alignment) if !alignment.is_power_of_two() || alignment < 8 => Err(Error::invalid_input("alignment must be a power of two of at least 8")),
        alignment => Ok(alignment),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writers_of_one_file_take_turns_in_its_space() -> std::result::Result<(), Box<dyn std::error::Error>> {
        let folder = tempfile::tempdir()?;
        let mut taken: Vec<(u64, u64)> = Vec::new();
        for slot in 0..3u64 {
            let segments = Segments { first: 4096 + slot * 1000, step: 3000, bytes: 1000, used: 0, index: 0 };
            let mut allocator = Allocator::shared(SharedFile::open(&folder.path().join("x"))?, segments, 512);
            for length in [1, 300, 600, 520, 10, 1000, 999, 7] {
                let at = allocator.allocate(length)?;
                let segment = (at - 4096) / 1000;
                assert_eq!(segment % 3, slot);
                assert_eq!((at + length - 1 - 4096) / 1000, segment, "a block within a segment");
                taken.push((at, length));
            }
            assert!(allocator.allocate(1001).is_err() && allocator.open_end().is_err());
        }
        taken.sort_unstable();
        assert!(taken.windows(2).all(|pair| matches!(pair, [(a, n), (b, _)] if a + n <= *b)));
        Ok(())
    }
}
