//! What is kept of fractal heaps: of one heap its blocks, of the file the heaps of shared messages.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use hyperslab_storage::ForkMutex;

/// Blocks of one heap that were read, by address.
#[derive(Default)]
pub(crate) struct Blocks {
    pub direct: HashMap<u64, Arc<[u8]>>,
    pub indirect: HashMap<u64, Arc<[Block]>>,
    /// What they take.
    pub bytes: u64,
}

/// An entry of an indirect block.
#[derive(Clone, Copy)]
pub(crate) struct Block {
    pub address: Option<u64>,
    /// Stored bytes and filter mask, of direct blocks of a filtered heap.
    pub filtered: Option<(u64, u32)>,
}

/// A heap that holds shared messages of some kinds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SharedMessageHeap {
    /// Bit `1 << kind` for each kind of message.
    pub kinds: u16,
    pub heap: u64,
}

/// The file's heaps of shared messages; none in most files.
#[derive(Default)]
pub(crate) struct SharedMessages {
    pub heaps: Vec<SharedMessageHeap>,
    /// By the heap's address, blocks that were read: each object of the file refers to some of few messages.
    pub blocks: ForkMutex<BTreeMap<u64, Blocks>>,
}

impl SharedMessages {
    /// Those of these heaps.
    pub fn new(heaps: Vec<SharedMessageHeap>) -> Self {
        Self { heaps, blocks: ForkMutex::default() }
    }
}
