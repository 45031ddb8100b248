//! The bytes of one decoded chunk, and how they are arranged.

use crate::{Error, Result, join_planes};

/// How the bytes of a chunk's elements lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Arrangement {
    /// Element after element, row-major.
    #[default]
    Elements,
    /// The first bytes of all elements, then the second bytes, …: what the shuffle filter made of them.
    /// [`crate::scatter`] undoes it on the way, so that the bytes are not passed over once more.
    Planes,
}

/// A decoded chunk in memory that is used again for the next one.
#[derive(Debug, Clone, Default)]
pub struct ChunkBuffer {
    /// The bytes of all elements.
    pub bytes: Vec<u8>,
    /// How they lie.
    pub arrangement: Arrangement,
}

/// A decoded chunk, wherever its bytes are.
#[derive(Debug, Clone, Copy)]
pub struct DecodedChunk<'a> {
    /// The bytes of all elements.
    pub bytes: &'a [u8],
    /// How they lie.
    pub arrangement: Arrangement,
}

impl ChunkBuffer {
    /// What is in the buffer.
    pub fn chunk(&self) -> DecodedChunk<'_> {
        DecodedChunk { bytes: &self.bytes, arrangement: self.arrangement }
    }
    /// Puts the elements, of `size` bytes, together where they are in planes. `spare` is memory for it, and
    /// has what was there afterwards.
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
