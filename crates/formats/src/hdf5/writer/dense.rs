//! Dense attributes: those of an object with one too large for its header. They lie in a fractal heap, found by
//! their names' hashes (specification III.A.2, III.G, IV.A.2.v).
//!
//! Every attribute is a "huge" object of the heap, whatever its size: it lies in the file as it is, and the heap has
//! no blocks to manage. Both B-trees are one leaf.

use hyperslab_array::{Error, Result};

use super::Space;
use crate::hdf5::Encoder;
use crate::hdf5::checksum::lookup3;

/// Bytes of a heap ID in the records of attributes.
const HEAP_ID_BYTES: u16 = 8;
/// Signature, version, type; checksum.
const NODE_OVERHEAD: usize = 10;

/// Where an object's attributes are.
pub(crate) struct DenseAttributes {
    pub heap: u64,
    pub name_tree: u64,
}

/// Puts attributes, by name as encoded messages, into `space`.
pub(crate) fn encode(space: &mut Space, attributes: &[(String, Vec<u8>)]) -> Result<DenseAttributes> {
    let mut huge = Vec::with_capacity(attributes.len());
    let mut named: Vec<(u32, &str, u64)> = Vec::with_capacity(attributes.len());
    let mut total = 0u64;
    for (number, (name, message)) in (1u64..).zip(attributes) {
        let mut record = Encoder::default();
        record.u64(space.put(message));
        record.u64(message.len() as u64);
        record.u64(number);
        huge.push(record.finish());
        named.push((lookup3(name.as_bytes()), name, number));
        total += message.len() as u64;
    }
    named.sort_unstable();
    let names = named.iter().zip(0u32..).map(|((hash, _, number), _)| {
        let mut record = Encoder::default();
        // The type of a huge object, then its number.
        record.u8(1 << 4);
        record.uint(*number, usize::from(HEAP_ID_BYTES) - 1);
        record.u8(0);
        record.u32(u32::try_from(number - 1).unwrap_or(u32::MAX));
        record.u32(*hash);
        record.finish()
    });
    let names: Vec<Vec<u8>> = names.collect();
    const HUGE_OBJECTS: u8 = 1;
    const ATTRIBUTE_NAMES: u8 = 8;
    let huge_tree = tree(space, HUGE_OBJECTS, &huge)?;
    let name_tree = tree(space, ATTRIBUTE_NAMES, &names)?;
    let count = attributes.len() as u64;
    let mut header = Encoder::signed(b"FRHP");
    header.u8(0);
    header.u16(HEAP_ID_BYTES);
    header.u16(0);
    // Direct blocks, of which there are none yet, have checksums.
    header.u8(2);
    header.u32(4096);
    header.u64(count);
    header.address(Some(huge_tree));
    header.u64(0);
    header.address(None);
    // Managed space and objects: none.
    for value in [0, 0, 0, 0, total, count, 0, 0] {
        header.u64(value);
    }
    // The doubling table as the library begins it for attributes.
    header.u16(4);
    header.u64(1024);
    header.u64(64 << 10);
    header.u16(40);
    header.u16(1);
    header.address(None);
    header.u16(0);
    Ok(DenseAttributes { heap: space.put(&header.finish_with_checksum()), name_tree })
}

/// A B-tree of version 2 with one leaf, whose records are in order; the address of its header.
fn tree(space: &mut Space, kind: u8, records: &[Vec<u8>]) -> Result<u64> {
    let record_bytes = records.first().map_or(0, Vec::len);
    let count = u16::try_from(records.len()).map_err(|_| Error::unsupported("65536 attributes of one object, of which some are large"))?;
    let node_bytes = (NODE_OVERHEAD + records.len() * record_bytes).max(512);
    let mut leaf = Encoder::signed(b"BTLF");
    leaf.bytes(&[0, kind]);
    for record in records {
        leaf.bytes(record);
    }
    let mut leaf = leaf.finish_with_checksum();
    leaf.resize(node_bytes, 0);
    let root = space.put(&leaf);
    let mut header = Encoder::signed(b"BTHD");
    header.bytes(&[0, kind]);
    header.u32(u32::try_from(node_bytes).map_err(|_| Error::unsupported("4 GiB of attribute names"))?);
    header.u16(u16::try_from(record_bytes).map_err(|_| Error::internal("records of 64 KiB"))?);
    header.u16(0);
    header.bytes(&[100, 40]);
    header.address(Some(root));
    header.u16(count);
    header.u64(u64::from(count));
    Ok(space.put(&header.finish_with_checksum()))
}
