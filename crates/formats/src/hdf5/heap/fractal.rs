//! Fractal heap: dense storage of links and attributes (specification III.G).

mod walk;

pub(crate) use walk::HeapBlock;

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use hyperslab_array::{Error, Result};

use crate::filter::Pipeline;
use crate::hdf5::shared_heaps::{Block, Blocks};
use crate::hdf5::{Cursor, Source, btree, checksum, message};

/// An open fractal heap. Blocks are read once.
pub(crate) struct FractalHeap<'a> {
    source: &'a Source,
    address: u64,
    id_bytes: u16,
    checksummed_blocks: bool,
    max_managed_bytes: u32,
    huge_tree: Option<u64>,
    free_space: Option<u64>,
    header_bytes: u64,
    width: u64,
    start_block: u64,
    max_direct: u64,
    heap_bits: u16,
    root: Option<u64>,
    root_rows: u16,
    filters: Option<HeapFilters>,
    blocks: Blocks,
    /// The direct block that was used last and the heap offsets that it holds: the next object is often in it.
    recent: Option<(Range<u64>, Arc<[u8]>)>,
    huge: Option<HashMap<u64, Huge>>,
    /// Whether all objects will be read.
    is_listed: bool,
}

struct HeapFilters {
    pipeline: Pipeline,
    root_bytes: u64,
    root_mask: u32,
}

impl HeapFilters {
    /// Parses what follows the fixed part of the header of the heap at `address`.
    fn parse(source: &Source, cursor: &mut Cursor<'_>, address: u64, filter_bytes: u16) -> Result<Self> {
        let root_bytes = cursor.length()?;
        let root_mask = cursor.u32()?;
        let encoded = cursor.take(usize::from(filter_bytes))?;
        let pipeline = message::filter_pipeline::parse(&mut source.cursor(encoded, address))?;
        if let Some(refusal) = pipeline.refusal() {
            return Err(refusal.at_offset(source.absolute(address)?));
        }
        Ok(Self { pipeline, root_bytes, root_mask })
    }
}

/// A huge object.
#[derive(Clone, Copy)]
struct Huge {
    address: u64,
    length: u64,
    filtered: Option<(u32, u64)>,
}

/// Bytes that the list of huge objects takes for each.
const HUGE_COST: u64 = 64;

fn log2(n: u64) -> u32 {
    n.checked_ilog2().unwrap_or(0)
}

impl<'a> FractalHeap<'a> {
    /// Reads the heap header at `address`.
    pub fn open(source: &'a Source, address: u64) -> Result<Self> {
        let (o, l) = (u64::from(source.offset_size), u64::from(source.length_size));
        let fixed = 4 + 1 + 2 + 2 + 1 + 4 + l + o + l + o + 8 * l + 2 + 2 * l + 2 + 2 + o + 2;
        let head = source.read(address, fixed)?;
        let place = source.absolute(address)?;
        let (mut heap, filter_bytes) = Self::without_filters(source, address, &head)?;
        if filter_bytes > 0 {
            heap.header_bytes += l + 4 + u64::from(filter_bytes);
        }
        let whole = source.read(address, heap.header_bytes)?;
        checksum::verify(&whole, place, "a fractal heap header")?;
        if !heap.is_plausible() {
            return Err(Error::corrupt("impossible sizes in a fractal heap header").at_offset(place));
        }
        if filter_bytes > 0 {
            let mut cursor = source.cursor(&whole, address);
            cursor.take_u64(fixed)?;
            heap.filters = Some(HeapFilters::parse(source, &mut cursor, address, filter_bytes)?);
        }
        Ok(heap)
    }

    /// The heap as the fixed part of its header describes it, and the bytes of the filters that follow.
    fn without_filters(source: &'a Source, address: u64, head: &[u8]) -> Result<(Self, u16)> {
        let mut cursor = source.cursor(head, address);
        cursor.signature(b"FRHP")?;
        let version = cursor.u8()?;
        if version != 0 {
            return Err(cursor.corrupt(format!("version {version} of a fractal heap")));
        }
        let id_bytes = cursor.u16()?;
        let filter_bytes = cursor.u16()?;
        let flags = cursor.u8()?;
        let max_managed_bytes = cursor.u32()?;
        cursor.length()?;
        let huge_tree = cursor.address()?;
        cursor.length()?;
        let free_space = cursor.address()?;
        for _ in 0..8 {
            cursor.length()?;
        }
        let width = u64::from(cursor.u16()?);
        let start_block = cursor.length()?;
        let max_direct = cursor.length()?;
        let heap_bits = cursor.u16()?;
        cursor.u16()?;
        let root = cursor.address()?;
        let root_rows = cursor.u16()?;
        let heap = Self {
            source,
            address,
            id_bytes,
            checksummed_blocks: flags & 2 != 0,
            max_managed_bytes,
            huge_tree,
            free_space,
            // With the checksum.
            header_bytes: head.len() as u64 + 4,
            width,
            start_block,
            max_direct,
            heap_bits,
            root,
            root_rows,
            filters: None,
            blocks: Blocks::default(),
            recent: None,
            huge: None,
            is_listed: false,
        };
        Ok((heap, filter_bytes))
    }

    /// Whether the sizes in the header are possible for a heap.
    fn is_plausible(&self) -> bool {
        // A heap ID has at least its flags.
        self.id_bytes > 0
            && self.width > 0
            && self.width.is_power_of_two()
            && self.start_block.is_power_of_two()
            && self.max_direct.is_power_of_two()
            && self.max_direct >= self.start_block
            && self.max_direct <= self.source.limits.metadata_block_bytes
            && (1..=64).contains(&self.heap_bits)
            && self.root_rows <= 128
    }

    /// The same heap, of which all objects will be read: its blocks are fetched together.
    pub fn listed(self) -> Self {
        Self { is_listed: true, ..self }
    }
    /// The same heap, with blocks of it that were read before.
    pub fn with_blocks(self, blocks: Blocks) -> Self {
        Self { blocks, ..self }
    }
    /// The blocks that were read.
    pub fn into_blocks(self) -> Blocks {
        self.blocks
    }

    /// Bytes of a heap ID.
    pub fn id_bytes(&self) -> usize {
        usize::from(self.id_bytes)
    }

    /// The object with this heap ID.
    pub fn object<'b>(&'b mut self, id: &'b [u8]) -> Result<Cow<'b, [u8]>> {
        let bad = || Error::corrupt("a fractal heap ID that makes no sense");
        let first = *id.first().ok_or_else(bad)?;
        let place = self.source.absolute(self.address)?;
        let object = match (first >> 4) & 3 {
            _ if first >> 6 != 0 => Err(bad()),
            0 => self.managed(id),
            1 => self.huge_object(id).map(Cow::Owned),
            2 => {
                let extended = self.id_bytes > 18;
                let low = usize::from(first & 0x0f);
                let (length, start) = if extended { ((low << 8) | usize::from(*id.get(1).ok_or_else(bad)?), 2) } else { (low, 1) };
                id.get(start..start + length + 1).map(Cow::Borrowed).ok_or_else(bad)
            }
            _ => Err(bad()),
        };
        object.map_err(|error| error.at_offset(place))
    }

    fn offset_bytes(&self) -> usize {
        usize::from(self.heap_bits.div_ceil(8))
    }

    fn managed(&mut self, id: &[u8]) -> Result<Cow<'_, [u8]>> {
        let length_bytes = log2(self.max_direct).div_ceil(8).min(log2(u64::from(self.max_managed_bytes)) / 8 + 1);
        let mut cursor = Cursor::new(id, 0, 8, 8, &self.source.budget);
        cursor.skip(1)?;
        let offset = cursor.uint(self.offset_bytes())?;
        let length = cursor.uint(usize::try_from(length_bytes).unwrap_or(8))?;
        self.managed_at(offset, length)
    }

    /// `length` bytes at `offset` of the heap, all in one block.
    pub fn managed_at(&mut self, offset: u64, length: u64) -> Result<Cow<'_, [u8]>> {
        let (start, bytes) = self.block_at(offset)?;
        let range = offset
            .checked_sub(start)
            .and_then(|from| usize::try_from(from).ok())
            .zip(usize::try_from(length).ok())
            .and_then(|(from, length)| Some(from..from.checked_add(length)?));
        range
            .and_then(|range| bytes.get(range))
            .map(Cow::Borrowed)
            .ok_or_else(|| Error::corrupt(format!("a heap object of {length} bytes at {offset} exceeds its block")))
    }

    /// Bytes of a block in `row` of the doubling table.
    fn block_bytes(&self, row: u32) -> Result<u64> {
        let shifted = self.start_block.checked_shl(row.saturating_sub(1)).filter(|n| *n >= self.start_block);
        shifted.ok_or_else(|| Error::corrupt("a fractal heap beyond 64 bits"))
    }

    /// Where `row` begins, in bytes from the start of its indirect block.
    fn row_start(&self, row: u32) -> Result<u64> {
        if row == 0 {
            return Ok(0);
        }
        self.block_bytes(row)?.checked_mul(self.width).ok_or_else(|| Error::corrupt("a fractal heap beyond 64 bits"))
    }

    /// The direct block that holds heap offset `offset`: where it starts, and its bytes.
    fn block_at(&mut self, offset: u64) -> Result<(u64, &[u8])> {
        if !self.recent.as_ref().is_some_and(|(offsets, _)| offsets.contains(&offset)) {
            let (start, size, bytes) = self.look_up(offset)?;
            self.recent = Some((start..start.saturating_add(size), bytes));
        }
        let recent = self.recent.as_ref().map(|(offsets, bytes)| (offsets.start, bytes.as_ref()));
        recent.ok_or_else(|| Error::internal("a heap block that was not kept"))
    }

    /// Finds that block through the indirect blocks: start, number of heap offsets, and bytes.
    fn look_up(&mut self, offset: u64) -> Result<(u64, u64, Arc<[u8]>)> {
        let outside = || Error::corrupt(format!("heap offset {offset} lies outside of its fractal heap"));
        let root = self.root.ok_or_else(outside)?;
        if self.root_rows == 0 {
            let filtered = self.filters.as_ref().map(|f| (f.root_bytes, f.root_mask));
            let bytes = self.direct(root, self.start_block, filtered)?;
            return Ok((0, self.start_block, bytes));
        }
        let direct_rows = log2(self.max_direct) - log2(self.start_block) + 2;
        let (mut address, mut rows, mut start) = (root, u32::from(self.root_rows), 0u64);
        for _ in 0..self.source.limits.depth {
            let within = offset.checked_sub(start).ok_or_else(outside)?;
            let first_row = self.start_block.saturating_mul(self.width);
            let row = if within < first_row { 0 } else { log2(within / first_row) + 1 };
            if row >= rows {
                return Err(outside());
            }
            let size = self.block_bytes(row)?;
            let row_start = self.row_start(row)?;
            let column = (within - row_start) / size;
            let entries = self.indirect(address, rows, direct_rows)?;
            let number = u64::from(row) * self.width + column;
            let entry = usize::try_from(number).ok().and_then(|n| entries.get(n)).copied().ok_or_else(outside)?;
            start = start.checked_add(row_start + column * size).ok_or_else(outside)?;
            address = entry.address.ok_or_else(outside)?;
            if row < direct_rows {
                return Ok((start, size, self.direct(address, size, entry.filtered)?));
            }
            rows = (log2(size) + 1).checked_sub(log2(self.start_block) + log2(self.width)).filter(|rows| *rows > 0).ok_or_else(outside)?;
        }
        Err(outside())
    }

    /// Bytes of an indirect block of `rows`; its first `direct_rows` hold direct blocks.
    fn indirect_bytes(&self, rows: u32, direct_rows: u32) -> u64 {
        let offset_size = u64::from(self.source.offset_size);
        let direct = u64::from(rows.min(direct_rows)) * self.width;
        let deeper = u64::from(rows.saturating_sub(direct_rows)) * self.width;
        let per_direct = offset_size + if self.filters.is_some() { u64::from(self.source.length_size) + 4 } else { 0 };
        5 + offset_size + self.offset_bytes() as u64 + direct * per_direct + deeper * offset_size + 4
    }

    fn indirect(&mut self, address: u64, rows: u32, direct_rows: u32) -> Result<Arc<[Block]>> {
        if let Some(entries) = self.blocks.indirect.get(&address) {
            return Ok(entries.clone());
        }
        let direct = u64::from(rows.min(direct_rows)) * self.width;
        let deeper = u64::from(rows.saturating_sub(direct_rows)) * self.width;
        let bytes = self.source.read(address, self.indirect_bytes(rows, direct_rows))?;
        let mut cursor = self.source.cursor(&bytes, address);
        cursor.signature(b"FHIB")?;
        checksum::verify(&bytes, self.source.absolute(address)?, "a fractal heap indirect block")?;
        self.check_block(&mut cursor, "a fractal heap indirect block")?;
        cursor.skip(self.offset_bytes())?;
        let cost = direct.saturating_add(deeper).saturating_mul(size_of::<Block>() as u64);
        self.source.budget.charge(cost)?;
        self.blocks.bytes = self.blocks.bytes.saturating_add(cost);
        let mut entries = Vec::new();
        for _ in 0..direct {
            let address = cursor.address()?;
            let filtered = match self.filters {
                Some(_) => Some((cursor.length()?, cursor.u32()?)),
                None => None,
            };
            entries.push(Block { address, filtered });
        }
        for _ in 0..deeper {
            entries.push(Block { address: cursor.address()?, filtered: None });
        }
        if self.is_listed {
            let sizes = entries.iter().zip(0u64..).map(|(block, number)| (block, self.block_bytes(u32::try_from(number / self.width).unwrap_or(u32::MAX))));
            let blocks: Vec<(u64, u64)> =
                sizes.filter_map(|(block, size)| Some((block.address?, block.filtered.map_or(size.ok(), |(stored, _)| Some(stored))?))).collect();
            self.source.prefetch(blocks)?;
        }
        let entries: Arc<[Block]> = entries.into();
        self.blocks.indirect.insert(address, entries.clone());
        Ok(entries)
    }

    /// Checks the fields that follow the signature of every block: version and the header's address.
    fn check_block(&self, cursor: &mut Cursor<'_>, what: &str) -> Result<()> {
        cursor.version(0, what)?;
        match cursor.address()? {
            Some(header) if header == self.address => Ok(()),
            _ => Err(cursor.corrupt(format!("{what} of another heap"))),
        }
    }

    fn direct(&mut self, address: u64, size: u64, filtered: Option<(u64, u32)>) -> Result<Arc<[u8]>> {
        if let Some(bytes) = self.blocks.direct.get(&address) {
            return Ok(bytes.clone());
        }
        let place = self.source.absolute(address)?;
        // Blocks are kept, and a filtered one may be larger than what is stored of it.
        self.source.budget.charge(size)?;
        self.blocks.bytes = self.blocks.bytes.saturating_add(size);
        let bytes = match (&self.filters, filtered) {
            (Some(filters), Some((stored, mask))) => {
                let raw = self.source.read(address, stored)?;
                let mut out = Vec::new();
                let size = usize::try_from(size).map_err(|_| Error::limit_exceeded("a heap block exceeds memory"))?;
                filters.pipeline.decode(&raw, mask, size, &mut out).map_err(|e| e.at_offset(place))?;
                out
            }
            _ => self.source.read(address, size)?.into_owned(),
        };
        let mut cursor = self.source.cursor(&bytes, address);
        cursor.signature(b"FHDB")?;
        if self.checksummed_blocks {
            self.verify_direct(&bytes, place)?;
        }
        self.check_block(&mut cursor, "a fractal heap direct block")?;
        let bytes: Arc<[u8]> = bytes.into();
        self.blocks.direct.insert(address, bytes.clone());
        Ok(bytes)
    }

    /// Checks the checksum in a direct block's header, which is computed with the checksum field set to zero.
    fn verify_direct(&self, bytes: &[u8], place: u64) -> Result<()> {
        let at = 5 + usize::from(self.source.offset_size) + self.offset_bytes();
        let mut zeroed = bytes.to_vec();
        let field = zeroed.get_mut(at..at + 4).and_then(|field| <&mut [u8; 4]>::try_from(field).ok());
        let field = field.ok_or_else(|| Error::corrupt("a fractal heap block without its checksum").at_offset(place))?;
        let stored = u32::from_le_bytes(std::mem::take(field));
        checksum::compare(stored, checksum::lookup3(&zeroed), place, "a fractal heap direct block")
    }

    fn huge_object(&mut self, id: &[u8]) -> Result<Vec<u8>> {
        let bad = || Error::corrupt("a huge heap object that is not in its heap");
        let (o, l) = (usize::from(self.source.offset_size), usize::from(self.source.length_size));
        let filtered = self.filters.is_some();
        let direct_bytes = if filtered { o + l + 4 + l } else { o + l };
        let mut cursor = self.source.cursor(id, 0);
        cursor.skip(1)?;
        let huge = if self.id_bytes() > direct_bytes {
            let address = cursor.defined_address("a huge heap object")?;
            let length = cursor.length()?;
            let filtered = if filtered { Some((cursor.u32()?, cursor.length()?)) } else { None };
            Huge { address, length, filtered }
        } else {
            let key = cursor.uint((self.id_bytes() - 1).min(8))?;
            if self.huge.is_none() {
                self.huge = Some(self.huge_objects()?);
            }
            *self.huge.as_ref().and_then(|map| map.get(&key)).ok_or_else(bad)?
        };
        let raw = self.source.read(huge.address, huge.length)?;
        match (&self.filters, huge.filtered) {
            (Some(filters), Some((mask, size))) => {
                let mut out = Vec::new();
                if size > self.source.limits.metadata_block_bytes {
                    return Err(Error::limit_exceeded(format!("a heap object of {size} bytes")));
                }
                self.source.budget.charge(size)?;
                let size = usize::try_from(size).map_err(|_| bad())?;
                filters.pipeline.decode(&raw, mask, size, &mut out)?;
                Ok(out)
            }
            _ => Ok(raw.into_owned()),
        }
    }

    fn huge_objects(&self) -> Result<HashMap<u64, Huge>> {
        let tree = self.huge_tree.ok_or_else(|| Error::corrupt("a fractal heap without its huge objects"))?;
        let mut objects = HashMap::new();
        btree::v2::records(self.source, tree, &[1, 2], &mut |kind, record| {
            let mut cursor = self.source.cursor(record, tree);
            let address = cursor.defined_address("a huge heap object")?;
            let length = cursor.length()?;
            let filtered = if kind == 2 { Some((cursor.u32()?, cursor.length()?)) } else { None };
            let key = cursor.length()?;
            self.source.budget.charge(HUGE_COST)?;
            objects.insert(key, Huge { address, length, filtered });
            Ok(())
        })?;
        Ok(objects)
    }
}

#[cfg(test)]
mod tests {
    use hyperslab_array::ErrorKind;

    use super::*;
    use crate::hdf5::Encoder;
    use crate::hdf5::fuzzing::source;

    /// The header of an empty heap whose IDs have `id_bytes`.
    fn header(id_bytes: u16) -> Vec<u8> {
        let mut header = Encoder::signed(b"FRHP");
        header.u8(0);
        header.u16(id_bytes);
        // No filters, no flags.
        header.u16(0);
        header.u8(0);
        let (max_managed_bytes, width, start_block, max_direct, heap_bits) = (4096, 4, 512, 65536, 40);
        header.u32(max_managed_bytes);
        // Numbers, sizes and addresses that an empty heap does not use.
        header.bytes(&[0xff; 4 * 8]);
        header.bytes(&[0; 8 * 8]);
        header.u16(width);
        header.u64(start_block);
        header.u64(max_direct);
        header.u16(heap_bits);
        header.u16(0);
        header.address(None);
        header.u16(0);
        header.finish_with_checksum()
    }

    #[test]
    fn heap_ids_have_at_least_a_byte() {
        let open = |id_bytes| FractalHeap::open(&source(&header(id_bytes), &crate::Limits::default()), 0).map(|heap| heap.id_bytes());
        assert_eq!(open(8).ok(), Some(8));
        assert!(open(0).is_err_and(|error| error.kind() == ErrorKind::Corrupt && error.offset() == Some(0)));
    }
}
