//! Free space: ranges that nothing in the file refers to. They are used again after the commit that frees them, so that a file
//! which is overwritten again and again stays small.
//!
//! The list lies near the end of the file, where the next session finds it. No other program knows these ranges as free, so none uses
//! them, whatever it appends. A list that is replaced loses its magic number in the same commit. One that is no longer found, because much
//! was appended, costs space and no data.
//!
//! A new list gets its last magic number when its commit is applied, not before: what a killed edit leaves after the end of the file becomes a
//! part of the file with the next commit, and its list, of ranges that are in use, must not be taken for the file's.

use hyperslab_formats::hdf5::edit::PageKind;

use crate::ranges::{ALIGNMENT, Paging, Pool, Range, Rules};

pub(crate) const MAGIC: [u8; 8] = *b"HSLFREE2";
/// Block length, checksum and the second magic number.
const FOOTER_BYTES: usize = 20;
const HEADER_BYTES: usize = 24;
const RANGE_BYTES: usize = 16;
/// Most ranges that a list keeps: the largest.
const MAX_RANGES: usize = 4096;
const MIN_BLOCK_BYTES: usize = 512;
const MAX_BLOCK_BYTES: usize = HEADER_BYTES + MAX_RANGES * RANGE_BYTES + FOOTER_BYTES;
/// Minimum free bytes in a file that has a list.
const MIN_LISTED_BYTES: u64 = 512;
/// Bytes before the end of the file in which a list is searched for, and in which it stays where it is.
const SEARCHED_BYTES: u64 = 1 << 20;
pub(crate) const LEFT_BYTES: u64 = SEARCHED_BYTES / 2;
/// Bytes at the end of a list; changing them invalidates the list.
pub(crate) const MAGIC_BYTES: u64 = MAGIC.len() as u64;
/// Flag of the length of a range: in a file of pages, it is in pages of raw data.
const RAW: u64 = 1 << 63;

/// The free ranges of a file that is edited.
#[derive(Debug, Clone, Default)]
pub(crate) struct FreeSpace {
    /// Ranges that may be used.
    usable: Pool,
    /// Ranges that the last commit still uses.
    pending: Pool,
    /// Ranges of the committed file that the changes under way have taken: freed, they may be used at once.
    taken: Pool,
    /// What a file without the changes under way has.
    committed: Pool,
    /// The list in the file: its place, and what it holds.
    pub listed: Option<(Range, Pool)>,
    /// Whether the changes under way leave the list without another one.
    pub loses_list: bool,
    /// The pages of a file that has some.
    pub paging: Option<Paging>,
}

impl FreeSpace {
    /// The list that the last bytes of a file hold, whose stated end is `end`; nothing if they hold none.
    pub fn of_file(listed: Option<(Range, Pool)>, paging: Option<Paging>) -> Self {
        let usable = listed.as_ref().map(|(_, ranges)| ranges.clone()).unwrap_or_default();
        Self { committed: usable.clone(), usable, pending: Pool::default(), taken: Pool::default(), listed, loses_list: false, paging }
    }

    /// What a range holds: without pages, metadata and raw data share all.
    fn kind(&self, kind: PageKind) -> PageKind {
        if self.paging.is_some() { kind } else { PageKind::Metadata }
    }

    /// Room for `bytes` in a free range from the place `from` on.
    pub fn take(&mut self, kind: PageKind, bytes: u64, from: u64) -> Option<u64> {
        let (kind, rules) = (self.kind(kind), Rules { from, paging: self.paging });
        let start = if bytes == 0 { None } else { self.usable.take(kind, bytes, &rules) }?;
        self.taken.of(kind).insert((start, bytes));
        Some(start)
    }

    /// Frees a range. One of the committed file may be used after the next commit, a new one at once.
    pub fn release(&mut self, kind: PageKind, (start, length): Range, committed_end: u64) {
        let kind = self.kind(kind);
        let is_new = start >= committed_end || self.taken.of(kind).remove((start, length));
        if is_new { self.usable.of(kind).insert((start, length)) } else { self.pending.of(kind).insert((start, length)) }
    }

    /// What is free after the next commit.
    pub fn after_commit(&self) -> Pool {
        let mut ranges = self.usable.clone();
        self.pending.iter().for_each(|(kind, range)| ranges.of(kind).insert(range));
        ranges.cut(MAX_RANGES);
        ranges
    }

    /// Whether a list is kept: a file with little free space needs none.
    pub fn needs_list(&self) -> bool {
        let is_found = self.paging.is_none_or(|paging| may_be_listed(paging.page_bytes));
        is_found && (self.listed.is_some() || self.after_commit().bytes() >= MIN_LISTED_BYTES)
    }

    /// The commit has ended: what it freed may be used.
    pub fn commit(&mut self, listed: Option<(Range, Pool)>) {
        self.usable = self.after_commit();
        (self.pending, self.taken) = Default::default();
        self.committed = self.usable.clone();
        self.listed = listed.or(self.listed.take().filter(|_| !self.loses_list));
        self.loses_list = false;
    }

    /// Back to the last commit.
    pub fn roll_back(&mut self) {
        self.usable = self.committed.clone();
        (self.pending, self.taken, self.loses_list) = Default::default();
    }
}

/// Whether a file of pages has a list. With larger pages, the end of the file may be too far from it for the next session.
pub(crate) fn may_be_listed(page_bytes: u64) -> bool {
    page_bytes <= LEFT_BYTES / 2
}

/// Bytes of a block for a list, with room for some more ranges.
pub(crate) fn block_bytes(ranges: &Pool) -> u64 {
    let needed = HEADER_BYTES + (ranges.len() + 2) * RANGE_BYTES + FOOTER_BYTES;
    needed.next_power_of_two().max(MIN_BLOCK_BYTES) as u64
}

/// The block of a list, whose last byte is the last in front of `end`. All places count from `base`.
pub(crate) fn encode(ranges: &Pool, length: u64, end: u64, base: u64) -> Vec<u8> {
    let length = usize::try_from(length).unwrap_or(usize::MAX).min(2 * MAX_BLOCK_BYTES);
    let mut ranges = ranges.clone();
    ranges.cut(length.saturating_sub(HEADER_BYTES + FOOTER_BYTES) / RANGE_BYTES);
    let mut block = MAGIC.to_vec();
    block.extend(end.saturating_sub(base).to_le_bytes());
    block.extend((ranges.len() as u64).to_le_bytes());
    let mut listed: Vec<_> = ranges.iter().collect();
    listed.sort_unstable_by_key(|(_, range)| *range);
    for (kind, (start, length)) in listed {
        block.extend(start.saturating_sub(base).to_le_bytes());
        block.extend((length | if kind == PageKind::Raw { RAW } else { 0 }).to_le_bytes());
    }
    block.resize(length - FOOTER_BYTES, 0);
    block.extend((length as u64).to_le_bytes());
    block.extend(crc32fast::hash(&block).to_le_bytes());
    block.extend(MAGIC);
    block
}

/// The last list in front of `end` and its place; `None` if there is none. `read` fills a buffer from a place in the file; nothing is free in
/// front of `first`.
pub(crate) fn find(read: &dyn Fn(u64, &mut [u8]) -> bool, first: u64, end: u64, base: u64) -> Option<(Range, Pool)> {
    let start = end.saturating_sub(SEARCHED_BYTES).max(first);
    let mut searched = vec![0; usize::try_from(end.checked_sub(start)?).ok()?];
    if !read(start, &mut searched) {
        return None;
    }
    // Lists begin and end at multiples of the alignment.
    let skipped = usize::try_from(start.next_multiple_of(ALIGNMENT) - start).unwrap_or(0);
    let aligned = searched.get(skipped..).unwrap_or_default().as_chunks::<{ MAGIC.len() }>().0;
    let ends = aligned.iter().enumerate().rev().filter(|(_, word)| **word == MAGIC);
    let mut found = ends.filter_map(|(at, _)| parse(read, first..end, start + (skipped + (at + 1) * MAGIC.len()) as u64, base));
    found.next()
}

/// The list that ends at `end`, whose ranges lie within `file`.
fn parse(read: &dyn Fn(u64, &mut [u8]) -> bool, file: std::ops::Range<u64>, end: u64, base: u64) -> Option<(Range, Pool)> {
    let mut footer = [0; FOOTER_BYTES];
    let place = end.checked_sub(FOOTER_BYTES as u64)?;
    if !read(place, &mut footer) || !footer.ends_with(&MAGIC) {
        return None;
    }
    let length = uint(footer.get(..8)?)?;
    let start = end.checked_sub(length).filter(|start| *start >= file.start)?;
    let bytes = usize::try_from(length).ok().filter(|bytes| (HEADER_BYTES + FOOTER_BYTES..=2 * MAX_BLOCK_BYTES).contains(bytes))?;
    let mut block = vec![0; bytes];
    if !read(start, &mut block) {
        return None;
    }
    let (content, sum) = block.get(..bytes - MAGIC.len())?.split_last_chunk::<4>()?;
    if crc32fast::hash(content) != u32::from_le_bytes(*sum) || !content.starts_with(&MAGIC) || uint(content.get(8..16)?)? != end.checked_sub(base)? {
        return None;
    }
    let count = usize::try_from(uint(content.get(16..24)?)?).ok().filter(|count| *count <= bytes / RANGE_BYTES)?;
    let (mut ranges, mut after) = (Pool::default(), file.start);
    for entry in content.get(HEADER_BYTES..HEADER_BYTES + count * RANGE_BYTES)?.chunks_exact(RANGE_BYTES) {
        let (begin, flagged) = (uint(entry.get(..8)?)?.checked_add(base)?, uint(entry.get(8..)?)?);
        let (length, kind) = (flagged & !RAW, if flagged & RAW == 0 { PageKind::Metadata } else { PageKind::Raw });
        let range_end = begin.checked_add(length).filter(|range_end| *range_end <= file.end && begin >= after && (*range_end <= start || begin >= end))?;
        ranges.of(kind).insert((begin, length));
        after = range_end;
    }
    Some(((start, length), ranges))
}

fn uint(bytes: &[u8]) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size(number: u64) -> usize {
        usize::try_from(number).unwrap_or(usize::MAX)
    }

    #[test]
    fn a_list_is_found_only_whole_and_in_its_place() {
        let mut ranges = Pool::default();
        (0..20).for_each(|n| ranges.of(if n % 3 == 0 { PageKind::Raw } else { PageKind::Metadata }).insert((1000 + n * 64, 8 + n)));
        let base = 512;
        let mut file = vec![7; 5000];
        let length = block_bytes(&ranges);
        let end = file.len() as u64 + length;
        file.extend(encode(&ranges, length, end, base));
        let found = |file: &[u8], end: u64| {
            let read = |at: u64, buffer: &mut [u8]| {
                let at = usize::try_from(at).unwrap_or(usize::MAX);
                file.get(at..at.saturating_add(buffer.len())).map(|bytes| buffer.copy_from_slice(bytes)).is_some()
            };
            find(&read, base, end, base)
        };
        assert_eq!(found(&file, end), Some(((5000, length), ranges.clone())));
        // More user block in front of it, and all places with it.
        let moved = [vec![0; 1024], file.clone()].concat();
        let read = |at: u64, buffer: &mut [u8]| {
            let at = usize::try_from(at).unwrap_or(usize::MAX);
            moved.get(at..at.saturating_add(buffer.len())).map(|bytes| buffer.copy_from_slice(bytes)).is_some()
        };
        let ((start, _), elsewhere) = find(&read, base + 1024, end + 1024, base + 1024).unwrap_or_default();
        assert_eq!((start, elsewhere.raw.0.keys().next()), (6024, Some(&2024)));
        // Another program has appended something.
        file.resize(file.len() + 600_000, 9);
        assert_eq!(found(&file, end + 600_000), Some(((5000, length), ranges.clone())));
        file.resize(file.len() + 600_000, 9);
        assert_eq!(found(&file, end + 1_200_000), None);
        file.truncate(size(end));
        // The same bytes at another place are not a list.
        file.insert(4000, 1);
        assert_eq!(found(&file, end + 1), None);
        file.remove(4000);
        for at in 5000..file.len() {
            file[at] ^= 1;
            assert_eq!(found(&file, end), None, "byte {at}");
            file[at] ^= 1;
        }
        assert_eq!(found(&file[..5000], 5000), None);
    }
}
