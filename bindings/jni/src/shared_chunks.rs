//! Shared chunks: the decoded chunks that the tasks of this process share, so that each is decoded once.

use std::sync::{Arc, LazyLock};

use hyperslab::{ChunkCache, SCAN_CACHE_BYTES, decoding_memory_bound};

/// The cache gets at most 1/4 of the memory that decoded chunks may take, which is itself 1/2 of the memory of the process.
const SHARE: u64 = 4;

static CHUNKS: LazyLock<Arc<ChunkCache>> = LazyLock::new(|| Arc::new(ChunkCache::new(SCAN_CACHE_BYTES.min(decoding_memory_bound() / SHARE))));

/// The cache that all sessions share.
pub(crate) fn chunks() -> Arc<ChunkCache> {
    CHUNKS.clone()
}
