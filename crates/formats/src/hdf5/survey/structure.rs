//! The kinds of structures that a file consists of, and where each of them lies.

use hyperslab_array::Error;

/// What a range of bytes holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum StructureKind {
    /// Bytes in front of the superblock, which belong to the user.
    UserBlock,
    /// The superblock.
    Superblock,
    /// Driver information block.
    DriverInformation,
    /// The first block of an object header.
    ObjectHeader,
    /// A continuation block of an object header.
    HeaderContinuation,
    /// A node of a version-1 B-tree of a group.
    GroupTree,
    /// A symbol table node.
    SymbolTableNode,
    /// The header of a local heap.
    LocalHeap,
    /// The data segment of a local heap.
    LocalHeapData,
    /// A node of a version-1 B-tree of chunks.
    ChunkTree,
    /// The header of a version-2 B-tree.
    TreeHeader,
    /// A node of a version-2 B-tree.
    TreeNode,
    /// The header of a fractal heap.
    FractalHeap,
    /// A direct block of a fractal heap.
    HeapDirectBlock,
    /// An indirect block of a fractal heap.
    HeapIndirectBlock,
    /// A huge object of a fractal heap.
    HugeObject,
    /// A collection of the global heap.
    GlobalHeap,
    /// The header of a fixed array.
    FixedArray,
    /// The data block of a fixed array, with its pages.
    FixedArrayBlock,
    /// The header of an extensible array.
    ExtensibleArray,
    /// An index, super or data block of an extensible array.
    ExtensibleArrayBlock,
    /// The table of shared messages.
    SharedMessageTable,
    /// A list of shared messages.
    SharedMessageList,
    /// The header of a free-space manager.
    FreeSpaceManager,
    /// The sections of a free-space manager.
    FreeSpaceSections,
    /// A range that a free-space manager lists as free.
    FreeSpace,
    /// The image of the metadata cache.
    CacheImage,
    /// A chunk of a dataset.
    Chunk,
    /// The values of a contiguous dataset.
    Contiguous,
}

impl StructureKind {
    /// Its name in messages and reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::UserBlock => "user block",
            Self::Superblock => "superblock",
            Self::DriverInformation => "driver information block",
            Self::ObjectHeader => "object header",
            Self::HeaderContinuation => "object header continuation",
            Self::GroupTree => "group B-tree node",
            Self::SymbolTableNode => "symbol table node",
            Self::LocalHeap => "local heap",
            Self::LocalHeapData => "local heap data segment",
            Self::ChunkTree => "chunk B-tree node",
            Self::TreeHeader => "version-2 B-tree header",
            Self::TreeNode => "version-2 B-tree node",
            Self::FractalHeap => "fractal heap header",
            Self::HeapDirectBlock => "fractal heap direct block",
            Self::HeapIndirectBlock => "fractal heap indirect block",
            Self::HugeObject => "huge heap object",
            Self::GlobalHeap => "global heap collection",
            Self::FixedArray => "fixed array header",
            Self::FixedArrayBlock => "fixed array data block",
            Self::ExtensibleArray => "extensible array header",
            Self::ExtensibleArrayBlock => "extensible array block",
            Self::SharedMessageTable => "shared message table",
            Self::SharedMessageList => "shared message list",
            Self::FreeSpaceManager => "free-space manager",
            Self::FreeSpaceSections => "free-space sections",
            Self::FreeSpace => "free space",
            Self::CacheImage => "metadata cache image",
            Self::Chunk => "chunk",
            Self::Contiguous => "contiguous values",
        }
    }

    /// Whether it holds values of a dataset.
    pub fn is_data(self) -> bool {
        matches!(self, Self::Chunk | Self::Contiguous)
    }
}

/// What a heap or a tree is there for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Purpose {
    /// The file as a whole.
    File,
    /// Object headers.
    Header,
    /// Links of groups.
    Links,
    /// Attributes.
    Attributes,
    /// Places of chunks.
    ChunkIndex,
    /// Names of external files.
    ExternalFiles,
    /// Messages that several objects share.
    SharedMessages,
    /// Values of variable length, references and virtual mappings.
    Values,
    /// Values of datasets.
    Data,
    /// Free space.
    FreeSpace,
}

impl Purpose {
    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Header => "object headers",
            Self::Links => "links",
            Self::Attributes => "attributes",
            Self::ChunkIndex => "chunk indexes",
            Self::ExternalFiles => "names of external files",
            Self::SharedMessages => "shared messages",
            Self::Values => "values of variable length",
            Self::Data => "data",
            Self::FreeSpace => "free space",
        }
    }
}

/// A range of the file and what it holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Extent {
    /// Absolute offset of the first byte.
    pub offset: u64,
    /// Bytes.
    pub length: u64,
    /// What they are.
    pub kind: StructureKind,
    /// What for.
    pub purpose: Purpose,
    /// Address of the header of the object that it belongs to.
    pub object: Option<u64>,
}

impl Extent {
    /// Offset of the first byte after it.
    pub fn end(&self) -> u64 {
        self.offset.saturating_add(self.length)
    }
}

/// A structure that cannot be read, or contradicts the specification or other structures.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Damage {
    /// What it should be.
    pub kind: StructureKind,
    /// What for.
    pub purpose: Purpose,
    /// Absolute offset.
    pub offset: u64,
    /// Bytes, if known; else 0.
    pub length: u64,
    /// Address of the header of the object that it belongs to.
    pub object: Option<u64>,
    /// What is wrong.
    pub error: Error,
}
