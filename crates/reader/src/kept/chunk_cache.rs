//! Chunk cache: decoded chunks that several reads need, so that each is decoded once.
//!
//! A session has one for small reads of neighboring elements. A scan has one of its own: rows come in row-major order, so if
//! chunks span several indexes of a slow dimension, the windows of each of these indexes need the same chunks. Scans of several
//! sessions can share one ([`SessionOptions::scan_chunks`](crate::SessionOptions::scan_chunks)), so that tasks of one process
//! decode a chunk once.

use std::collections::{HashMap, VecDeque};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use hyperslab_array::{ChunkBuffer, Result};

/// Bytes of decoded chunks that a scan keeps. Chunks beyond that are decoded again by each window.
pub const SCAN_CACHE_BYTES: u64 = 256 << 20;

/// Maximum number of files whose openings share chunks; if there are more, all are forgotten.
const MAX_FILES: usize = 1 << 14;

/// What the openings of a file have in common that share chunks.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct FileIdentity {
    pub path: Arc<Path>,
    /// Objects have other IDs in other formats.
    pub format: &'static str,
    /// Length, time of the last modification, and entity tag of its version.
    pub version: (u64, Option<u64>, Option<String>),
}

/// Key of a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct ChunkKey {
    /// Number of the opening of its file, or the first of the openings that share chunks.
    pub opening: u64,
    /// ID of its dataset.
    pub dataset: u64,
    /// Its row-major number in the dataset.
    pub number: u64,
}

/// A decoded chunk, or one that a thread is decoding.
#[derive(Debug, Default)]
pub(crate) struct Slot {
    chunk: OnceLock<ChunkBuffer>,
    /// Held while decoding.
    decoding: Mutex<()>,
    /// Whether it was used since eviction last came by.
    used: AtomicBool,
}

/// Decoded chunks. Eviction goes round in order of arrival, and takes what was not used since it last came by.
pub struct ChunkCache {
    max_bytes: u64,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    slots: HashMap<ChunkKey, Arc<Slot>>,
    /// In order of arrival, with their bytes.
    order: VecDeque<(ChunkKey, u64)>,
    bytes: u64,
    /// The first opening of each file whose openings share chunks.
    files: HashMap<FileIdentity, u64>,
}

impl std::fmt::Debug for ChunkCache {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ChunkCache").field("max_bytes", &self.max_bytes).finish_non_exhaustive()
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Slot {
    /// The chunk, if it is decoded.
    pub fn decoded(&self) -> Option<&ChunkBuffer> {
        self.chunk.get()
    }
    /// The chunk. If it is missing, `decode` makes it, and other callers that want it wait meanwhile. Failures are not kept.
    ///
    /// # Errors
    /// That of `decode`.
    pub fn chunk(&self, decode: impl FnOnce() -> Result<ChunkBuffer>) -> Result<&ChunkBuffer> {
        if let Some(chunk) = self.chunk.get() {
            return Ok(chunk);
        }
        let _alone = locked(&self.decoding);
        if let Some(chunk) = self.chunk.get() {
            return Ok(chunk);
        }
        let chunk = decode()?;
        Ok(self.chunk.get_or_init(|| chunk))
    }
}

impl ChunkCache {
    /// An empty cache for `max_bytes` of decoded chunks.
    pub fn new(max_bytes: u64) -> Self {
        Self { max_bytes, state: Mutex::default() }
    }

    /// The slot of a chunk of `bytes` when decoded.
    pub(crate) fn slot(&self, key: ChunkKey, bytes: u64) -> Arc<Slot> {
        let mut state = locked(&self.state);
        match state.slots.get(&key) {
            Some(slot) => {
                slot.used.store(true, Ordering::Relaxed);
                slot.clone()
            }
            None => state.insert(key, bytes, self.max_bytes),
        }
    }

    /// The slot of a chunk if it is decoded.
    pub(crate) fn decoded(&self, key: ChunkKey) -> Option<Arc<Slot>> {
        let state = locked(&self.state);
        let slot = state.slots.get(&key).filter(|slot| slot.chunk.get().is_some())?;
        slot.used.store(true, Ordering::Relaxed);
        Some(slot.clone())
    }

    /// A slot for a chunk that has none yet.
    pub(crate) fn new_slot(&self, key: ChunkKey, bytes: u64) -> Option<Arc<Slot>> {
        let mut state = locked(&self.state);
        (!state.slots.contains_key(&key)).then(|| state.insert(key, bytes, self.max_bytes))
    }

    /// The number of the first opening of a file, which is `opening` if there was none.
    pub(crate) fn first_opening(&self, file: FileIdentity, opening: u64) -> u64 {
        let mut state = locked(&self.state);
        if state.files.len() >= MAX_FILES {
            state.files.clear();
        }
        *state.files.entry(file).or_insert(opening)
    }

    /// Drops all chunks.
    pub fn clear(&self) {
        *locked(&self.state) = State::default();
    }

    /// Drops the chunks of one opening.
    pub(crate) fn forget(&self, opening: u64) {
        let mut state = locked(&self.state);
        let State { slots, order, bytes, .. } = &mut *state;
        order.retain(|(key, size)| {
            let stays = key.opening != opening;
            if !stays {
                slots.remove(key);
                *bytes = bytes.saturating_sub(*size);
            }
            stays
        });
    }
}

impl State {
    fn insert(&mut self, key: ChunkKey, bytes: u64, max_bytes: u64) -> Arc<Slot> {
        let slot = Arc::new(Slot::default());
        self.slots.insert(key, slot.clone());
        self.order.push_back((key, bytes));
        self.bytes = self.bytes.saturating_add(bytes);
        while self.bytes > max_bytes
            && let Some((oldest, bytes)) = self.order.pop_front()
        {
            let used = self.slots.get(&oldest).is_some_and(|slot| slot.used.swap(false, Ordering::Relaxed));
            if used && oldest != key {
                self.order.push_back((oldest, bytes));
                continue;
            }
            self.slots.remove(&oldest);
            self.bytes = self.bytes.saturating_sub(bytes);
        }
        slot
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyperslab_array::Error;

    const MAX_BYTES: u64 = 400;

    fn key(opening: u64, number: u64) -> ChunkKey {
        ChunkKey { opening, dataset: 0, number }
    }

    /// What the cache has for a key: the value that is there, or `value` from now on.
    fn value(cache: &ChunkCache, key: ChunkKey, value: u8) -> Result<Vec<u8>> {
        let slot = cache.slot(key, MAX_BYTES / 4);
        let chunk = slot.chunk(|| Ok(ChunkBuffer { bytes: vec![value], ..ChunkBuffer::default() }))?;
        Ok(chunk.bytes.clone())
    }

    #[test]
    fn a_chunk_is_decoded_once_and_what_was_not_used_goes_first() -> Result<()> {
        let cache = ChunkCache::new(MAX_BYTES);
        for number in 1..=4 {
            assert_eq!(value(&cache, key(0, number), 1)?, [1]);
        }
        assert_eq!(value(&cache, key(0, 1), 9)?, [1], "all four fit, and the first was used again");
        assert!(cache.decoded(key(0, 5)).is_none() && cache.decoded(key(0, 4)).is_some());
        assert_eq!(value(&cache, key(0, 5), 1)?, [1]);
        assert_eq!(value(&cache, key(0, 1), 9)?, [1], "it stays");
        assert_eq!(value(&cache, key(0, 2), 9)?, [9], "the fifth took its place");
        assert_eq!(value(&cache, key(1, 5), 7)?, [7], "of another file");
        let state = locked(&cache.state);
        assert!(state.bytes <= MAX_BYTES && state.order.len() == state.slots.len());
        Ok(())
    }

    #[test]
    fn a_chunk_larger_than_the_cache_is_not_kept() -> Result<()> {
        let cache = ChunkCache::new(10);
        assert_eq!(value(&cache, key(0, 1), 1)?, [1]);
        assert_eq!(value(&cache, key(0, 1), 2)?, [2]);
        Ok(())
    }

    #[test]
    fn openings_of_one_version_have_one_number() -> Result<()> {
        let cache = ChunkCache::new(MAX_BYTES);
        let file = |format: &'static str, bytes: u64| FileIdentity { path: Path::new("a.h5").into(), format, version: (bytes, Some(1), None) };
        assert_eq!([cache.first_opening(file("hdf5", 9), 1), cache.first_opening(file("hdf5", 9), 2)], [1, 1]);
        assert_eq!([cache.first_opening(file("hdf5", 8), 3), cache.first_opening(file("netcdf4", 9), 4)], [3, 4], "another version, and other objects");
        value(&cache, key(1, 1), 1)?;
        cache.clear();
        assert!(cache.decoded(key(1, 1)).is_none());
        assert_eq!(cache.first_opening(file("hdf5", 9), 5), 5);
        Ok(())
    }

    #[test]
    fn what_fails_is_tried_again() -> Result<()> {
        let cache = ChunkCache::new(MAX_BYTES);
        assert!(cache.slot(key(0, 1), 1).chunk(|| Err(Error::internal("not now"))).is_err());
        assert_eq!(value(&cache, key(0, 1), 1)?, [1]);
        Ok(())
    }

    #[test]
    fn chunks_of_a_closed_file_go() -> Result<()> {
        let cache = ChunkCache::new(MAX_BYTES);
        value(&cache, key(0, 1), 1)?;
        value(&cache, key(1, 1), 1)?;
        cache.forget(0);
        assert!(cache.decoded(key(0, 1)).is_none() && cache.decoded(key(1, 1)).is_some());
        assert_eq!(locked(&cache.state).bytes, MAX_BYTES / 4);
        assert!(cache.new_slot(key(1, 1), 1).is_none() && cache.new_slot(key(0, 1), 1).is_some());
        Ok(())
    }
}
