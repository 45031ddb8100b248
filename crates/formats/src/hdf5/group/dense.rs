//! Dense links: in a fractal heap, named by a version-2 B-tree of record type 5.

use hyperslab_array::Result;

use super::limits::{add, check_count};
use crate::hdf5::heap::FractalHeap;
use crate::hdf5::message::link::{self, RawLink};
use crate::hdf5::{Source, btree};

pub(super) fn read(source: &Source, heap: u64, tree: u64, links: &mut Vec<RawLink>) -> Result<()> {
    let mut heap = FractalHeap::open(source, heap)?;
    btree::v2::records(source, tree, &[5], &mut |_, record| {
        let mut cursor = source.cursor(record, tree);
        cursor.skip(4)?;
        let object = heap.object(cursor.take(heap.id_bytes())?)?;
        add(source, links, link::parse(&mut source.cursor(&object, tree))?)?;
        check_count(source, links.len())
    })
}
