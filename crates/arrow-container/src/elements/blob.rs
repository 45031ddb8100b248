//! Blobs: the bytes of variable-length values and references while a container is open. In the files they are Arrow
//! strings, lists and binaries. The name of a blob is valid only inside this process.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, RwLock};

use arrow_buffer::Buffer;

use crate::error::{Result, error};

enum Bytes {
    Growing(Vec<u8>),
    Fixed(Buffer),
}

/// Memory that holds blobs. It is freed with its last owner, and its blobs with it.
pub struct Arena {
    number: u64,
    bytes: RwLock<Bytes>,
}

/// The name of a blob: the ID of an arena and an offset in it, 8 bytes each. Zeros: no blob.
pub type BlobName = [u8; 16];

static ARENAS: LazyLock<RwLock<HashMap<u64, std::sync::Weak<Arena>>>> = LazyLock::new(Default::default);
static NEXT: AtomicU64 = AtomicU64::new(1);

impl Arena {
    fn of(bytes: Bytes) -> Arc<Self> {
        let arena = Arc::new(Self { number: NEXT.fetch_add(1, Ordering::Relaxed), bytes: RwLock::new(bytes) });
        let mut arenas = ARENAS.write().unwrap_or_else(|poisoned| poisoned.into_inner());
        arenas.insert(arena.number, Arc::downgrade(&arena));
        arena
    }

    /// An empty arena, which [`Arena::put`] fills.
    pub fn new() -> Arc<Self> {
        Self::of(Bytes::Growing(Vec::new()))
    }

    /// An arena whose blobs are in `buffer` already.
    pub(crate) fn over(buffer: Buffer) -> Arc<Self> {
        Self::of(Bytes::Fixed(buffer))
    }

    /// The name of the blob at `offset`.
    pub(crate) fn name(&self, offset: u64) -> BlobName {
        let mut name = [0; 16];
        name[..8].copy_from_slice(&self.number.to_le_bytes());
        name[8..].copy_from_slice(&offset.to_le_bytes());
        name
    }

    /// Stores a blob and returns its name.
    ///
    /// # Errors
    /// If the arena was made over a buffer, which cannot grow.
    pub fn put(&self, bytes: &[u8]) -> Result<BlobName> {
        let mut all = self.bytes.write().unwrap_or_else(|poisoned| poisoned.into_inner());
        let Bytes::Growing(all) = &mut *all else { return Err(error!("cannot add blobs to values that were read")) };
        let offset = all.len() as u64;
        all.extend_from_slice(bytes);
        Ok(self.name(offset))
    }
}

impl std::fmt::Debug for Arena {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Arena")
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        ARENAS.write().unwrap_or_else(|poisoned| poisoned.into_inner()).remove(&self.number);
    }
}

/// Whether a name stands for "no blob".
pub fn is_null(name: &BlobName) -> bool {
    name.iter().all(|byte| *byte == 0)
}

/// Calls `take` with the `length` bytes of a blob.
///
/// # Errors
/// If the blob's file was closed, or `length` is more than the arena holds from there on.
pub fn with_blob<T>(name: &BlobName, length: usize, take: impl FnOnce(&[u8]) -> T) -> Result<T> {
    let (number, offset) = name.split_at(8);
    let word = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().unwrap_or_default());
    let arena = ARENAS.read().unwrap_or_else(|poisoned| poisoned.into_inner()).get(&word(number)).and_then(std::sync::Weak::upgrade);
    let arena = arena.ok_or_else(|| error!("the variable-length value belongs to a file that was closed"))?;
    let bytes = arena.bytes.read().unwrap_or_else(|poisoned| poisoned.into_inner());
    let all: &[u8] = match &*bytes {
        Bytes::Growing(all) => all,
        Bytes::Fixed(all) => all,
    };
    let start = usize::try_from(word(offset)).map_err(|_| error!("the offset of a blob is out of range"))?;
    let found = start.checked_add(length).and_then(|end| all.get(start..end));
    found.map(take).ok_or_else(|| error!("a blob of {length} bytes at {start} exceeds the {} bytes of its arena", all.len()))
}
