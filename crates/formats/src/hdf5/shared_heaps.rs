//! What is kept of a file's structures that several objects use: blocks of fractal heaps, and messages that objects share.

use std::collections::{BTreeMap, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use hyperslab_array::Datatype;
use hyperslab_storage::ForkMutex;

use super::header_blocks::HeaderBlocks;
use crate::recent::Recent;

/// Bytes of committed messages, and of committed datatypes, that are kept for each file, about.
const KEPT_BYTES: u64 = 4 << 20;
/// Members from which on a datatype is large, and about the bytes that one takes.
const LARGE_MEMBERS: usize = 64;
const MEMBER_BYTES: usize = 128;

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

/// A message in the header of a committed object, which other objects refer to.
#[derive(Clone)]
pub(crate) struct CommittedMessage {
    pub kind: u16,
    pub body: Arc<[u8]>,
    /// Address of the body, relative to the base address.
    pub address: u64,
}

/// What the objects of a file share.
pub(crate) struct SharedMessages {
    /// Heaps of shared messages; none in most files.
    pub heaps: Vec<SharedMessageHeap>,
    /// By the heap's address, blocks that were read: each object of the file refers to some of few messages.
    pub blocks: ForkMutex<BTreeMap<u64, Blocks>>,
    /// By the address of a header, the first of its messages of each kind.
    pub committed: ForkMutex<Recent<Arc<[CommittedMessage]>>>,
    /// By the address of a header, its datatype.
    pub datatypes: ForkMutex<Recent<Datatype>>,
    /// Large datatypes by their hash: equal ones share their members.
    large_datatypes: ForkMutex<Recent<Datatype>>,
    /// The large blocks of object headers that were read.
    pub header_blocks: ForkMutex<HeaderBlocks>,
}

impl Default for SharedMessages {
    fn default() -> Self {
        Self::new(Vec::new())
    }
}

impl SharedMessages {
    /// Those of these heaps.
    pub fn new(heaps: Vec<SharedMessageHeap>) -> Self {
        let (committed, datatypes) = (ForkMutex::new(Recent::new(KEPT_BYTES)), ForkMutex::new(Recent::new(KEPT_BYTES)));
        let large_datatypes = ForkMutex::new(Recent::new(KEPT_BYTES));
        Self { heaps, blocks: ForkMutex::default(), committed, datatypes, large_datatypes, header_blocks: ForkMutex::default() }
    }

    /// The datatype, or an equal one that was parsed before and is kept.
    pub fn interned(&self, datatype: Datatype) -> Datatype {
        let members = match &datatype {
            Datatype::Compound { members, .. } => members.len(),
            Datatype::Enum { members, .. } => members.len(),
            _ => 0,
        };
        if members < LARGE_MEMBERS {
            return datatype;
        }
        let mut hasher = DefaultHasher::new();
        datatype.hash(&mut hasher);
        let hash = hasher.finish();
        let Some(mut kept) = self.large_datatypes.lock() else { return datatype };
        match kept.get(hash) {
            Some(known) if known == datatype => known,
            // A file chooses its datatypes, and so perhaps their hashes.
            Some(_) => datatype,
            None => {
                kept.insert(hash, datatype.clone(), (members * MEMBER_BYTES) as u64);
                datatype
            }
        }
    }
}
