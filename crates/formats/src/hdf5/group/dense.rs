//! Dense links: in a fractal heap, named by a version-2 B-tree of record type 5.

use std::cmp::Ordering;

use hyperslab_array::Result;
use hyperslab_array::name::bytes_of;

use super::limits::check_count;
use crate::hdf5::checksum::lookup3;
use crate::hdf5::heap::FractalHeap;
use crate::hdf5::message::link::{self, RawLink};
use crate::hdf5::{Source, btree};

/// Record types of the B-trees by name and by order of creation.
const BY_NAME: u8 = 5;
const BY_ORDER: u8 = 6;
/// Bytes before the heap ID in a record: the hash of the name, or the creation order.
const NAME_KEY_BYTES: usize = 4;
const ORDER_KEY_BYTES: usize = 8;

/// Adds all links.
pub(super) fn read(source: &Source, heap: u64, tree: u64, links: &mut Vec<RawLink>) -> Result<()> {
    let mut heap = FractalHeap::open(source, heap)?.listed();
    btree::v2::records(source, tree, &[BY_NAME], &mut |_, record| {
        let link = parse(source, &mut heap, tree, NAME_KEY_BYTES, record)?;
        links.push(link);
        check_count(source, links.len())
    })
}

/// Adds the links that were created first, until there are `max`. They lie side by side in the heap, unlike those that are
/// neighbors by the hash of their name.
pub(super) fn read_first(source: &Source, heap: u64, order_tree: u64, max: usize, links: &mut Vec<RawLink>) -> Result<()> {
    let mut heap = FractalHeap::open(source, heap)?;
    btree::v2::search(source, order_tree, &[BY_ORDER], &mut |_| Ok(Ordering::Equal), &mut |record| {
        let link = parse(source, &mut heap, order_tree, ORDER_KEY_BYTES, record)?;
        links.push(link);
        Ok(links.len() >= max)
    })
}

/// How many links there are.
pub(super) fn count(source: &Source, tree: u64) -> Result<u64> {
    btree::v2::count(source, tree, &[BY_NAME])
}

/// The link called `name`.
pub(super) fn find(source: &Source, heap: u64, tree: u64, name: &str) -> Result<Option<RawLink>> {
    let mut heap = FractalHeap::open(source, heap)?;
    let hash = lookup3(&bytes_of(name));
    let mut found = None;
    let mut compare = |record: &[u8]| -> Result<Ordering> { Ok(source.cursor(record, tree).u32()?.cmp(&hash)) };
    btree::v2::search(source, tree, &[BY_NAME], &mut compare, &mut |record| {
        // Several names may have the same hash.
        found = Some(parse(source, &mut heap, tree, NAME_KEY_BYTES, record)?).filter(|link| link.name == name);
        Ok(found.is_some())
    })?;
    Ok(found)
}

/// The link of a record, which holds a key and the link's ID in the heap.
fn parse(source: &Source, heap: &mut FractalHeap<'_>, tree: u64, key_bytes: usize, record: &[u8]) -> Result<RawLink> {
    let mut cursor = source.cursor(record, tree);
    cursor.skip(key_bytes)?;
    let object = heap.object(cursor.take(heap.id_bytes())?)?;
    link::parse(&mut source.cursor(&object, tree))
}
