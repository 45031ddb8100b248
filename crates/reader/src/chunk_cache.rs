//! Chunk cache: decoded chunks that several windows of one scan share, so that each is decoded once.
//!
//! Rows come in row-major order. If chunks span several indexes of a slow dimension, the windows of each of these indexes
//! need the same chunks.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hyperslab_array::{ChunkBuffer, Result};

/// Bytes of decoded chunks that a scan keeps. Chunks beyond that are decoded again by each window.
pub const MAX_BYTES: u64 = 256 << 20;

/// Key of a chunk: ID of the opened file, index of the dataset, offset of the stored bytes.
pub(crate) type Key = (usize, u64, u64);

/// A decoded chunk, or one that the holder of the lock is decoding.
type Slot = Arc<Mutex<Option<Arc<ChunkBuffer>>>>;

/// Decoded chunks; the oldest are evicted first.
#[derive(Default)]
pub struct ChunkCache {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    slots: HashMap<Key, Slot>,
    /// In order of arrival, with their bytes.
    order: VecDeque<(Key, u64)>,
    bytes: u64,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl ChunkCache {
    /// The chunk with this key, of `bytes` when decoded. If it is missing, `decode` makes it, and other callers that want
    /// it wait meanwhile. Failures are not cached.
    ///
    /// # Errors
    /// That of `decode`.
    pub fn chunk(&self, key: Key, bytes: u64, decode: impl FnOnce() -> Result<ChunkBuffer>) -> Result<Arc<ChunkBuffer>> {
        let slot = self.slot(key, bytes);
        let mut place = locked(&slot);
        if let Some(chunk) = place.as_ref() {
            return Ok(chunk.clone());
        }
        let chunk = Arc::new(decode()?);
        *place = Some(chunk.clone());
        Ok(chunk)
    }

    fn slot(&self, key: Key, bytes: u64) -> Slot {
        let mut state = locked(&self.state);
        if let Some(slot) = state.slots.get(&key) {
            return slot.clone();
        }
        let slot = Slot::default();
        state.slots.insert(key, slot.clone());
        state.order.push_back((key, bytes));
        state.bytes += bytes;
        while state.bytes > MAX_BYTES
            && let Some((oldest, bytes)) = state.order.pop_front()
        {
            state.slots.remove(&oldest);
            state.bytes -= bytes;
        }
        slot
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyperslab_array::Error;

    fn chunk(value: u8) -> Result<ChunkBuffer> {
        Ok(ChunkBuffer { bytes: vec![value], ..ChunkBuffer::default() })
    }

    #[test]
    fn a_chunk_is_decoded_once_and_the_oldest_go_first() -> Result<()> {
        let cache = ChunkCache::default();
        let quarter = MAX_BYTES / 4;
        assert_eq!(cache.chunk((0, 0, 1), quarter, || chunk(1))?.bytes, [1]);
        assert_eq!(cache.chunk((0, 0, 1), quarter, || Err(Error::internal("it is here")))?.bytes, [1]);
        for offset in 2..=4 {
            cache.chunk((0, 0, offset), quarter, || chunk(0))?;
        }
        assert_eq!(cache.chunk((0, 0, 1), quarter, || chunk(9))?.bytes, [1], "all four fit");
        cache.chunk((0, 0, 5), quarter, || chunk(0))?;
        assert_eq!(cache.chunk((0, 0, 1), quarter, || chunk(9))?.bytes, [9], "the fifth took its place");
        assert_eq!(cache.chunk((1, 0, 5), quarter, || chunk(7))?.bytes, [7], "of another file");
        Ok(())
    }

    #[test]
    fn what_fails_is_tried_again() -> Result<()> {
        let cache = ChunkCache::default();
        assert!(cache.chunk((0, 0, 1), 1, || Err(Error::internal("not now"))).is_err());
        assert_eq!(cache.chunk((0, 0, 1), 1, || chunk(1))?.bytes, [1]);
        Ok(())
    }
}
