//! The bytes of one file of a container: a file of its own, or a range of the archive.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use crate::error::Result;

/// A readable range of a file.
#[derive(Debug)]
pub(crate) struct Piece {
    pub(crate) file: Arc<File>,
    /// Its offset in `file`.
    pub(crate) start: u64,
    /// Its length.
    pub(crate) bytes: u64,
    at: u64,
}

impl Piece {
    /// A whole file.
    pub(crate) fn whole(file: File) -> Result<Self> {
        let bytes = file.metadata()?.len();
        Ok(Self::part(Arc::new(file), 0, bytes))
    }

    /// A range of a file.
    pub(crate) fn part(file: Arc<File>, start: u64, bytes: u64) -> Self {
        Self { file, start, bytes, at: 0 }
    }

    /// All of its bytes.
    pub(crate) fn content(&self) -> Result<Vec<u8>> {
        let mut content = vec![0; self.bytes as usize];
        self.file.read_exact_at(&mut content, self.start)?;
        Ok(content)
    }
}

impl Read for Piece {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        let left = usize::try_from(self.bytes.saturating_sub(self.at)).unwrap_or(usize::MAX);
        let max = out.len().min(left);
        let count = self.file.read_at(out.get_mut(..max).unwrap_or_default(), self.start + self.at)?;
        self.at += count as u64;
        Ok(count)
    }
}

impl Seek for Piece {
    fn seek(&mut self, to: SeekFrom) -> std::io::Result<u64> {
        let at = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::End(by) => self.bytes.checked_add_signed(by),
            SeekFrom::Current(by) => self.at.checked_add_signed(by),
        };
        self.at = at.ok_or_else(|| std::io::Error::from(std::io::ErrorKind::InvalidInput))?;
        Ok(self.at)
    }
}
