//! Texts of a local heap: added in free room, or after the data segment has moved to a larger place, and removed. The header keeps its address.

use hyperslab_array::{Error, Result};

use super::space::{PageKind, Space};
use crate::hdf5::{Encoder, Source};

/// Alignment of texts and free blocks, in bytes.
const ALIGNMENT: usize = 8;
/// Offset in the free list that means that there is no other block.
const NO_FREE: u64 = 1;

/// A heap that is edited, in memory until [`LocalHeapEdit::store`].
pub(super) struct LocalHeapEdit<'a> {
    source: &'a Source,
    space: &'a dyn Space,
    header: u64,
    segment: u64,
    data: Vec<u8>,
    /// Offset and length of free blocks, by offset.
    free: Vec<(usize, usize)>,
    /// Place and length of a data segment that was left.
    left: Option<(u64, u64)>,
}

impl<'a> LocalHeapEdit<'a> {
    /// The heap whose header lies at `header`.
    pub fn open(source: &'a Source, space: &'a dyn Space, header: u64) -> Result<Self> {
        let bytes = source.read(header, header_bytes(source))?;
        let mut cursor = source.cursor(&bytes, header);
        cursor.signature(b"HEAP")?;
        cursor.version(0, "a local heap")?;
        cursor.skip(3)?;
        let length = cursor.length()?;
        let mut next = cursor.length()?;
        let segment = cursor.defined_address("a local heap's data segment")?;
        let data = source.read(segment, length)?.into_owned();
        let mut free: Vec<(usize, usize)> = Vec::new();
        let damaged = || Error::corrupt("a local heap whose free list makes no sense");
        while next != NO_FREE {
            let at = usize::try_from(next).map_err(|_| damaged())?;
            let mut cursor = source.cursor(data.get(at..).ok_or_else(damaged)?, segment);
            next = cursor.length()?;
            let length = usize::try_from(cursor.length()?).map_err(|_| damaged())?;
            // Each block takes room, which bounds their number.
            if length < min_free(source) || at.checked_add(length).is_none_or(|end| end > data.len()) || free.len() > data.len() / min_free(source) {
                return Err(damaged());
            }
            free.push((at, length));
        }
        free.sort_unstable();
        if free.windows(2).any(|pair| matches!(pair, [(start, length), (next, _)] if start + length > *next)) {
            return Err(damaged());
        }
        Ok(Self { source, space, header, segment, data, free, left: None })
    }

    /// The text at `offset`, without its NUL.
    pub fn text(&self, offset: u64) -> Result<&[u8]> {
        let tail = usize::try_from(offset).ok().and_then(|start| self.data.get(start..));
        let text = tail.and_then(|tail| tail.get(..tail.iter().position(|byte| *byte == 0)?));
        text.ok_or_else(|| Error::corrupt(format!("no name at offset {offset} of a local heap")))
    }

    /// Adds a text; returns its offset.
    pub fn insert(&mut self, text: &[u8]) -> Result<u64> {
        let needed = (text.len() + 1).next_multiple_of(ALIGNMENT);
        let fits = |(_, length): &(usize, usize)| *length == needed || *length >= needed + min_free(self.source);
        let at = match self.free.iter().position(fits) {
            Some(found) => found,
            None => self.grow(needed + min_free(self.source))?,
        };
        let block = self.free.get_mut(at).ok_or_else(|| Error::internal("a free block that is gone"))?;
        let (start, length) = *block;
        if length == needed {
            self.free.remove(at);
        } else {
            *block = (start + needed, length - needed);
        }
        let target = self.data.get_mut(start..start + needed).ok_or_else(|| Error::internal("a free block outside of its heap"))?;
        target.fill(0);
        target.iter_mut().zip(text).for_each(|(to, byte)| *to = *byte);
        Ok(start as u64)
    }

    /// Removes the text at `offset`.
    pub fn remove(&mut self, offset: u64) -> Result<()> {
        let length = (self.text(offset)?.len() + 1).next_multiple_of(ALIGNMENT);
        let start = usize::try_from(offset).map_err(|_| Error::internal("a text beyond memory"))?;
        // The text at the beginning is the first key of each tree.
        if start == 0 || !start.is_multiple_of(ALIGNMENT) || self.overlaps_free(start, length) {
            return Ok(());
        }
        self.release(start, length.min(self.data.len() - start));
        Ok(())
    }

    fn overlaps_free(&self, start: usize, length: usize) -> bool {
        self.free.iter().any(|(at, free)| *at < start + length && start < at + free)
    }

    /// Joins a free block with its neighbors. One that is too short for a place in the list is lost.
    fn release(&mut self, start: usize, length: usize) {
        let at = self.free.partition_point(|(other, _)| *other < start);
        self.free.insert(at, (start, length));
        for first in [at, at.saturating_sub(1)] {
            if let Some([(start, length), (next, more)]) = self.free.get(first..first + 2)
                && start + length == *next
            {
                let joined = (*start, length + more);
                self.free.remove(first);
                if let Some(block) = self.free.get_mut(first) {
                    *block = joined;
                }
            }
        }
        let min = min_free(self.source);
        self.free.retain(|(_, length)| *length >= min);
    }

    /// Moves the data segment to a place that has `needed` more free bytes at its end. Returns the free block there.
    fn grow(&mut self, needed: usize) -> Result<usize> {
        let before = self.data.len();
        let length = (2 * before).max(before + needed).next_multiple_of(ALIGNMENT);
        self.left = self.left.or(Some((self.segment, before as u64)));
        self.data.resize(length, 0);
        self.release(before, length - before);
        // The place is found when the heap is stored: it may grow again.
        self.free.len().checked_sub(1).ok_or_else(|| Error::internal("a heap that grew without room"))
    }

    /// Writes the heap.
    pub fn store(mut self) -> Result<()> {
        if let Some((segment, length)) = self.left {
            self.space.free(PageKind::Metadata, segment, length)?;
            self.segment = self.space.allocate(PageKind::Metadata, self.data.len() as u64)?;
        }
        let l = usize::from(self.source.length_size);
        let starts: Vec<usize> = self.free.iter().map(|(start, _)| *start).collect();
        for (number, (start, length)) in self.free.iter().enumerate() {
            let mut block = Encoder::default();
            block.uint(starts.get(number + 1).map_or(NO_FREE, |next| *next as u64), l);
            block.uint(*length as u64, l);
            let block = block.finish();
            let target = self.data.get_mut(*start..start + block.len()).ok_or_else(|| Error::internal("a free block outside of its heap"))?;
            target.copy_from_slice(&block);
        }
        self.space.write(self.segment, &self.data)?;
        let mut header = Encoder::signed(b"HEAP");
        header.u32(0);
        header.uint(self.data.len() as u64, l);
        header.uint(starts.first().map_or(NO_FREE, |first| *first as u64), l);
        header.uint(self.segment, self.source.offset_size.into());
        self.space.write(self.header, &header.finish())
    }

    /// Frees the heap.
    pub fn free(self) -> Result<()> {
        self.space.free(PageKind::Metadata, self.segment, self.data.len() as u64)?;
        self.space.free(PageKind::Metadata, self.header, header_bytes(self.source))
    }
}

fn header_bytes(source: &Source) -> u64 {
    8 + 2 * u64::from(source.length_size) + u64::from(source.offset_size)
}

/// Bytes of the shortest free block: the next one's offset and its own length.
fn min_free(source: &Source) -> usize {
    (2 * usize::from(source.length_size)).next_multiple_of(ALIGNMENT)
}
