//! The journal of one commit: what it changes in the committed part of a file, as bytes that a checksum covers. It lies at the end of the
//! file, after all that the file's metadata speaks of, and its last bytes say where it begins.

use hyperslab_array::{Error, Result};
use hyperslab_formats::hdf5::edit::SuperblockImage;

use crate::disk::Disk;

const MAGIC: [u8; 24] = *b"hyperslab edit journal 2";
/// Length of the journal with its footer, the checksum of that, and a magic number.
const FOOTER_BYTES: usize = 20;
const FOOTER_MAGIC: [u8; 8] = *b"HSLJRNL2";
/// Largest journal that is read.
const MAX_JOURNAL_BYTES: u64 = 4 << 30;

/// What a commit changes in the committed part of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Change {
    /// The superblock before and after.
    pub old: SuperblockImage,
    pub new: SuperblockImage,
    /// Bytes of the file before and after the commit, without the journal.
    pub old_end: u64,
    pub end: u64,
    /// Offset and content of each changed run of bytes, which do not overlap. If one covers the superblock, that is marked there.
    pub runs: Vec<(u64, Vec<u8>)>,
}

impl Change {
    /// The journal, with its footer.
    pub fn encode(&self) -> Vec<u8> {
        let mut head = MAGIC.to_vec();
        head.extend(self.old.encode());
        head.extend(self.new.encode());
        head.extend(self.old_end.to_le_bytes());
        head.extend(self.end.to_le_bytes());
        head.extend((self.runs.len() as u64).to_le_bytes());
        let mut journal = head;
        for (offset, bytes) in &self.runs {
            journal.extend(offset.to_le_bytes());
            journal.extend((bytes.len() as u64).to_le_bytes());
            journal.extend(bytes);
        }
        journal.extend(crc32fast::hash(&journal).to_le_bytes());
        let length = (journal.len() + FOOTER_BYTES) as u64;
        journal.extend(length.to_le_bytes());
        journal.extend(crc32fast::hash(&length.to_le_bytes()).to_le_bytes());
        journal.extend(FOOTER_MAGIC);
        journal
    }

    /// The journal at the end of a file, and whether there is something that looks like one.
    ///
    /// # Errors
    /// `Io`; `LimitExceeded` for one that does not fit in memory.
    pub fn find(disk: &dyn Disk) -> Result<Option<Self>> {
        let file_end = disk.len()?;
        let Some(footer_start) = file_end.checked_sub(FOOTER_BYTES as u64) else { return Ok(None) };
        let mut footer = [0; FOOTER_BYTES];
        disk.read(footer_start, &mut footer)?;
        let mut rest = footer.as_slice();
        let length = uint(&mut rest).filter(|length| rest == [crc32fast::hash(&length.to_le_bytes()).to_le_bytes().as_slice(), &FOOTER_MAGIC].concat());
        let start = length.filter(|length| *length <= MAX_JOURNAL_BYTES).and_then(|length| file_end.checked_sub(length));
        let Some((start, bytes)) = start.and_then(|start| Some((start, usize::try_from(footer_start.checked_sub(start)?).ok()?))) else { return Ok(None) };
        let mut content = Vec::new();
        content.try_reserve_exact(bytes).map_err(|_| Error::limit_exceeded(format!("no memory for a journal of {bytes} bytes")))?;
        content.resize(bytes, 0);
        disk.read(start, &mut content)?;
        Ok(Self::parse(&content).filter(|change| change.end.max(change.old_end) <= start))
    }

    /// The change that a journal without its footer holds; `None` for one that was not written to its end.
    fn parse(journal: &[u8]) -> Option<Self> {
        let (content, sum) = journal.split_last_chunk::<4>()?;
        if crc32fast::hash(content) != u32::from_le_bytes(*sum) {
            return None;
        }
        let mut rest = content.strip_prefix(&MAGIC)?;
        let (old, new) = (SuperblockImage::decode(&mut rest)?, SuperblockImage::decode(&mut rest)?);
        let (old_end, end, count) = (uint(&mut rest)?, uint(&mut rest)?, uint(&mut rest)?);
        let mut runs = Vec::new();
        for _ in 0..count {
            let (offset, length) = (uint(&mut rest)?, uint(&mut rest)?);
            let (bytes, after) = rest.split_at_checked(usize::try_from(length).ok()?)?;
            rest = after;
            runs.push((offset, bytes.to_vec()));
        }
        let is_inside = |(offset, bytes): &(u64, Vec<u8>)| offset.checked_add(bytes.len() as u64).is_some_and(|run_end| run_end <= end);
        (rest.is_empty() && old.place() == new.place() && old_end <= end && runs.iter().all(is_inside)).then_some(Self { old, new, old_end, end, runs })
    }

    /// Whether the superblock `found` in the file says that this change was not applied to its end; `Corrupt` if it is a superblock that this
    /// change never writes.
    pub fn is_unfinished(&self, found: &SuperblockImage) -> Result<bool> {
        if *found == self.old || *found == self.new {
            return Ok(false);
        }
        let (old_marked, new_marked) = (self.old.with_mark(true), self.new.with_mark(true));
        match found.place() == self.old.place() && self.old.may_be_torn_into(&[&old_marked, &new_marked, &self.new], found.bytes()) {
            true => Ok(true),
            false if found.is_marked() => Err(Error::corrupt("the journal in this file is of another edit than the one that was interrupted")),
            // Another program has written the file since: the journal is a leftover of an edit that was not begun or had ended.
            false => Ok(false),
        }
    }
}

fn uint(rest: &mut &[u8]) -> Option<u64> {
    let (bytes, after) = rest.split_first_chunk()?;
    *rest = after;
    Some(u64::from_le_bytes(*bytes))
}
