//! Attribute info message (IV.A.2.v): where an object keeps its attributes when they are many.

use hyperslab_array::Result;

use crate::hdf5::{Cursor, Encoder};

/// Addresses of dense storage.
pub(crate) struct AttributeInfo {
    pub heap: Option<u64>,
    pub name_tree: Option<u64>,
}

pub(crate) fn parse(cursor: &mut Cursor<'_>) -> Result<AttributeInfo> {
    let version = cursor.u8()?;
    if version != 0 {
        return Err(cursor.corrupt(format!("version {version} of the attribute info message")));
    }
    if cursor.u8()? & 1 != 0 {
        cursor.skip(2)?;
    }
    Ok(AttributeInfo { heap: cursor.address()?, name_tree: cursor.address()? })
}

/// The message of an object whose attributes are in its header, without which the library counts none of them; or in
/// a heap with a tree of names.
pub(crate) fn encode(dense: Option<(u64, u64)>) -> Vec<u8> {
    let mut encoder = Encoder::default();
    encoder.bytes(&[0, 0]);
    encoder.address(dense.map(|(heap, _)| heap));
    encoder.address(dense.map(|(_, name_tree)| name_tree));
    encoder.finish()
}
