//! The bytes of one decoded chunk, and how they are arranged.

use crate::{Error, Result, join_planes};

/// The arrangement of the bytes of a chunk's elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Arrangement {
    /// Element after element, row-major.
    #[default]
    Elements,
    /// The first bytes of all elements, then the second bytes, and so on: the output of the shuffle filter.
    /// [`crate::scatter`] unshuffles while copying, which saves a pass over the bytes.
    Planes,
}

/// A decoded chunk, in a buffer that is reused for the next one.
#[derive(Debug, Clone, Default)]
pub struct ChunkBuffer {
    /// The bytes of all elements.
    pub bytes: Vec<u8>,
    /// Their arrangement.
    pub arrangement: Arrangement,
}

/// A decoded chunk whose bytes are borrowed.
#[derive(Debug, Clone, Copy)]
pub struct DecodedChunk<'a> {
    /// The bytes of all elements.
    pub bytes: &'a [u8],
    /// Their arrangement.
    pub arrangement: Arrangement,
}

impl ChunkBuffer {
    /// The content of the buffer.
    pub fn chunk(&self) -> DecodedChunk<'_> {
        DecodedChunk { bytes: &self.bytes, arrangement: self.arrangement }
    }
    /// Joins planes to elements of `size` bytes. `spare` is the target buffer; afterwards it holds the old one.
    ///
    /// # Errors
    /// `Internal` for planes of unequal length.
    pub fn join(&mut self, size: usize, spare: &mut Vec<u8>) -> Result<()> {
        if self.arrangement == Arrangement::Planes {
            spare.resize(self.bytes.len(), 0);
            join_planes(&self.bytes, size, 0, spare).ok_or_else(|| Error::internal("planes of unequal length"))?;
            std::mem::swap(&mut self.bytes, spare);
            self.arrangement = Arrangement::Elements;
        }
        Ok(())
    }
}

impl<'a> From<&'a [u8]> for DecodedChunk<'a> {
    fn from(bytes: &'a [u8]) -> Self {
        Self { bytes, arrangement: Arrangement::Elements }
    }
}
