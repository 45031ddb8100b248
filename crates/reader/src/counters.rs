//! Counters of work that the reads of a session have done, for an engine's metrics.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// Totals of all sessions of the process.
static PROCESS: Counters = Counters::new();

/// Totals over all reads of values (not of metadata) since the session was created.
#[derive(Debug)]
pub struct Counters {
    bytes_read: AtomicU64,
    chunks_decoded: AtomicU64,
    decoded_bytes: AtomicU64,
    parts_inflated: AtomicU64,
    inflating_skipped_bytes: AtomicU64,
    chunks_skipped: AtomicU64,
    decode_nanoseconds: AtomicU64,
    index_blocks: AtomicU64,
    index_blocks_pruned: AtomicU64,
}

impl Counters {
    pub(crate) const fn new() -> Self {
        Self {
            bytes_read: AtomicU64::new(0),
            chunks_decoded: AtomicU64::new(0),
            decoded_bytes: AtomicU64::new(0),
            parts_inflated: AtomicU64::new(0),
            inflating_skipped_bytes: AtomicU64::new(0),
            chunks_skipped: AtomicU64::new(0),
            decode_nanoseconds: AtomicU64::new(0),
            index_blocks: AtomicU64::new(0),
            index_blocks_pruned: AtomicU64::new(0),
        }
    }
    /// The totals of all sessions of this process, including those that have ended.
    pub fn of_process() -> &'static Self {
        &PROCESS
    }
    /// Adds to one counter, of this session and of the process.
    fn add(&self, which: impl Fn(&Self) -> &AtomicU64, count: u64) {
        which(self).fetch_add(count, Ordering::Relaxed);
        which(&PROCESS).fetch_add(count, Ordering::Relaxed);
    }
    /// Bytes of values requested from storage.
    pub fn bytes_read(&self) -> u64 {
        self.bytes_read.load(Ordering::Relaxed)
    }
    /// Chunks decoded by their filters.
    pub fn chunks_decoded(&self) -> u64 {
        self.chunks_decoded.load(Ordering::Relaxed)
    }
    /// Bytes that decoding gave: of whole chunks, and of parts of chunks that were inflated from restart points.
    pub fn decoded_bytes(&self) -> u64 {
        self.decoded_bytes.load(Ordering::Relaxed)
    }
    /// Times that parts of a chunk were inflated from restart points, instead of all of it.
    pub fn parts_inflated(&self) -> u64 {
        self.parts_inflated.load(Ordering::Relaxed)
    }
    /// Bytes of these chunks that were not inflated.
    pub fn inflating_skipped_bytes(&self) -> u64 {
        self.inflating_skipped_bytes.load(Ordering::Relaxed)
    }
    /// Chunks in a scan's rows that were not read, because an index or a test of other columns ruled out all of their rows.
    pub fn chunks_skipped(&self) -> u64 {
        self.chunks_skipped.load(Ordering::Relaxed)
    }
    /// Nanoseconds spent in filters, summed over all threads.
    pub fn decode_nanoseconds(&self) -> u64 {
        self.decode_nanoseconds.load(Ordering::Relaxed)
    }
    /// Blocks of 65,536 values that indexes were asked about.
    pub fn index_blocks(&self) -> u64 {
        self.index_blocks.load(Ordering::Relaxed)
    }
    /// The blocks among [`Self::index_blocks`] without a matching value: their values were not read.
    pub fn index_blocks_pruned(&self) -> u64 {
        self.index_blocks_pruned.load(Ordering::Relaxed)
    }
    /// Counts `all` blocks that an index was asked about, `pruned` of which have no matching value.
    pub fn add_index_blocks(&self, all: u64, pruned: u64) {
        self.add(|sums| &sums.index_blocks, all);
        self.add(|sums| &sums.index_blocks_pruned, pruned);
    }
    /// Counts bytes read from files.
    pub fn add_bytes_read(&self, bytes: u64) {
        self.add(|sums| &sums.bytes_read, bytes);
    }
    /// Counts chunks that were not read because no row of them can match.
    pub fn add_skipped_chunks(&self, chunks: u64) {
        self.add(|sums| &sums.chunks_skipped, chunks);
    }
    pub(crate) fn add_decoded_chunk(&self, since: Instant, bytes: u64) {
        self.add(|sums| &sums.chunks_decoded, 1);
        self.add(|sums| &sums.decoded_bytes, bytes);
        self.add_decoding(since);
    }
    pub(crate) fn add_inflated_part(&self, since: Instant, bytes: u64, skipped_bytes: u64) {
        self.add(|sums| &sums.parts_inflated, 1);
        self.add(|sums| &sums.decoded_bytes, bytes);
        self.add(|sums| &sums.inflating_skipped_bytes, skipped_bytes);
        self.add_decoding(since);
    }
    fn add_decoding(&self, since: Instant) {
        let nanoseconds = u64::try_from(since.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.add(|sums| &sums.decode_nanoseconds, nanoseconds);
    }
}
