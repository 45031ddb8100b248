//! Attribute info message (IV.A.2.v): where an object keeps its attributes when they are many.

use hyperslab_array::Result;

use crate::hdf5::writer::DenseStorage;
use crate::hdf5::{Cursor, Encoder, Widths};

/// Addresses of dense storage.
pub(crate) struct AttributeInfo {
    pub heap: Option<u64>,
    pub name_tree: Option<u64>,
    /// The B-tree of attributes by creation order, if the object has one.
    pub order_tree: Option<u64>,
}

/// Flags of the message.
const TRACKED: u8 = 1;
const INDEXED: u8 = 2;

pub(crate) fn parse(cursor: &mut Cursor<'_>) -> Result<AttributeInfo> {
    let version = cursor.u8()?;
    if version != 0 {
        return Err(cursor.corrupt(format!("version {version} of the attribute info message")));
    }
    let flags = cursor.u8()?;
    if flags & TRACKED != 0 {
        cursor.skip(2)?;
    }
    let (heap, name_tree) = (cursor.address()?, cursor.address()?);
    // Some writers leave the address out although the flag is set: nothing but a survey needs it.
    let order_tree = if flags & INDEXED != 0 && cursor.remaining() > 0 { cursor.address()? } else { None };
    Ok(AttributeInfo { heap, name_tree, order_tree })
}

/// The message of an object whose attributes are in its header, without which the library counts none of them; or in
/// dense storage. `tracked` is the number of attributes of an object that tracks the order of their creation: what the
/// next one gets.
pub(crate) fn encode(tracked: Option<u16>, is_indexed: bool, dense: Option<DenseStorage>) -> Vec<u8> {
    encode_in(tracked, is_indexed, dense, Widths::WIDE)
}

/// The same for a file with these widths.
pub(crate) fn encode_in(tracked: Option<u16>, is_indexed: bool, dense: Option<DenseStorage>, widths: Widths) -> Vec<u8> {
    let mut encoder = Encoder::of(widths);
    encoder.bytes(&[0, if tracked.is_some() { TRACKED } else { 0 } | if is_indexed { INDEXED } else { 0 }]);
    tracked.iter().for_each(|next| encoder.u16(*next));
    encoder.address(dense.as_ref().map(|dense| dense.heap));
    encoder.address(dense.as_ref().map(|dense| dense.name_tree));
    if is_indexed {
        encoder.address(dense.and_then(|dense| dense.order_tree));
    }
    encoder.finish()
}
