//! Storage with bytes that cannot be read: they read as zeros, and are recorded.

use std::collections::BTreeSet;
use std::sync::Mutex;

use hyperslab_array::{ErrorKind, Result};
use hyperslab_storage::{LocalFile, Storage};

/// What is read again, piece by piece, if a longer read fails.
const SECTOR_BYTES: u64 = 512;
/// Bytes of the pieces that are tried before sectors.
const BLOCK_BYTES: u64 = 64 << 10;

/// A local file that may have bad sectors.
pub(crate) struct Lenient {
    file: LocalFile,
    /// Numbers of sectors that cannot be read.
    bad: Mutex<BTreeSet<u64>>,
}

impl Lenient {
    pub fn new(file: LocalFile) -> Self {
        Self { file, bad: Mutex::default() }
    }

    /// Start and length of the ranges that could not be read so far.
    pub fn bad_ranges(&self) -> Vec<(u64, u64)> {
        let mut ranges: Vec<(u64, u64)> = Vec::new();
        for sector in self.bad.lock().map(|bad| bad.clone()).unwrap_or_default() {
            let start = sector * SECTOR_BYTES;
            match ranges.last_mut() {
                Some((first, length)) if *first + *length == start => *length += SECTOR_BYTES,
                _ => ranges.push((start, SECTOR_BYTES)),
            }
        }
        ranges
    }

    /// Reads a range in pieces up to the end of a block, or of a sector.
    fn read_pieces(&self, offset: u64, buffer: &mut [u8], piece: u64) -> Result<()> {
        let (mut at, mut rest) = (offset, buffer);
        while !rest.is_empty() {
            let count = usize::try_from(piece - at % piece).unwrap_or(usize::MAX).min(rest.len());
            let (part, after) = rest.split_at_mut(count);
            match self.file.read_exact_at(at, part) {
                Err(error) if error.kind() == ErrorKind::Io && piece > SECTOR_BYTES => self.read_pieces(at, part, SECTOR_BYTES)?,
                Err(error) if error.kind() == ErrorKind::Io => {
                    part.fill(0);
                    if let Ok(mut bad) = self.bad.lock() {
                        bad.insert(at / SECTOR_BYTES);
                    }
                }
                other => other?,
            }
            at += count as u64;
            rest = after;
        }
        Ok(())
    }
}

impl Storage for Lenient {
    fn len(&self) -> u64 {
        self.file.len()
    }
    fn read_exact_at(&self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        match self.file.read_exact_at(offset, buffer) {
            Err(error) if error.kind() == ErrorKind::Io => self.read_pieces(offset, buffer, BLOCK_BYTES),
            other => other,
        }
    }
    fn name(&self) -> &str {
        self.file.name()
    }
    fn beside(&self, name: &str) -> Result<std::sync::Arc<dyn Storage>> {
        self.file.beside(name)
    }
}
