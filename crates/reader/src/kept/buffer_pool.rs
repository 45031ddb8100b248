//! Buffer pool: memory for the elements of one read, reused after its consumer drops it.

use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};

use arrow_buffer::Buffer;
use hyperslab_array::{Error, Result};

/// Bytes of memory that a session keeps for its next reads: touching fresh memory for the first time costs several times
/// as much as filling it. The most recently used buffers stay.
const KEPT_BYTES: usize = 256 << 20;
/// Smaller buffers are left to the allocator.
const MIN_KEPT_BYTES: usize = 256 << 10;

/// Buffers that were returned.
#[derive(Debug, Default)]
pub struct BufferPool {
    free: Mutex<Vec<Vec<u8>>>,
}

/// The bytes of a read's elements. It may still hold values of an earlier read: the caller overwrites all of it.
#[derive(Debug)]
pub struct PooledBuffer {
    /// At least `used` bytes, all initialized.
    bytes: Vec<u8>,
    used: usize,
    pool: Arc<BufferPool>,
}

impl BufferPool {
    /// A buffer of `length` bytes, which may hold older values.
    ///
    /// # Errors
    /// `LimitExceeded` if memory does not suffice.
    pub fn take(self: &Arc<Self>, length: usize) -> Result<PooledBuffer> {
        let kept = if length < MIN_KEPT_BYTES { None } else { self.kept(length) };
        let bytes = match kept {
            Some(bytes) => bytes,
            None => zeros(length)?,
        };
        Ok(PooledBuffer { bytes, used: length, pool: self.clone() })
    }

    /// The kept buffer that fits best; among equals the last returned, which is still in the processor's cache. `None` if
    /// more than half of it would be unused.
    fn kept(&self, length: usize) -> Option<Vec<u8>> {
        let mut free = self.free()?;
        let fits = |bytes: &Vec<u8>| bytes.len() >= length && bytes.len() / 2 <= length;
        let best = free.iter().enumerate().rev().filter(|(_, bytes)| fits(bytes)).min_by_key(|(_, bytes)| bytes.len());
        let index = best.map(|(index, _)| index)?;
        Some(free.remove(index))
    }

    /// Never waits: the process may have been forked while a thread of its parent held the lock.
    fn free(&self) -> Option<MutexGuard<'_, Vec<Vec<u8>>>> {
        match self.free.try_lock() {
            Ok(free) => Some(free),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }
}

/// A zeroed buffer of `length` bytes. A small file can claim any length: if memory does not suffice, this is an error,
/// while `vec!` would abort the process.
///
/// # Errors
/// `LimitExceeded` if memory does not suffice.
pub fn zeros(length: usize) -> Result<Vec<u8>> {
    const SURELY_THERE: usize = 16 << 20;
    if length > SURELY_THERE {
        let mut probe: Vec<u8> = Vec::new();
        probe.try_reserve_exact(length).map_err(|_| Error::limit_exceeded(format!("{length} bytes exceed the memory of this machine: read them in parts")))?;
        // Otherwise the compiler may optimize the attempt away.
        std::hint::black_box(&mut probe);
    }
    Ok(vec![0; length])
}

impl PooledBuffer {
    /// The same memory as an Arrow buffer; it returns to the pool when the last Arrow array that uses it is dropped.
    pub fn into_buffer(self) -> Buffer {
        Buffer::from(bytes::Bytes::from_owner(self))
    }
}

impl Deref for PooledBuffer {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        self.bytes.get(..self.used).unwrap_or_default()
    }
}

impl DerefMut for PooledBuffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        self.bytes.get_mut(..self.used).unwrap_or_default()
    }
}

impl AsRef<[u8]> for PooledBuffer {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl Drop for PooledBuffer {
    fn drop(&mut self) {
        let bytes = std::mem::take(&mut self.bytes);
        if bytes.len() < MIN_KEPT_BYTES || bytes.len() > KEPT_BYTES {
            return;
        }
        let Some(mut free) = self.pool.free() else { return };
        free.push(bytes);
        let mut kept: usize = free.iter().map(Vec::len).sum();
        let excess = free.iter().take_while(|oldest| {
            let too_much = kept > KEPT_BYTES;
            kept = kept.saturating_sub(if too_much { oldest.len() } else { 0 });
            too_much
        });
        let excess = excess.count();
        let dropped: Vec<Vec<u8>> = free.drain(..excess).collect();
        // Freeing memory takes time: release the lock first.
        drop(free);
        drop(dropped);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_comes_back_when_the_last_arrow_buffer_on_it_is_dropped() -> Result<()> {
        let pool = Arc::new(BufferPool::default());
        let mut values = pool.take(1 << 20)?;
        values.fill(7);
        let place = values.as_ptr();
        let buffer = values.into_buffer();
        let part = buffer.slice_with_length(8, 16);
        drop(buffer);
        assert_eq!(part.as_slice(), [7; 16]);
        let other = pool.take(1 << 20)?;
        assert_ne!(other.as_ptr(), place, "it is still in use");
        drop(part);
        assert_eq!(pool.take((1 << 20) - 5)?.as_ptr(), place);
        Ok(())
    }

    #[test]
    fn no_more_is_kept_than_the_limit() -> Result<()> {
        let pool = Arc::new(BufferPool::default());
        let taken = (0..40).map(|_| pool.take(8 << 20)).collect::<Result<Vec<_>>>()?;
        let places: Vec<_> = taken.iter().map(|values| values.as_ptr()).collect();
        drop(taken);
        assert!(places.contains(&pool.take(8 << 20)?.as_ptr()));
        assert_eq!(Some(&pool.take(8 << 20)?.as_ptr()), places.last(), "what came back last");
        drop(pool.take(KEPT_BYTES + 1)?);
        let free = pool.free().ok_or_else(|| Error::internal("the pool is locked"))?;
        assert!(free.iter().map(Vec::len).sum::<usize>() <= KEPT_BYTES && !free.is_empty());
        Ok(())
    }
}
