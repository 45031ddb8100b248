//! The chunks of one array: where each lies, by its number in row-major order.

use std::sync::Arc;

use hyperslab_array::{ChunkGrid, Error, Result, Selection};

use crate::{ChunkLocation, ChunkLocations, ChunkSource};

/// Most chunks of a read that no reference leads to: each takes memory but no bytes of the document.
const MAX_UNWRITTEN: u64 = 1 << 20;

/// A chunk in another file, at its place in the storage of all other files.
#[derive(Debug, Clone, Copy)]
pub(super) struct StoredChunk {
    pub number: u64,
    pub target: u32,
    pub offset: u64,
    pub length: u64,
}

/// The chunks of an array; others have the fill value.
#[derive(Debug, Default)]
pub(super) struct ChunkTable {
    /// By number, each once.
    stored: Vec<StoredChunk>,
    /// Decoded bytes of those that are in the document, by number, each once.
    inside: Vec<(u64, Arc<[u8]>)>,
}

impl ChunkTable {
    /// If several chunks have the same number, keeps the last.
    pub fn new(mut stored: Vec<StoredChunk>, mut inside: Vec<(u64, Arc<[u8]>)>) -> Self {
        stored.sort_by_key(|chunk| chunk.number);
        stored.dedup_by(|later, kept| {
            let same = later.number == kept.number;
            if same {
                *kept = *later;
            }
            same
        });
        inside.sort_by_key(|(number, _)| *number);
        inside.dedup_by(|later, kept| {
            let same = later.0 == kept.0;
            if same {
                std::mem::swap(later, kept);
            }
            same
        });
        Self { stored, inside }
    }

    /// Stored bytes of all chunks in other files.
    pub fn stored_bytes(&self) -> u64 {
        self.stored.iter().fold(0, |sum, chunk| sum.saturating_add(chunk.length))
    }

    /// The chunks that `selection` touches; `starts` are the starts of the other files.
    ///
    /// # Errors
    /// `LimitExceeded` for too many chunks without reference.
    pub fn locate(&self, grid: &ChunkGrid, selection: &Selection, starts: &[u64]) -> Result<ChunkLocations> {
        let known = (self.stored.len() + self.inside.len()) as u64;
        let touched = grid.max_touched(selection);
        if touched > known.saturating_add(MAX_UNWRITTEN) {
            return Err(Error::limit_exceeded(format!("a read of {touched} chunks, of which at most {known} have a reference: read in parts")));
        }
        let beyond = || Error::corrupt("a chunk beyond 64 bits");
        let mut chunks = Vec::new();
        for start in grid.touched(selection)? {
            let number = grid.number(&start).ok_or_else(beyond)?;
            let source = match self.stored.binary_search_by_key(&number, |chunk| chunk.number).ok().and_then(|at| self.stored.get(at)) {
                Some(chunk) => {
                    let base = starts.get(chunk.target as usize).ok_or_else(beyond)?;
                    ChunkSource::Stored { offset: base.checked_add(chunk.offset).ok_or_else(beyond)?, length: chunk.length, filter_mask: 0 }
                }
                None => match self.inside.binary_search_by_key(&number, |chunk| chunk.0).ok().and_then(|at| self.inside.get(at)) {
                    Some((_, bytes)) => ChunkSource::Inline(bytes.clone()),
                    None => ChunkSource::Fill,
                },
            };
            chunks.push(ChunkLocation { region: hyperslab_array::Region { start, count: grid.chunk_shape().to_vec() }, source });
        }
        Ok(ChunkLocations { chunks })
    }
}
