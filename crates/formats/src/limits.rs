//! Limits on the resources that a file may use. Every allocation and traversal is charged against them.

use hyperslab_array::{Error, Result};

/// Most unwritten chunks that one read may request: each takes memory but no bytes in the file.
const UNWRITTEN_CHUNKS: u64 = 1 << 20;

/// Limits that valid files do not reach and hostile files cannot exceed. Start from [`Limits::default`] and change fields.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Objects (groups, datasets, committed datatypes) in one file.
    pub objects: u64,
    /// Links in one group.
    pub links_per_group: u64,
    /// Messages in one object header, continuations included.
    pub messages_per_object: u64,
    /// Bytes of one metadata block (a B-tree node, a heap block, an object header block).
    pub metadata_block_bytes: u64,
    /// Bytes that all groups, attributes and datatypes of one file may take beyond what its length justifies.
    pub metadata_bytes: u64,
    /// Bytes of one chunk, stored or decoded.
    pub chunk_bytes: u64,
    /// Bytes of one attribute's value.
    pub attribute_bytes: u64,
    /// Bytes of the variable-length values of one read, or of one attribute, beyond what the file's length
    /// justifies: objects of a heap that many elements share.
    pub heap_bytes: u64,
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
            metadata_bytes: 32 << 20,
            chunk_bytes: 4 << 30,
            attribute_bytes: 1 << 30,
            heap_bytes: 1 << 30,
            depth: 64,
            chunks: 1 << 32,
            links_followed: 64,
        }
    }
}

impl Limits {
    /// Bytes that the heap's objects may cost in one read of a file of `file_bytes`: its collections are
    /// fetched once a level of nesting, and no two elements of an honest file share an object.
    pub fn heap_budget(&self, file_bytes: u64) -> u64 {
        self.heap_bytes.saturating_add(file_bytes.saturating_mul(4))
    }

    /// Checks the number of chunks that one read of a file of `file_bytes` touches.
    ///
    /// # Errors
    /// `LimitExceeded` for more than the limit, or if most of them cannot have been written.
    pub fn check_read_chunks(&self, count: u64, file_bytes: u64) -> Result<()> {
        // A stored chunk takes some bytes of the file, so most of more than these were never written.
        let max = self.chunks.min(file_bytes.saturating_add(UNWRITTEN_CHUNKS));
        if count > max { Err(Error::limit_exceeded(format!("a read of {count} chunks, more than {max}: read in parts"))) } else { Ok(()) }
    }

    /// Sets the limit called `name`, one of the fields.
    ///
    /// # Errors
    /// `InvalidInput` for another name, which lists the names, or a value that the limit cannot have.
    pub fn set(&mut self, name: &str, value: u64) -> Result<()> {
        let narrow = || u32::try_from(value).map_err(|_| Error::invalid_input(format!("limit {name} is {value}: give at most {}", u32::MAX)));
        match name {
            "objects" => self.objects = value,
            "links_per_group" => self.links_per_group = value,
            "messages_per_object" => self.messages_per_object = value,
            "metadata_block_bytes" => self.metadata_block_bytes = value,
            "metadata_bytes" => self.metadata_bytes = value,
            "chunk_bytes" => self.chunk_bytes = value,
            "attribute_bytes" => self.attribute_bytes = value,
            "heap_bytes" => self.heap_bytes = value,
            "depth" => self.depth = narrow()?,
            "chunks" => self.chunks = value,
            "links_followed" => self.links_followed = narrow()?,
            _ => {
                return Err(Error::invalid_input(format!(
                    "there is no limit {name:?}; there are objects, links_per_group, messages_per_object, metadata_block_bytes, metadata_bytes, chunk_bytes, attribute_bytes, heap_bytes, depth, chunks and links_followed"
                )));
            }
        }
        Ok(())
    }
}
