//! Pieces: parts of several files presented as one file, for HDF5's external raw data and its family and multi (split)
//! drivers.

use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, OnceLock};

use hyperslab_array::{Error, Result};

use crate::{Storage, check_range, split};

/// A run of bytes of another storage.
#[derive(Clone)]
pub struct Piece {
    /// Offset in the whole.
    pub start: u64,
    /// Length in bytes.
    pub length: u64,
    /// The storage that holds it.
    pub storage: Arc<dyn Storage>,
    /// Offset in that storage.
    pub offset: u64,
    /// Whether bytes past the end of `storage` read as zeros, as HDF5 reads raw data that was never written.
    pub zero_filled: bool,
}

/// Bytes put together from pieces. Reading a gap between them is an error.
pub struct Pieces {
    name: String,
    pieces: Vec<Piece>,
    length: u64,
    version: OnceLock<String>,
}

impl Pieces {
    /// Joins pieces that do not overlap; `name` is for messages.
    pub fn new(name: impl Into<String>, mut pieces: Vec<Piece>) -> Result<Self> {
        pieces.retain(|piece| piece.length > 0);
        pieces.sort_by_key(|piece| piece.start);
        let mut end = 0u64;
        for piece in &pieces {
            if piece.start < end {
                return Err(Error::corrupt("pieces of a file that overlap").at_offset(piece.start));
            }
            end = piece.start.checked_add(piece.length).ok_or_else(|| Error::corrupt("a piece beyond 64 bits"))?;
        }
        Ok(Self { name: name.into(), pieces, length: end, version: OnceLock::new() })
    }
}

impl Piece {
    fn read(&self, from: u64, buffer: &mut [u8]) -> Result<()> {
        let offset = self.offset.saturating_add(from);
        let there = self.storage.len().saturating_sub(offset).min(buffer.len() as u64);
        if !self.zero_filled || there == buffer.len() as u64 {
            return self.storage.read_exact_at(offset, buffer);
        }
        let (read, zeros) = split(buffer, there)?;
        zeros.fill(0);
        if read.is_empty() { Ok(()) } else { self.storage.read_exact_at(offset, read) }
    }
}

impl Storage for Pieces {
    fn len(&self) -> u64 {
        self.length
    }
    fn read_exact_at(&self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        check_range(self, offset, buffer.len())?;
        let (mut offset, mut rest) = (offset, buffer);
        while !rest.is_empty() {
            let after = self.pieces.partition_point(|piece| piece.start <= offset);
            let piece = after.checked_sub(1).and_then(|index| self.pieces.get(index));
            let piece = piece
                .filter(|piece| offset - piece.start < piece.length)
                .ok_or_else(|| Error::corrupt("bytes are needed here that none of the files holds").in_file(&self.name).at_offset(offset))?;
            let inside = offset - piece.start;
            let count = (piece.length - inside).min(rest.len() as u64);
            let (here, later) = split(rest, count)?;
            piece.read(inside, here)?;
            (offset, rest) = (offset + count, later);
        }
        Ok(())
    }
    fn file_with(&self, offset: u64, length: u64) -> Result<Option<(File, u64)>> {
        let holds = |piece: &&Piece| offset.checked_sub(piece.start).and_then(|inside| inside.checked_add(length)).is_some_and(|end| end <= piece.length);
        match self.pieces.iter().find(holds) {
            Some(piece) => {
                let first = piece.offset.saturating_add(offset - piece.start);
                // Zeros that were never written are in no file.
                if piece.zero_filled && first.saturating_add(length) > piece.storage.len() { Ok(None) } else { piece.storage.file_with(first, length) }
            }
            None => Ok(None),
        }
    }
    fn is_divided(&self) -> bool {
        true
    }
    /// The newest of the files. That another one was replaced by an older one shows in [`Storage::version`].
    fn modified_nanoseconds(&self) -> Option<u64> {
        self.pieces.iter().map(|piece| piece.storage.modified_nanoseconds()).try_fold(0, |newest, modified| Some(modified?.max(newest)))
    }
    fn version(&self) -> Option<&str> {
        let versions = || {
            let mut hasher = DefaultHasher::new();
            for piece in &self.pieces {
                (piece.storage.len(), piece.storage.modified_nanoseconds(), piece.storage.version()).hash(&mut hasher);
            }
            format!("{:016x}", hasher.finish())
        };
        Some(self.version.get_or_init(versions))
    }
    fn is_unchanged(&self) -> bool {
        self.pieces.iter().all(|piece| piece.storage.is_unchanged())
    }
    fn has_changed(&self) -> bool {
        self.pieces.iter().any(|piece| piece.storage.has_changed())
    }
    fn close(&self) {
        self.pieces.iter().for_each(|piece| piece.storage.close());
    }
    fn is_closed(&self) -> bool {
        self.pieces.iter().any(|piece| piece.storage.is_closed())
    }
    fn name(&self) -> &str {
        &self.name
    }
    fn beside(&self, name: &str) -> Result<Arc<dyn Storage>> {
        let first = self.pieces.first().ok_or_else(|| Error::not_found(format!("{name} beside nothing")))?;
        first.storage.beside(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Memory;

    fn piece(start: u64, bytes: &[u8], offset: u64, length: u64, zero_filled: bool) -> Piece {
        Piece { start, length, storage: Arc::new(Memory::new("m", bytes.to_vec())), offset, zero_filled }
    }

    #[test]
    fn reads_go_over_the_borders_of_pieces() -> Result<()> {
        let whole = Pieces::new("whole", vec![piece(3, b"xxdef", 2, 3, false), piece(0, b"abc", 0, 3, false)])?;
        for from in 0..6usize {
            for to in from..=6 {
                let mut out = vec![0; to - from];
                whole.read_exact_at(from as u64, &mut out)?;
                assert_eq!(out, &b"abcdef"[from..to]);
            }
        }
        assert!(whole.read_exact_at(4, &mut [0; 3]).is_err());
        Ok(())
    }

    #[test]
    fn gaps_are_errors_and_what_was_never_written_is_zero() -> Result<()> {
        let whole = Pieces::new("whole", vec![piece(0, b"ab", 0, 4, true), piece(8, b"c", 0, 1, false)])?;
        let mut out = [9; 4];
        whole.read_exact_at(0, &mut out)?;
        assert_eq!(&out, b"ab\0\0");
        assert!(whole.read_exact_at(3, &mut [0; 3]).is_err());
        assert!(Pieces::new("whole", vec![piece(0, b"ab", 0, 2, false), piece(1, b"c", 0, 1, false)]).is_err());
        Ok(())
    }
}
