//! Objects of a fractal heap. New ones lie in the file by themselves ("huge" objects, whatever their size), so that the blocks and the free
//! space that the HDF5 library manages stay as they are.

use hyperslab_array::{Error, Result};

use super::btree_v2::{RecordTree, TreeForm};
use super::entry::seal;
use super::file::widths;
use super::space::{PageKind, Space};
use crate::hdf5::heap::{FractalHeap, encode_empty};
use crate::hdf5::{Cursor, Encoder, Source};

/// Record type of the tree of huge objects.
const HUGE_OBJECTS: u8 = 1;
const HUGE_NODE_BYTES: u32 = 512;
/// Where the flags lie in the header.
const FLAGS: usize = 9;
/// Flag: the numbers of huge objects have begun again.
const HUGE_NUMBERS_WRAPPED: u8 = 1;
/// Types of objects in an ID.
const MANAGED: u8 = 0;
const HUGE: u8 = 1;
const TINY: u8 = 2;

/// A heap that is edited. Its header is in memory until [`HeapEdit::store`].
pub(super) struct HeapEdit<'a> {
    source: &'a Source,
    space: &'a dyn Space,
    address: u64,
    header: Vec<u8>,
    id_bytes: usize,
}

/// Fields of the header that are lengths, in the order of the header.
#[derive(Clone, Copy)]
enum Count {
    ManagedObjects = 3,
    HugeBytes = 4,
    HugeObjects = 5,
    TinyBytes = 6,
    TinyObjects = 7,
}

impl<'a> HeapEdit<'a> {
    /// The heap whose header lies at `address`.
    pub fn open(source: &'a Source, space: &'a dyn Space, address: u64) -> Result<Self> {
        // Also checks checksum and sizes.
        let id_bytes = FractalHeap::open(source, address)?.id_bytes();
        let (o, l) = (usize::from(source.offset_size), usize::from(source.length_size));
        let length = 14 + 2 * (l + o) + 8 * l + 2 + 2 * l + 2 + 2 + o + 2 + 4;
        let header = source.read(address, length as u64)?.into_owned();
        if header.get(7..9) != Some(&[0, 0]) {
            return Err(Error::unsupported("links or attributes in a heap with filters cannot be edited yet"));
        }
        if o + l < id_bytes {
            return Err(Error::unsupported("links or attributes in a heap with long IDs cannot be edited yet"));
        }
        Ok(Self { source, space, address, header, id_bytes })
    }

    /// Creates an empty heap whose IDs have `id_bytes`; returns its address.
    pub fn create(source: &Source, space: &dyn Space, id_bytes: u16) -> Result<u64> {
        let header = encode_empty(id_bytes, widths(source))?;
        let address = space.allocate(PageKind::Metadata, header.len() as u64)?;
        space.write(address, &header)?;
        Ok(address)
    }

    /// Adds an object; returns its ID.
    pub fn insert(&mut self, object: &[u8]) -> Result<Vec<u8>> {
        let (o, l) = (usize::from(self.source.offset_size), usize::from(self.source.length_size));
        let number = self.uint(14, l)?.checked_add(1).filter(|number| self.id_bytes > 8 || number >> (8 * (self.id_bytes - 1)) == 0);
        let number = number.ok_or_else(|| Error::unsupported("a heap that has used all of its numbers"))?;
        let address = self.space.allocate(PageKind::Raw, object.len() as u64)?;
        self.space.write(address, object)?;
        let mut record = Encoder::default();
        record.uint(address, o);
        record.uint(object.len() as u64, l);
        record.uint(number, l);
        let record = record.finish();
        let mut tree = match self.tree()? {
            Some(tree) => tree,
            None => {
                let record_bytes = u16::try_from(record.len()).map_err(|_| Error::internal("a record of 64 KiB"))?;
                let form = TreeForm { record_type: HUGE_OBJECTS, node_bytes: HUGE_NODE_BYTES, record_bytes, split_percent: 100, merge_percent: 40 };
                let tree = RecordTree::create(self.source, self.space, form)?;
                self.set_uint(14 + l, o, tree.address())?;
                tree
            }
        };
        let source = self.source;
        tree.set(&record, &mut |other| Ok(Huge::parse(source, other)?.number.cmp(&number)))?;
        self.set_uint(14, l, number)?;
        self.add(Count::HugeBytes, object.len() as u64)?;
        self.add(Count::HugeObjects, 1)?;
        let mut id = Encoder::default();
        id.u8(HUGE << 4);
        id.uint(number, self.id_bytes - 1);
        id.pad_to(self.id_bytes);
        Ok(id.finish())
    }

    /// Removes the object with this ID. The space of one in a block is not used again.
    pub fn remove(&mut self, id: &[u8]) -> Result<()> {
        let bad = || Error::corrupt("a fractal heap ID that makes no sense");
        let first = *id.first().ok_or_else(bad)?;
        match (first >> 4) & 3 {
            MANAGED => {
                let length = FractalHeap::open(self.source, self.address)?.object(id)?.len() as u64;
                let (o, l) = (usize::from(self.source.offset_size), usize::from(self.source.length_size));
                let free = self.uint(14 + l + o, l)?;
                self.set_uint(14 + l + o, l, free.saturating_add(length))?;
                self.subtract(Count::ManagedObjects, 1)
            }
            HUGE => {
                let mut cursor = Cursor::new(id, 0, 8, 8, &self.source.budget);
                cursor.skip(1)?;
                let number = cursor.uint((self.id_bytes - 1).min(8))?;
                let source = self.source;
                let mut tree = self.tree()?.ok_or_else(bad)?;
                let record = tree.remove(&mut |other| Ok(Huge::parse(source, other)?.number.cmp(&number)))?.ok_or_else(bad)?;
                let huge = Huge::parse(source, &record)?;
                self.space.free(PageKind::Raw, huge.address, huge.length)?;
                self.subtract(Count::HugeBytes, huge.length)?;
                self.subtract(Count::HugeObjects, 1)?;
                self.drop_empty_tree(tree)
            }
            TINY => {
                let is_extended = self.id_bytes > 18;
                let low = u64::from(first & 0x0f);
                let length = if is_extended { low << 8 | u64::from(*id.get(1).ok_or_else(bad)?) } else { low } + 1;
                self.subtract(Count::TinyBytes, length)?;
                self.subtract(Count::TinyObjects, 1)
            }
            _ => Err(bad()),
        }
    }

    /// Removes the tree of huge objects after the last one of them: the HDF5 library removes it whenever it closes such a heap, also of a file that it may
    /// not write, and fails.
    fn drop_empty_tree(&mut self, tree: RecordTree<'_>) -> Result<()> {
        let (o, l) = (usize::from(self.source.offset_size), usize::from(self.source.length_size));
        if self.uint(self.count_place(Count::HugeObjects), l)? > 0 {
            return Ok(());
        }
        tree.free()?;
        self.set_uint(14, l, 0)?;
        self.set_uint(14 + l, o, u64::MAX)?;
        if let Some(flags) = self.header.get_mut(FLAGS) {
            *flags &= !HUGE_NUMBERS_WRAPPED;
        }
        Ok(())
    }

    /// Writes the header.
    pub fn store(mut self) -> Result<()> {
        seal(&mut self.header)?;
        self.space.write(self.address, &self.header)
    }

    fn tree(&self) -> Result<Option<RecordTree<'a>>> {
        let l = usize::from(self.source.length_size);
        let mut cursor = self.source.cursor(self.header.get(14 + l..).unwrap_or_default(), 0);
        cursor.address()?.map(|tree| RecordTree::open(self.source, self.space, tree, &[HUGE_OBJECTS])).transpose()
    }

    fn count_place(&self, count: Count) -> usize {
        let (o, l) = (usize::from(self.source.offset_size), usize::from(self.source.length_size));
        14 + 2 * (l + o) + count as usize * l
    }

    fn add(&mut self, count: Count, more: u64) -> Result<()> {
        let (at, l) = (self.count_place(count), usize::from(self.source.length_size));
        let sum = self.uint(at, l)?.checked_add(more).ok_or_else(|| Error::corrupt("a fractal heap beyond 64 bits"))?;
        self.set_uint(at, l, sum)
    }

    fn subtract(&mut self, count: Count, less: u64) -> Result<()> {
        let (at, l) = (self.count_place(count), usize::from(self.source.length_size));
        let rest = self.uint(at, l)?.saturating_sub(less);
        self.set_uint(at, l, rest)
    }

    fn uint(&self, at: usize, width: usize) -> Result<u64> {
        let bytes = self.header.get(at..at + width).ok_or_else(|| Error::internal("a field beyond a heap's header"))?;
        Ok(bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte)))
    }

    fn set_uint(&mut self, at: usize, width: usize, value: u64) -> Result<()> {
        let target = self.header.get_mut(at..at + width).ok_or_else(|| Error::internal("a field beyond a heap's header"))?;
        target.iter_mut().zip(value.to_le_bytes()).for_each(|(to, byte)| *to = byte);
        Ok(())
    }
}

/// A record of a huge object.
struct Huge {
    address: u64,
    length: u64,
    number: u64,
}

impl Huge {
    fn parse(source: &Source, record: &[u8]) -> Result<Self> {
        let mut cursor = source.cursor(record, 0);
        Ok(Self { address: cursor.defined_address("a huge heap object")?, length: cursor.length()?, number: cursor.length()? })
    }
}
