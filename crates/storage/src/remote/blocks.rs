//! Blocks of objects that are kept in memory: metadata, which is read in small pieces again and again.

use std::collections::HashMap;

use bytes::Bytes;

/// Bytes of a block.
pub(super) const BLOCK_BYTES: u64 = 64 << 10;
/// Most bytes that are kept, over all objects of the process.
const MAX_BYTES: usize = 64 << 20;

/// Kept blocks by object and number.
#[derive(Default)]
pub(super) struct Blocks {
    kept: HashMap<(u64, u64), Kept>,
    bytes: usize,
    /// Counts uses.
    clock: u64,
}

struct Kept {
    bytes: Bytes,
    used: u64,
}

impl Blocks {
    /// A block, if it is kept.
    pub fn get(&mut self, object: u64, block: u64) -> Option<Bytes> {
        self.clock += 1;
        let kept = self.kept.get_mut(&(object, block))?;
        kept.used = self.clock;
        Some(kept.bytes.clone())
    }

    pub fn has(&self, object: u64, block: u64) -> bool {
        self.kept.contains_key(&(object, block))
    }

    /// Keeps a block, in memory of its own: a part of an answer would hold all of the answer.
    pub fn put(&mut self, object: u64, block: u64, bytes: &[u8]) {
        self.clock += 1;
        self.bytes += bytes.len();
        let kept = Kept { bytes: Bytes::copy_from_slice(bytes), used: self.clock };
        if let Some(before) = self.kept.insert((object, block), kept) {
            self.bytes -= before.bytes.len();
        }
        if self.bytes > MAX_BYTES {
            self.shrink();
        }
    }

    /// Drops the quarter that was not used for longest.
    fn shrink(&mut self) {
        let mut by_use: Vec<(u64, (u64, u64))> = self.kept.iter().map(|(place, kept)| (kept.used, *place)).collect();
        by_use.sort_unstable();
        for (_, place) in by_use {
            if self.bytes <= MAX_BYTES / 4 * 3 {
                break;
            }
            if let Some(dropped) = self.kept.remove(&place) {
                self.bytes -= dropped.bytes.len();
            }
        }
    }

    /// Drops the blocks of an object.
    pub fn forget(&mut self, object: u64) {
        let bytes = &mut self.bytes;
        self.kept.retain(|(of, _), kept| {
            if *of == object {
                *bytes -= kept.bytes.len();
            }
            *of != object
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_used_last_is_kept_within_the_bound() {
        let mut blocks = Blocks::default();
        let block = vec![7; 1 << 20];
        for number in 0..200 {
            blocks.put(1, number, &block);
            assert!(blocks.get(1, 0).is_some(), "used each time");
            assert!(blocks.bytes <= MAX_BYTES);
        }
        assert!(blocks.has(1, 199) && !blocks.has(1, 1));
        blocks.put(2, 0, &block);
        blocks.put(2, 0, &block);
        blocks.forget(1);
        assert_eq!((blocks.bytes, blocks.kept.len()), (1 << 20, 1));
    }
}
