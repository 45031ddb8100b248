//! Counters: what the reads of a session have cost, for an engine's metrics.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// Sums over all reads of values (not of metadata) since the session was made.
#[derive(Debug, Default)]
pub struct Counters {
    bytes_read: AtomicU64,
    chunks_decoded: AtomicU64,
    chunks_skipped: AtomicU64,
    decode_nanoseconds: AtomicU64,
    index_blocks: AtomicU64,
    index_blocks_pruned: AtomicU64,
}

impl Counters {
    /// Bytes of values that were asked of the files' storage.
    pub fn bytes_read(&self) -> u64 {
        self.bytes_read.load(Ordering::Relaxed)
    }
    /// Chunks that went through their filters.
    pub fn chunks_decoded(&self) -> u64 {
        self.chunks_decoded.load(Ordering::Relaxed)
    }
    /// Chunks that lie in a scan's rows and were not read, because an index, or a test of other columns, left no row
    /// of them.
    pub fn chunks_skipped(&self) -> u64 {
        self.chunks_skipped.load(Ordering::Relaxed)
    }
    /// Nanoseconds spent in filters, all threads together.
    pub fn decode_nanoseconds(&self) -> u64 {
        self.decode_nanoseconds.load(Ordering::Relaxed)
    }
    /// Blocks of 65,536 values of which indexes were asked.
    pub fn index_blocks(&self) -> u64 {
        self.index_blocks.load(Ordering::Relaxed)
    }
    /// Of these, blocks without a value that passes: their values were not read.
    pub fn index_blocks_pruned(&self) -> u64 {
        self.index_blocks_pruned.load(Ordering::Relaxed)
    }
    pub(crate) fn add_index_blocks(&self, all: u64, pruned: u64) {
        self.index_blocks.fetch_add(all, Ordering::Relaxed);
        self.index_blocks_pruned.fetch_add(pruned, Ordering::Relaxed);
    }
    pub(crate) fn add_bytes_read(&self, bytes: u64) {
        self.bytes_read.fetch_add(bytes, Ordering::Relaxed);
    }
    pub(crate) fn add_skipped_chunks(&self, chunks: u64) {
        self.chunks_skipped.fetch_add(chunks, Ordering::Relaxed);
    }
    pub(crate) fn add_decoded_chunk(&self, since: Instant) {
        self.chunks_decoded.fetch_add(1, Ordering::Relaxed);
        let nanoseconds = u64::try_from(since.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.decode_nanoseconds.fetch_add(nanoseconds, Ordering::Relaxed);
    }
}
