//! Dense storage that is edited: links or attributes in a fractal heap, found by their names' hashes and by the order of their creation.

use std::cmp::Ordering;

use hyperslab_array::name::{bytes_of, compare};
use hyperslab_array::{Error, Result};

use super::btree_v2::{RecordTree, TreeForm};
use super::fractal_heap::HeapEdit;
use super::space::Space;
use crate::hdf5::checksum::lookup3;
use crate::hdf5::heap::FractalHeap;
use crate::hdf5::message::{attribute, link};
use crate::hdf5::{Encoder, Source, shared_messages};

/// What is in the storage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DenseKind {
    Links,
    Attributes,
}

/// Flag of a record whose attribute is in the heap of shared messages.
const SHARED: u8 = 1 << 1;
/// Bytes of a node, as the library makes them.
const NODE_BYTES: u32 = 512;

/// Where links or attributes are.
pub(super) struct DenseEdit<'a> {
    pub source: &'a Source,
    pub space: &'a dyn Space,
    pub kind: DenseKind,
    pub heap: u64,
    pub name_tree: u64,
    /// If they are indexed by the order of their creation.
    pub order_tree: Option<u64>,
}

/// What a record of the name tree says.
struct Entry {
    id: Vec<u8>,
    flags: u8,
    order: u32,
    hash: u32,
}

impl DenseKind {
    fn name_type(self) -> u8 {
        if self == Self::Links { 5 } else { 8 }
    }
    fn order_type(self) -> u8 {
        if self == Self::Links { 6 } else { 9 }
    }
    fn id_bytes(self) -> u16 {
        if self == Self::Links { 7 } else { 8 }
    }
}

impl<'a> DenseEdit<'a> {
    /// Creates storage without content, with a tree by the order of creation if it is `indexed`.
    pub fn create(source: &'a Source, space: &'a dyn Space, kind: DenseKind, indexed: bool) -> Result<Self> {
        let id_bytes = kind.id_bytes();
        let tree = |record_type: u8, record_bytes: u16| {
            let form = TreeForm { record_type, node_bytes: NODE_BYTES, record_bytes, split_percent: 100, merge_percent: 40 };
            RecordTree::create(source, space, form).map(|tree| tree.address())
        };
        let (names, orders) = if kind == DenseKind::Links { (4 + id_bytes, 8 + id_bytes) } else { (id_bytes + 9, id_bytes + 5) };
        let heap = HeapEdit::create(source, space, id_bytes)?;
        let name_tree = tree(kind.name_type(), names)?;
        let order_tree = if indexed { Some(tree(kind.order_type(), orders)?) } else { None };
        Ok(Self { source, space, kind, heap, name_tree, order_tree })
    }

    /// Adds an encoded message; nothing of its name is there. `order` is when it was created.
    pub fn insert(&self, name: &str, order: u64, message: &[u8]) -> Result<()> {
        let hash = lookup3(&bytes_of(name));
        let mut heap = HeapEdit::open(self.source, self.space, self.heap)?;
        let entry = Entry { id: heap.insert(message)?, flags: 0, order: u32::try_from(order).unwrap_or(u32::MAX), hash };
        heap.store()?;
        self.names()?.set(&self.name_record(&entry), &mut |record| self.compare(record, hash, name))?;
        if let Some(mut tree) = self.orders()? {
            let mut record = Encoder::default();
            if self.kind == DenseKind::Links {
                record.u64(order);
                record.bytes(&entry.id);
            } else {
                record.bytes(&entry.id);
                record.u8(0);
                record.u32(entry.order);
            }
            tree.set(&record.finish(), &mut |record| self.compare_order(record, order))?;
        }
        Ok(())
    }

    /// Removes what is called `name`; returns its encoded message.
    pub fn remove(&self, name: &str) -> Result<Option<Vec<u8>>> {
        let hash = lookup3(&bytes_of(name));
        let Some(record) = self.names()?.remove(&mut |record| self.compare(record, hash, name))? else { return Ok(None) };
        let entry = self.entry(&record)?;
        let message = self.message(&entry)?;
        if let Some(mut tree) = self.orders()? {
            let order = match self.kind {
                DenseKind::Links => link::parse(&mut self.source.cursor(&message, 0))?.creation_order.unwrap_or_default().cast_unsigned(),
                DenseKind::Attributes => entry.order.into(),
            };
            tree.remove(&mut |record| self.compare_order(record, order))?.ok_or_else(|| Error::corrupt("dense storage whose indexes differ"))?;
        }
        if entry.flags & SHARED == 0 {
            let mut heap = HeapEdit::open(self.source, self.space, self.heap)?;
            heap.remove(&entry.id)?;
            heap.store()?;
        }
        Ok(Some(message))
    }

    fn names(&self) -> Result<RecordTree<'a>> {
        RecordTree::open(self.source, self.space, self.name_tree, &[self.kind.name_type()])
    }

    fn orders(&self) -> Result<Option<RecordTree<'a>>> {
        self.order_tree.map(|tree| RecordTree::open(self.source, self.space, tree, &[self.kind.order_type()])).transpose()
    }

    fn entry(&self, record: &[u8]) -> Result<Entry> {
        let mut cursor = self.source.cursor(record, self.name_tree);
        Ok(match self.kind {
            DenseKind::Links => Entry { hash: cursor.u32()?, id: cursor.take(cursor.remaining())?.to_vec(), flags: 0, order: 0 },
            DenseKind::Attributes => {
                let id = cursor.take(cursor.remaining().saturating_sub(9))?.to_vec();
                Entry { id, flags: cursor.u8()?, order: cursor.u32()?, hash: cursor.u32()? }
            }
        })
    }

    fn name_record(&self, entry: &Entry) -> Vec<u8> {
        let mut record = Encoder::default();
        if self.kind == DenseKind::Links {
            record.u32(entry.hash);
            record.bytes(&entry.id);
        } else {
            record.bytes(&entry.id);
            record.u8(entry.flags);
            record.u32(entry.order);
            record.u32(entry.hash);
        }
        record.finish()
    }

    fn message(&self, entry: &Entry) -> Result<Vec<u8>> {
        if entry.flags & SHARED != 0 {
            return Ok(shared_messages::body(self.source, crate::hdf5::object_header::kind::ATTRIBUTE, &entry.id)?.to_vec());
        }
        Ok(FractalHeap::open(self.source, self.heap)?.object(&entry.id)?.into_owned())
    }

    /// Records are in the order of the hashes, and those with the same hash in the order of the names.
    fn compare(&self, record: &[u8], hash: u32, name: &str) -> Result<Ordering> {
        let entry = self.entry(record)?;
        match entry.hash.cmp(&hash) {
            Ordering::Equal => {
                let message = self.message(&entry)?;
                let found = match self.kind {
                    DenseKind::Links => link::parse(&mut self.source.cursor(&message, 0))?.name,
                    DenseKind::Attributes => attribute::name(&mut self.source.cursor(&message, 0))?,
                };
                Ok(compare(&found, name))
            }
            order => Ok(order),
        }
    }

    fn compare_order(&self, record: &[u8], wanted: u64) -> Result<Ordering> {
        let mut cursor = self.source.cursor(record, 0);
        Ok(match self.kind {
            DenseKind::Links => cursor.u64()?.cast_signed().cmp(&wanted.cast_signed()),
            DenseKind::Attributes => {
                cursor.skip(cursor.remaining().saturating_sub(4))?;
                u64::from(cursor.u32()?).cmp(&wanted)
            }
        })
    }
}
