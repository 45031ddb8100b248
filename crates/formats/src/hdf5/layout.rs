//! Layout: where a dataset's bytes are, as its data layout message says (specification IV.A.2.i).

use std::sync::Arc;

use crate::filter::Pipeline;

/// How to read a dataset's bytes: their layout, and the filters that decode them.
pub(crate) struct StoredDataset {
    pub layout: Layout,
    pub pipeline: Pipeline,
}

/// A dataset's layout, parsed and checked, for `locate` and `decode`.
#[derive(Debug, Clone)]
pub(crate) enum Layout {
    /// The bytes themselves.
    Compact(Arc<[u8]>),
    /// One run; `None` when no storage was allocated.
    Contiguous { address: Option<u64>, size: u64 },
    /// Chunks found by a locator.
    Chunked(ChunkedLayout),
    /// Concatenated in external files, from byte 0 of the concatenation.
    External,
    /// Composed of other datasets, without bytes of its own.
    Virtual,
}

/// A chunked layout.
#[derive(Debug, Clone)]
pub(crate) struct ChunkedLayout {
    /// Current extent of the dataset.
    pub shape: Vec<u64>,
    /// Largest extent; `None` is unlimited. Chunk numbers of some locators count by this.
    pub max_shape: Vec<Option<u64>>,
    /// Extent of a chunk, without the trailing element-size dimension of the file.
    pub chunk_shape: Vec<u64>,
    /// Bytes of one unfiltered chunk.
    pub chunk_bytes: u64,
    /// Flag bit 0 of a version-4 layout: partial edge chunks are stored without filters.
    pub unfiltered_partial_edges: bool,
    /// How chunks are found.
    pub locator: Locator,
}

/// The chunk locator ("chunk indexing type") of a dataset.
#[derive(Debug, Clone)]
pub(crate) enum Locator {
    /// Nothing was written yet.
    None,
    /// Version-1 B-tree, node type 1 (layout versions 1 to 3).
    BtreeV1 { address: u64 },
    /// One chunk; `filtered` holds (size, filter mask) when filters apply.
    Single { address: u64, filtered: Option<(u64, u32)> },
    /// All chunks allocated side by side.
    Implicit { address: u64 },
    /// Fixed array.
    FixedArray { address: u64 },
    /// Extensible array.
    ExtensibleArray { address: u64 },
    /// Version-2 B-tree, record types 10 and 11.
    BtreeV2 { address: u64 },
}
