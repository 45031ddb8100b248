//! What remote reads of this process have cost.

use std::sync::atomic::{AtomicU64, Ordering};

pub(super) static REQUESTS: AtomicU64 = AtomicU64::new(0);
pub(super) static ROUNDS: AtomicU64 = AtomicU64::new(0);
pub(super) static WANTED: AtomicU64 = AtomicU64::new(0);
pub(super) static FETCHED: AtomicU64 = AtomicU64::new(0);
pub(super) static HITS: AtomicU64 = AtomicU64::new(0);
pub(super) static DISK_HITS: AtomicU64 = AtomicU64::new(0);

/// Totals of the remote reads of this process.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RemoteCounts {
    /// Requests that were sent, including those that were repeated.
    pub requests: u64,
    /// Times that requests were begun together and waited for: round trips, one after another, of a program that reads in one
    /// thread.
    pub rounds: u64,
    /// Bytes that readers asked for.
    pub wanted_bytes: u64,
    /// Bytes that came over the network.
    pub fetched_bytes: u64,
    /// Reads that were answered from memory, or from a chunk index.
    pub cache_hits: u64,
    /// Blocks that came from the cache on disk.
    pub disk_hits: u64,
}

/// The totals of this process.
pub fn remote_counts() -> RemoteCounts {
    let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
    RemoteCounts {
        requests: of(&REQUESTS),
        rounds: of(&ROUNDS),
        wanted_bytes: of(&WANTED),
        fetched_bytes: of(&FETCHED),
        cache_hits: of(&HITS),
        disk_hits: of(&DISK_HITS),
    }
}

pub(super) fn add(count: &AtomicU64, by: u64) {
    count.fetch_add(by, Ordering::Relaxed);
}
