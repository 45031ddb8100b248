//! The journal of one commit: what it changes in the committed part of a file, as bytes that a checksum covers.

use hyperslab_array::{Error, Result};
use hyperslab_formats::hdf5::edit::SuperblockImage;

const MAGIC: [u8; 24] = *b"hyperslab edit journal 1";

/// What a commit changes in the committed part of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Change {
    /// The superblock before and after.
    pub old: SuperblockImage,
    pub new: SuperblockImage,
    /// Bytes of the file after the commit.
    pub end: u64,
    /// Offset and content of each changed run of bytes, which do not overlap. If one covers the superblock, that is marked there.
    pub runs: Vec<(u64, Vec<u8>)>,
}

impl Change {
    /// The journal's content, in parts.
    pub fn encode(&self) -> Vec<Vec<u8>> {
        let mut head = MAGIC.to_vec();
        head.extend(self.old.encode());
        head.extend(self.new.encode());
        head.extend(self.end.to_le_bytes());
        head.extend((self.runs.len() as u64).to_le_bytes());
        let mut parts = vec![head];
        for (offset, bytes) in &self.runs {
            parts.push([offset.to_le_bytes(), (bytes.len() as u64).to_le_bytes()].concat());
            parts.push(bytes.clone());
        }
        let mut sum = crc32fast::Hasher::new();
        parts.iter().for_each(|part| sum.update(part));
        parts.push(sum.finalize().to_le_bytes().to_vec());
        parts
    }

    /// The change that a journal holds; `None` for one that was not written to its end.
    pub fn parse(journal: &[u8]) -> Option<Self> {
        let (content, sum) = journal.split_last_chunk::<4>()?;
        if crc32fast::hash(content) != u32::from_le_bytes(*sum) {
            return None;
        }
        let mut rest = content.strip_prefix(&MAGIC)?;
        let (old, new) = (SuperblockImage::decode(&mut rest)?, SuperblockImage::decode(&mut rest)?);
        let (end, count) = (uint(&mut rest)?, uint(&mut rest)?);
        let mut runs = Vec::new();
        for _ in 0..count {
            let (offset, length) = (uint(&mut rest)?, uint(&mut rest)?);
            let (bytes, after) = rest.split_at_checked(usize::try_from(length).ok()?)?;
            rest = after;
            runs.push((offset, bytes.to_vec()));
        }
        let is_inside = |(offset, bytes): &(u64, Vec<u8>)| offset.checked_add(bytes.len() as u64).is_some_and(|run_end| run_end <= end);
        (rest.is_empty() && old.place() == new.place() && runs.iter().all(is_inside)).then_some(Self { old, new, end, runs })
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
            false if found.is_marked() => Err(Error::corrupt("the journal next to this file is of another edit than the one that was interrupted")),
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
