//! Fetched: a remote file of which some ranges are on their way, or on disk.

use std::collections::{HashSet, VecDeque};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use hyperslab_array::{Cancellation, Result};

use super::blocks::BLOCK_BYTES;
use super::counts;
use super::disk_blocks::ObjectBlocks;
use super::fetch::Fetch;
use super::object::Object;
use super::ranges::{Gaps, MAX_REQUEST_BYTES, merged};
use crate::{Storage, check_range};

/// With 64 requests of 50 ms side by side and 100 MB/s, a further request takes as long as 80 KB.
const VALUE_GAPS: Gaps = Gaps { always: 64 << 10, most: 1 << 20 };
/// Blocks of the disk that are kept in memory: neighboring chunks share them.
const KEPT_BLOCKS: usize = 16;

/// A remote file with some ranges being fetched, or on disk.
pub(super) struct Fetched {
    /// The file itself, for what is neither.
    base: Arc<dyn Storage>,
    disk: Option<Arc<ObjectBlocks>>,
    fetch: Fetch,
    /// The blocks that are read from the disk.
    on_disk: HashSet<u64>,
    kept: Mutex<VecDeque<(u64, Bytes)>>,
}

/// The parts of a range that lie in one block each.
fn parts(offset: u64, length: u64) -> impl Iterator<Item = (u64, Range<u64>)> {
    let end = offset.saturating_add(length);
    (offset / BLOCK_BYTES..end.div_ceil(BLOCK_BYTES)).map(move |block| {
        let start = block.saturating_mul(BLOCK_BYTES);
        (block, start.max(offset)..start.saturating_add(BLOCK_BYTES).min(end))
    })
}

impl Fetched {
    /// Begins to fetch what of `ranges` is not on disk. With a cache on disk, whole blocks are fetched, so that they can be kept.
    pub fn begin(
        object: &Arc<Object>,
        base: Arc<dyn Storage>,
        disk: Option<Arc<ObjectBlocks>>,
        ranges: &[(u64, u64)],
        cancellation: &Cancellation,
    ) -> Result<Self> {
        let cancellation = Some(cancellation.clone());
        let Some(disk) = disk else {
            let fetch = Fetch::begin(object, ranges, VALUE_GAPS, MAX_REQUEST_BYTES, cancellation)?;
            return Ok(Self { base, disk: None, fetch, on_disk: HashSet::new(), kept: Mutex::default() });
        };
        let (mut on_disk, mut missing) = (HashSet::new(), HashSet::new());
        let (mut wanted, mut blocks) = (Vec::new(), Vec::new());
        for (block, part) in ranges.iter().flat_map(|&(offset, length)| parts(offset, length)) {
            if on_disk.contains(&block) {
                continue;
            }
            if !missing.contains(&block) {
                if disk.has(block) {
                    on_disk.insert(block);
                    continue;
                }
                missing.insert(block);
                blocks.push((block * BLOCK_BYTES, BLOCK_BYTES.min(object.length.saturating_sub(block * BLOCK_BYTES))));
            }
            wanted.push((part.start, part.end - part.start));
        }
        let pieces = merged(&blocks, VALUE_GAPS, MAX_REQUEST_BYTES);
        let fetch = Fetch::begin_pieces(object, pieces, &wanted, Some(disk.clone()), cancellation)?;
        Ok(Self { base, disk: Some(disk), fetch, on_disk, kept: Mutex::default() })
    }

    /// Whether nothing is requested.
    pub fn is_from_disk(&self) -> bool {
        self.fetch.pieces().is_empty()
    }

    /// A block of the disk; `None` if it is damaged or gone.
    fn block(&self, disk: &ObjectBlocks, block: u64) -> Option<Bytes> {
        let kept = || self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, bytes)) = kept().iter().find(|(number, _)| *number == block) {
            return Some(bytes.clone());
        }
        let bytes = disk.get(block)?;
        counts::add(&counts::DISK_HITS, 1);
        let mut kept = kept();
        if kept.len() >= KEPT_BLOCKS {
            kept.pop_front();
        }
        kept.push_back((block, bytes.clone()));
        Some(bytes)
    }

    /// Fills `buffer`, which lies in one block, from the disk; false if the block is damaged or gone.
    fn read_block(&self, block: u64, offset: u64, buffer: &mut [u8]) -> bool {
        let bytes = self.disk.as_ref().and_then(|disk| self.block(disk, block));
        let start = usize::try_from(offset % BLOCK_BYTES).unwrap_or(usize::MAX);
        let part = bytes.as_ref().and_then(|bytes| bytes.get(start..start.checked_add(buffer.len())?));
        part.map(|part| buffer.copy_from_slice(part)).is_some()
    }
}

impl Storage for Fetched {
    fn len(&self) -> u64 {
        self.base.len()
    }
    fn read_exact_at(&self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        check_range(self, offset, buffer.len())?;
        if self.on_disk.is_empty() {
            return if self.fetch.read(offset, buffer)? { Ok(()) } else { self.base.read_exact_at(offset, buffer) };
        }
        let mut rest = buffer;
        for (block, part) in parts(offset, rest.len() as u64) {
            let (here, later) = crate::split(rest, part.end - part.start)?;
            rest = later;
            let is_read = match self.on_disk.contains(&block) {
                true => self.read_block(block, part.start, here),
                false => self.fetch.read(part.start, here)?,
            };
            if !is_read {
                self.base.read_exact_at(part.start, here)?;
            }
        }
        Ok(())
    }
    fn kept(&self, offset: u64, length: usize) -> Option<&[u8]> {
        self.base.kept(offset, length)
    }
    fn is_remote(&self) -> bool {
        true
    }
    fn is_unchanged(&self) -> bool {
        self.base.is_unchanged()
    }
    fn name(&self) -> &str {
        self.base.name()
    }
}
