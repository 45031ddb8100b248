//! Limits: what a file may cost. Every allocation and every walk is paid from here.

/// Bounds that no honest file meets and every hostile file does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Objects (groups, datasets, committed datatypes) in one file.
    pub objects: u64,
    /// Links in one group.
    pub links_per_group: u64,
    /// Messages in one object header, continuations included.
    pub messages_per_object: u64,
    /// Bytes of one metadata block (a B-tree node, a heap block, an object header block).
    pub metadata_block_bytes: u64,
    /// Bytes of one chunk, stored or decoded.
    pub chunk_bytes: u64,
    /// Bytes of one attribute's value.
    pub attribute_bytes: u64,
    /// Depth of nested datatypes, and of B-trees and other recursive structures.
    pub depth: u32,
    /// Chunks of one dataset.
    pub chunks: u64,
    /// Soft and external links followed on the way to one object.
    pub links_followed: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            objects: 10_000_000,
            links_per_group: 10_000_000,
            messages_per_object: 1_000_000,
            metadata_block_bytes: 1 << 30,
            chunk_bytes: 4 << 30,
            attribute_bytes: 1 << 30,
            depth: 64,
            chunks: 1 << 32,
            links_followed: 64,
        }
    }
}
