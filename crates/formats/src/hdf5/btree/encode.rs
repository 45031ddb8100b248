//! Version-2 B-trees to be written, all records at once (specification III.A.2).

use hyperslab_array::{Error, Result};

use super::v2::{NODE_OVERHEAD, Shape};
use crate::hdf5::Encoder;
use crate::hdf5::encoder::WIDTH;
use crate::hdf5::writer::Space;

/// Bytes of a node, as the library makes them for names and attributes.
const NODE_BYTES: u32 = 512;

/// A node in the file: its address, its own records, and all records in it and below.
struct Node {
    address: u64,
    records: u64,
    below: u64,
}

/// Puts a tree of these records, which are in key order and equally long, into `space`; the address of its header.
pub(crate) fn encode(space: &mut Space, record_type: u8, records: &[Vec<u8>]) -> Result<u64> {
    let record_bytes = records.first().map_or(1, Vec::len);
    let new_shape = |depth: u16| Shape::new(record_type, NODE_BYTES.into(), record_bytes as u64, depth, WIDTH);
    let mut depth = 0;
    let mut shape = new_shape(depth)?;
    while shape.level(depth)?.max_below < records.len() as u64 {
        depth += 1;
        shape = new_shape(depth)?;
    }
    let root = node(space, &shape, depth, records)?;
    let mut header = Encoder::signed(b"BTHD");
    header.bytes(&[0, record_type]);
    header.u32(NODE_BYTES);
    header.u16(u16::try_from(record_bytes).map_err(|_| Error::internal("records of 64 KiB"))?);
    header.u16(depth);
    // Percentages of records at which the library splits and merges nodes.
    header.bytes(&[100, 40]);
    header.address(Some(root.address));
    header.u16(u16::try_from(root.records).map_err(|_| Error::internal("a B-tree node of 65536 records"))?);
    header.u64(root.below);
    Ok(space.put(&header.finish_with_checksum()))
}

// Recursion is bounded: each step lowers the depth.
fn node(space: &mut Space, shape: &Shape, depth: u16, records: &[Vec<u8>]) -> Result<Node> {
    let mut children = Vec::new();
    let mut own: Vec<&Vec<u8>> = Vec::new();
    if depth == 0 {
        own.extend(records);
    } else {
        // As few children as hold the records, alike in number; one record stands between two children.
        let max_below = shape.level(depth - 1)?.max_below;
        let count = (records.len() as u64 + 1).div_ceil(max_below + 1).max(2);
        let mut rest = records;
        for left in (1..=count).rev() {
            let below = (rest.len() as u64 + 1 - left).div_ceil(left);
            let (part, after) =
                rest.split_at_checked(usize::try_from(below).unwrap_or(usize::MAX)).ok_or_else(|| Error::internal("too few records for a B-tree node"))?;
            children.push(node(space, shape, depth - 1, part)?);
            rest = after;
            if let Some((between, after)) = after.split_first().filter(|_| left > 1) {
                own.push(between);
                rest = after;
            }
        }
    }
    let mut encoder = Encoder::signed(if depth == 0 { b"BTLF" } else { b"BTIN" });
    encoder.bytes(&[0, shape.record_type]);
    own.iter().for_each(|record| encoder.bytes(record));
    for child in &children {
        encoder.address(Some(child.address));
        encoder.uint(child.records, shape.count_bytes());
        if depth > 1 {
            encoder.uint(child.below, shape.below_bytes(depth));
        }
    }
    let mut bytes = encoder.finish_with_checksum();
    if bytes.len() as u64 > shape.node_bytes || (own.len() as u64).saturating_mul(shape.record_bytes) + NODE_OVERHEAD > shape.node_bytes {
        return Err(Error::internal("a B-tree node beyond its size"));
    }
    bytes.resize(usize::try_from(shape.node_bytes).map_err(|_| Error::internal("a B-tree node beyond memory"))?, 0);
    Ok(Node { address: space.put(&bytes), records: own.len() as u64, below: records.len() as u64 })
}
