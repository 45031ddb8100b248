//! Link info message (IV.A.2.c): where a new group keeps its links when they are many.

use hyperslab_array::Result;

use crate::CreationOrder;
use crate::hdf5::writer::DenseStorage;
use crate::hdf5::{Cursor, Encoder, Widths};

/// Addresses of dense storage.
pub(crate) struct LinkInfo {
    pub heap: Option<u64>,
    pub name_tree: Option<u64>,
    /// The B-tree of links by creation order, if the group has one.
    pub order_tree: Option<u64>,
    /// Whether links say when they were created.
    pub tracked: bool,
    is_indexed: bool,
}

impl LinkInfo {
    /// Whether the order of creation is recorded and indexed.
    pub fn creation_order(&self) -> CreationOrder {
        CreationOrder { is_tracked: self.tracked, is_indexed: self.is_indexed }
    }
}

/// Flags of the message.
const TRACKED: u8 = 1;
const INDEXED: u8 = 2;

pub(crate) fn parse(cursor: &mut Cursor<'_>) -> Result<LinkInfo> {
    let version = cursor.u8()?;
    if version != 0 {
        return Err(cursor.corrupt(format!("version {version} of the link info message")));
    }
    let flags = cursor.u8()?;
    let tracked = flags & TRACKED != 0;
    if tracked {
        cursor.skip(8)?;
    }
    let (heap, name_tree) = (cursor.address()?, cursor.address()?);
    let order_tree = if flags & INDEXED != 0 { cursor.address()? } else { None };
    Ok(LinkInfo { heap, name_tree, order_tree, tracked, is_indexed: flags & INDEXED != 0 })
}

/// The message of a group whose links are in its header, or in dense storage. `tracked` is the number of links of a
/// group that tracks the order of their creation: what the next one gets.
pub(crate) fn encode(tracked: Option<u64>, is_indexed: bool, dense: Option<DenseStorage>) -> Vec<u8> {
    encode_in(tracked, is_indexed, dense, Widths::WIDE)
}

/// The same for a file with these widths.
pub(crate) fn encode_in(tracked: Option<u64>, is_indexed: bool, dense: Option<DenseStorage>, widths: Widths) -> Vec<u8> {
    let mut encoder = Encoder::of(widths);
    encoder.bytes(&[0, if tracked.is_some() { TRACKED } else { 0 } | if is_indexed { INDEXED } else { 0 }]);
    tracked.iter().for_each(|next| encoder.u64(*next));
    encoder.address(dense.as_ref().map(|dense| dense.heap));
    encoder.address(dense.as_ref().map(|dense| dense.name_tree));
    if is_indexed {
        encoder.address(dense.and_then(|dense| dense.order_tree));
    }
    encoder.finish()
}
