//! Shared chunks: decoded chunks that a read keeps for others, or finds because others have kept them.

use std::sync::Arc;

use hyperslab_formats::ChunkLocation;

use super::chunk::bytes_of;
use crate::kept::chunk_cache::{ChunkCache, ChunkKey, Slot};
use crate::reading::dataset_read::{DatasetRead, Keep};

/// Maximum number of chunks that a small read touches: keeping the chunks of larger reads would evict the chunks of small ones.
const MAX_CHUNKS: usize = 4;

/// The cache of decoded chunks that a read uses.
#[derive(Clone, Copy)]
pub(super) enum SharedChunks<'a> {
    /// That of a scan, whose windows share chunks, and the opening under which it keeps them. Chunks are kept as the filters leave them.
    OfScan(&'a ChunkCache, u64),
    /// That of the session, for small reads. Chunks are kept ready to be copied.
    OfSession(&'a ChunkCache),
}

impl<'a> SharedChunks<'a> {
    /// The cache for a read of these chunks, if it uses one. Chunks of a file that `is_unchanged` only may be kept between reads.
    pub fn of(read: DatasetRead<'a>, chunks: &[ChunkLocation], is_unchanged: bool) -> Option<Self> {
        let DatasetRead { file, description, selection, keep, .. } = read;
        if description.filters.is_empty() {
            return None;
        }
        // Another opening of the same version has other bytes once the file changes.
        let opening = || if is_unchanged { file.scan_opening() } else { file.opening() };
        let of_scan = file.scan_chunks().map(|cache| Self::OfScan(cache, opening()));
        let max_bytes = file.session().max_kept_chunk_bytes();
        let bytes = || chunks.iter().map(|chunk| bytes_of(chunk, description));
        let may_keep = match keep {
            Keep::Nothing => false,
            Keep::Chunks => of_scan.is_none() && chunks.len() <= MAX_CHUNKS && bytes().all(|bytes| bytes <= max_bytes),
            Keep::FewChunks => bytes().fold(0, u64::saturating_add) <= max_bytes,
        };
        if !is_unchanged || !may_keep {
            return of_scan;
        }
        let Some(cache) = file.small_read_chunks() else { return of_scan };
        let shared = Self::OfSession(cache);
        // Chunks that are read whole may not be needed again, but an earlier read may have kept them.
        let clipped = |chunk: &ChunkLocation| {
            let extents = chunk.region.start.iter().zip(description.chunk_grid.dimensions());
            extents.map(|(start, (extent, chunk))| extent.saturating_sub(*start).min(chunk)).fold(1, u64::saturating_mul)
        };
        let all = chunks.iter().map(clipped).fold(0, u64::saturating_add);
        let is_whole = selection.element_count().is_ok_and(|wanted| wanted == all);
        if !is_whole || shared.has_all(read, chunks) { Some(shared) } else { of_scan }
    }

    fn cache(self) -> &'a ChunkCache {
        match self {
            Self::OfScan(cache, _) | Self::OfSession(cache) => cache,
        }
    }

    fn key(self, read: DatasetRead<'_>, chunk: &ChunkLocation) -> Option<ChunkKey> {
        let key = key(read, chunk)?;
        Some(match self {
            Self::OfScan(_, opening) => ChunkKey { opening, ..key },
            Self::OfSession(_) => key,
        })
    }

    /// Whether all of these chunks are decoded.
    pub fn has_all(self, read: DatasetRead<'_>, chunks: &[ChunkLocation]) -> bool {
        chunks.iter().all(|chunk| self.key(read, chunk).is_some_and(|key| self.cache().decoded(key).is_some()))
    }

    /// The slot of a chunk; `None` of one without a number.
    pub fn slot(self, read: DatasetRead<'_>, chunk: &ChunkLocation) -> Option<Arc<Slot>> {
        Some(self.cache().slot(self.key(read, chunk)?, bytes_of(chunk, read.description)))
    }
}

/// Identifies a chunk among the chunks of all openings.
pub(super) fn key(read: DatasetRead<'_>, chunk: &ChunkLocation) -> Option<ChunkKey> {
    let number = read.description.chunk_grid.number(&chunk.region.start)?;
    Some(ChunkKey { opening: read.file.opening(), dataset: read.dataset.0, number })
}
