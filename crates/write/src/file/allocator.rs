//! Room: where in a file the next bytes of a writer go.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use hyperslab_array::{Cancellation, Error, Result};
use hyperslab_formats::hdf5::writer::{PageKind, Pages, SUPERBLOCK_BYTES};
use hyperslab_storage::{Existing, Output, SharedFile, Storage, block_bytes_in, folder_of};

/// A file under way and where its next bytes go.
#[derive(Debug)]
pub(crate) struct Allocator {
    file: Destination,
    room: Space,
    alignment: u64,
    /// Where the last byte ends that was written.
    top: u64,
    /// Bytes of the file before everything else, which readers leave to users.
    user_block: u64,
    /// Bytes of unfinished chunks of all datasets that wait in memory.
    partial_chunk_bytes: u64,
    /// Whether whoever waits for what is being written has given up.
    pub cancellation: Cancellation,
}

#[derive(Debug)]
enum Destination {
    /// A file that is made when there is something to write into it.
    Deferred(PathBuf),
    /// A file of the writer's own.
    Own(Output),
    /// A file that others write too.
    Shared(SharedFile),
}

#[derive(Debug)]
enum Space {
    /// All from here on, and what was left free before the first block that begins on one of the file system.
    Unbounded { next: u64, front: Option<FreeRange> },
    /// Pages; the first takes metadata.
    Pages(Pages),
    /// Segments, one after the other, between which are those of the other writers.
    Segments(Segments),
}

/// Free bytes at the beginning of a file: from where, up to where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FreeRange {
    pub start: u64,
    pub stop: u64,
}

/// The segments of one writer: the first begins at `first`, the others `step` bytes after each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Segments {
    pub first: u64,
    pub step: u64,
    /// Length of a segment.
    pub bytes: u64,
    /// How many bytes of the present segment are used, and which it is.
    pub used: u64,
    pub index: u64,
}

impl Allocator {
    /// A file of the writer's own that is called `target` from its beginning.
    pub fn in_place(target: &Path, alignment: Option<u64>) -> Result<Self> {
        let output = Output::in_place(target)?;
        let alignment = alignment.unwrap_or_else(|| output.block_bytes());
        Ok(Self { file: Destination::Own(output), room: Space::Unbounded { next: SUPERBLOCK_BYTES, front: None }, alignment, top: 0, user_block: 0, partial_chunk_bytes: 0, cancellation: Cancellation::new() })
    }

    /// A file of the writer's own that will be called `target`, in the place of an `existing` one or not.
    pub fn own(target: &Path, existing: Existing, alignment: Option<u64>) -> Result<Self> {
        let output = Output::create(target, existing)?;
        let alignment = alignment.unwrap_or_else(|| output.block_bytes());
        Ok(Self { file: Destination::Own(output), room: Space::Unbounded { next: SUPERBLOCK_BYTES, front: None }, alignment, top: 0, user_block: 0, partial_chunk_bytes: 0, cancellation: Cancellation::new() })
    }

    /// The same as [`Allocator::in_place`], made with the first bytes that are written.
    pub fn deferred(target: &Path, alignment: Option<u64>) -> Result<Self> {
        let alignment = match alignment {
            Some(alignment) => alignment,
            None => block_bytes_in(&folder_of(target))?,
        };
        Ok(Self { file: Destination::Deferred(target.to_path_buf()), room: Space::Unbounded { next: SUPERBLOCK_BYTES, front: None }, alignment, top: 0, user_block: 0, partial_chunk_bytes: 0, cancellation: Cancellation::new() })
    }

    /// A writer's part of a file that others write too.
    pub fn shared(file: SharedFile, segments: Segments, alignment: u64) -> Self {
        Self { file: Destination::Shared(file), room: Space::Segments(segments), alignment, top: 0, user_block: 0, partial_chunk_bytes: 0, cancellation: Cancellation::new() }
    }

    /// Leaves `bytes` free at the beginning of a file of the writer's own, of which nothing is written yet.
    pub fn set_user_block(&mut self, bytes: u64) {
        self.user_block = bytes;
    }

    /// Makes the file one of pages, of which nothing is written yet.
    pub fn set_pages(&mut self, page_bytes: u64) {
        self.room = Space::Pages(Pages::new(page_bytes, page_bytes));
    }

    /// Bytes of a page in a file of pages.
    pub fn page_bytes(&self) -> Option<u64> {
        if let Space::Pages(pages) = &self.room { Some(pages.page_bytes()) } else { None }
    }

    /// Bytes before everything else, from which addresses count.
    pub fn user_block(&self) -> u64 {
        self.user_block
    }

    /// Bytes of unfinished chunks that the file's datasets keep in memory. Chunks of a deleted dataset still count.
    pub fn partial_chunk_bytes(&self) -> u64 {
        self.partial_chunk_bytes
    }

    /// Counts `after` bytes of a dataset's unfinished chunks, which were `before` bytes.
    pub fn replace_partial_chunk_bytes(&mut self, before: u64, after: u64) {
        self.partial_chunk_bytes = self.partial_chunk_bytes.saturating_sub(before).saturating_add(after);
    }

    /// The name that the file will have, or has.
    pub fn target(&self) -> &Path {
        match &self.file {
            Destination::Deferred(target) => target,
            Destination::Own(output) => output.target(),
            Destination::Shared(file) => file.path(),
        }
    }

    /// Where the last byte ends that was written.
    pub fn top(&self) -> u64 {
        self.top
    }

    /// Whether nothing was written yet, so that there is no file.
    pub fn is_deferred(&self) -> bool {
        matches!(self.file, Destination::Deferred(_))
    }

    /// The file of the writer's own, made now if it was not yet.
    pub fn into_output(self) -> Result<Output> {
        match self.file {
            Destination::Deferred(target) => Output::in_place(target),
            Destination::Own(output) => Ok(output),
            Destination::Shared(_) => Err(Error::internal("a shared file has no end of its own")),
        }
    }

    /// The file that others write too.
    pub fn into_shared(self) -> Result<SharedFile> {
        match self.file {
            Destination::Shared(file) => Ok(file),
            _ => Err(Error::internal("a file of its own is not shared")),
        }
    }

    /// Room for `length` bytes; what fills a block of the file system begins on one.
    pub fn allocate(&mut self, length: u64) -> Result<u64> {
        let alignment = if length >= self.alignment { self.alignment } else { 8 };
        let too_large = || Error::unsupported("a file of 8 EiB or more");
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
                    return Err(Error::unsupported(format!("{length} bytes at once in a shared subfile whose segments have {}", segments.bytes)));
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

    /// What is free at the beginning, before the first block that begins on one of the file system.
    pub fn front(&self) -> Option<FreeRange> {
        match &self.room {
            Space::Unbounded { front, .. } => *front,
            Space::Pages(pages) => Some(FreeRange { start: SUPERBLOCK_BYTES, stop: pages.page_bytes() }),
            Space::Segments(_) => None,
        }
    }

    /// Where everything ends for which room was taken.
    pub fn end(&self) -> u64 {
        match &self.room {
            Space::Unbounded { next, .. } => *next,
            Space::Pages(pages) => pages.end(),
            Space::Segments(_) => self.top,
        }
    }

    /// Where metadata goes that follows everything else.
    pub fn metadata_end(&mut self) -> Result<u64> {
        match &self.room {
            Space::Pages(pages) => Ok(pages.end()),
            _ => self.allocate(0),
        }
    }

    /// Room for bytes whose number is known when they are there: where they begin, a multiple of 8. They are
    /// taken with [`Allocator::write_open`].
    pub fn open_end(&mut self) -> Result<u64> {
        match self.room {
            Space::Unbounded { .. } => self.allocate(0),
            Space::Pages(ref pages) => Ok(pages.raw_end()),
            Space::Segments(_) => Err(Error::unsupported("values of variable length in a shared subfile")),
        }
    }

    /// Writes what belongs at the address of [`Allocator::open_end`].
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
            Destination::Deferred(_) => Err(Error::internal("a file that was not made")),
        }
    }

    pub fn read_at(&self, offset: u64, bytes: &mut [u8]) -> Result<()> {
        match &self.file {
            Destination::Own(output) => output.read_at(offset.saturating_add(self.user_block), bytes),
            Destination::Shared(file) => file.read_at(offset, bytes),
            Destination::Deferred(_) => Err(Error::internal("reading back what was not written")),
        }
    }

    /// What was written so far, for readers.
    pub fn storage(&self) -> Result<Arc<dyn Storage>> {
        match &self.file {
            Destination::Own(output) => output.storage(),
            Destination::Shared(_) => Err(Error::unsupported("reading back a file that several tasks write")),
            Destination::Deferred(_) => Err(Error::internal("reading back what was not written")),
        }
    }
}

/// The alignment, if blocks can have it.
pub(crate) fn checked_alignment(alignment: Option<u64>) -> Result<Option<u64>> {
    match alignment {
        Some(alignment) if !alignment.is_power_of_two() || alignment < 8 => Err(Error::invalid_input("an alignment that is no power of two from 8 on")),
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
