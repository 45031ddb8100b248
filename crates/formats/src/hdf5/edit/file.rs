//! A file that is edited: what can be, and the objects in it.

use std::sync::Arc;

use hyperslab_array::{Datatype, Error, Result};
use hyperslab_storage::Storage;

use super::space::{PageKind, Space};
use super::superblock::SuperblockImage;
use super::symbol_table::GroupForm;
use crate::hdf5::heap::HeapWriter;
use crate::hdf5::object_header::{ObjectHeader, kind};
use crate::hdf5::superblock::Superblock;
use crate::hdf5::writer::{narrow_refusal, with_addresses};
use crate::hdf5::{Source, Widths};
use crate::{Limits, ObjectId};

/// Half of the children of a full node in a B-tree of chunks, unless the superblock says otherwise.
const CHUNK_TREE_K: u16 = 32;
/// Half of the children of a full node in a group's B-tree, and of the links in a full symbol table node, unless the superblock says
/// otherwise.
const GROUP_TREE_K: u16 = 16;
const GROUP_LEAF_K: u16 = 4;
/// Header message with the sizes of B-trees.
const BTREE_K: u16 = 0x13;

/// Changes objects of a file. Each change reads what the ones before have written.
pub struct FileEdit<'a> {
    source: Source,
    pub(super) space: &'a dyn Space,
    /// Children of a full node in a B-tree of chunks.
    pub(super) max_chunk_children: usize,
    /// Entries of full nodes in groups of the old kind.
    pub(super) group_form: GroupForm,
    root: ObjectId,
    /// Where the superblock says whether it knows the symbol table of the root group.
    root_cache: Option<u64>,
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
        let (mut leaf, mut tree) = image.group_k().unwrap_or((GROUP_LEAF_K, GROUP_TREE_K));
        if let Some(extension) = superblock.extension {
            let header = ObjectHeader::read(&superblock.source, extension)?;
            for message in &header.messages {
                match (message.kind, message.body.as_ref()) {
                    (kind::DRIVER_INFO, _) => return refused("a file of several members (driver family, multi or split)"),
                    (kind::METADATA_CACHE_IMAGE, _) => return refused("a file with an image of the metadata cache"),
                    // `FileSpace` has the rules of version 1. The older one has none for what is appended.
                    (kind::FILE_SPACE_INFO, [version, ..]) if *version > 1 => return refused("a file with a newer file space message"),
                    (BTREE_K, [0, chunk_low, chunk_high, tree_low, tree_high, leaf_low, leaf_high, ..]) => {
                        half = u16::from_le_bytes([*chunk_low, *chunk_high]);
                        tree = u16::from_le_bytes([*tree_low, *tree_high]);
                        leaf = u16::from_le_bytes([*leaf_low, *leaf_high]);
                    }
                    _ => {}
                }
            }
        }
        if half == 0 || leaf == 0 || tree == 0 {
            return Err(Error::corrupt("B-trees without children"));
        }
        let group_form = GroupForm { max_links: 2 * usize::from(leaf), max_children: 2 * usize::from(tree) };
        let (root, root_cache) = (ObjectId(superblock.root), image.root_cache());
        Ok(Self { source: superblock.source, space, max_chunk_children: 2 * usize::from(half), group_form, root, root_cache })
    }

    /// Room for values; returns its address.
    ///
    /// # Errors
    /// As [`Space::allocate`].
    pub fn allocate(&self, bytes: u64) -> Result<u64> {
        self.space.allocate(PageKind::Raw, bytes)
    }

    /// Stores what `fill` puts into a global heap. It is called twice, because references hold absolute addresses: the length is found first, then
    /// the place. Returns the address of the heap, 0 if nothing was put there, and the heap.
    ///
    /// # Errors
    /// Those of `fill`; as [`Space::allocate`] and [`Space::write`].
    pub fn put_heap(&self, mut fill: impl FnMut(&mut HeapWriter) -> Result<()>) -> Result<(u64, HeapWriter)> {
        let page_bytes = self.space.page_bytes();
        let mut sized = HeapWriter::in_pages(0, page_bytes);
        fill(&mut sized)?;
        let length = sized.finish().len() as u64;
        let address = if length == 0 { 0 } else { self.space.allocate(PageKind::Raw, length)? };
        // What a page holds lies within one, at any place of it; anything else begins at a page, as it did when it was measured.
        let mut heap = HeapWriter::in_pages(address, page_bytes.filter(|page_bytes| length >= *page_bytes));
        fill(&mut heap)?;
        if length > 0 {
            self.space.write(address, &heap.clone().finish())?;
        }
        Ok((address, heap))
    }

    /// Whether values that the file places somewhere lie in it.
    ///
    /// # Errors
    /// As [`Space::holds`].
    pub fn holds(&self, address: u64, bytes: u64) -> Result<bool> {
        self.space.holds(address, bytes)
    }

    /// Bytes of an address and of a length.
    pub(super) fn widths(&self) -> Widths {
        widths(&self.source)
    }

    /// Bytes of an address.
    pub fn address_bytes(&self) -> u8 {
        self.source.offset_size
    }

    /// A datatype as the file stores it: what holds addresses is as long as they are.
    ///
    /// # Errors
    /// `Unsupported` for one that files with such addresses cannot have.
    pub fn stored_datatype(&self, datatype: &Datatype) -> Result<Datatype> {
        match narrow_refusal(datatype).filter(|_| self.has_narrow_addresses()) {
            Some(refusal) => Err(refusal),
            None => Ok(with_addresses(datatype, self.source.offset_size)),
        }
    }

    /// Whether addresses have fewer bytes than in memory.
    pub(super) fn has_narrow_addresses(&self) -> bool {
        self.source.offset_size < 8
    }

    /// Removes the symbol table of the root group from the superblock, if `group` is the root group.
    pub(super) fn forget_root_table(&self, group: ObjectId) -> Result<()> {
        match self.root_cache.filter(|_| group == self.root) {
            // Type and content of what is cached.
            Some(place) => self.space.write(place, &[0; 24]),
            None => Ok(()),
        }
    }

    /// The root group.
    pub fn root(&self) -> ObjectId {
        self.root
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

/// Bytes of an address and of a length in a file.
pub(super) fn widths(source: &Source) -> Widths {
    Widths { address: source.offset_size, length: source.length_size }
}
