//! A file that is edited: what can be, and the objects in it.

use std::sync::Arc;

use hyperslab_array::{Error, Result};
use hyperslab_storage::Storage;

use super::space::Space;
use super::superblock::SuperblockImage;
use crate::Limits;
use crate::hdf5::Source;
use crate::hdf5::object_header::{ObjectHeader, kind};
use crate::hdf5::superblock::Superblock;

/// Half of the children of a full node in a B-tree of chunks, unless the superblock says otherwise.
const CHUNK_TREE_K: u16 = 32;
/// Header message with the sizes of B-trees.
const BTREE_K: u16 = 0x13;

/// Changes objects of a file. Each change reads what the ones before have written.
pub struct FileEdit<'a> {
    source: Source,
    pub(super) space: &'a dyn Space,
    /// Children of a full node in a B-tree of chunks.
    pub(super) max_chunk_children: usize,
}

impl<'a> FileEdit<'a> {
    /// The file in `storage`, which shows all that is written to `space`.
    ///
    /// # Errors
    /// `Unsupported` for a file that cannot be edited, by the name of what it has; `Corrupt` or `Io` if it cannot be parsed.
    pub fn open(storage: Arc<dyn Storage>, limits: &Limits, space: &'a dyn Space) -> Result<Self> {
        let image = SuperblockImage::read(storage.as_ref())?;
        let superblock = Superblock::read(storage, image.place(), limits, true)?;
        let refused = |what: &str| Err(Error::unsupported(format!("{what} cannot be edited yet")));
        if superblock.driver.is_some() {
            return refused("a file of several members (driver family, multi or split)");
        }
        let mut half = image.chunk_tree_k().unwrap_or(CHUNK_TREE_K);
        if let Some(extension) = superblock.extension {
            let header = ObjectHeader::read(&superblock.source, extension)?;
            for message in &header.messages {
                match (message.kind, message.body.as_ref()) {
                    (kind::DRIVER_INFO, _) => return refused("a file of several members (driver family, multi or split)"),
                    (kind::METADATA_CACHE_IMAGE, _) => return refused("a file with an image of the metadata cache"),
                    (kind::FILE_SPACE_INFO, [1, strategy, persists, ..]) => match (strategy, persists) {
                        (_, 1..) => return refused("a file that keeps its free space"),
                        (1, _) => return refused("a file of pages"),
                        _ => {}
                    },
                    (kind::FILE_SPACE_INFO, _) => return refused("a file with an old file space message"),
                    (BTREE_K, [0, low, high, ..]) => half = u16::from_le_bytes([*low, *high]),
                    _ => {}
                }
            }
        }
        if half == 0 {
            return Err(Error::corrupt("B-trees without children"));
        }
        Ok(Self { source: superblock.source, space, max_chunk_children: 2 * usize::from(half) })
    }

    /// Room for values at the end of the file; returns its address.
    ///
    /// # Errors
    /// As [`Space::allocate`].
    pub fn allocate(&self, bytes: u64) -> Result<u64> {
        self.space.allocate(bytes)
    }

    /// Whether addresses and lengths have 8 bytes each, as in values of variable length that are in memory.
    pub fn has_wide_addresses(&self) -> bool {
        self.source.offset_size == 8 && self.source.length_size == 8
    }

    /// Writes values.
    ///
    /// # Errors
    /// As [`Space::write`].
    pub fn write(&self, address: u64, bytes: &[u8]) -> Result<()> {
        self.space.write(address, bytes)
    }

    /// The file, with a fresh budget: each change is paid for by itself.
    pub(super) fn source(&self) -> Source {
        self.source.with_own_budget()
    }
}
