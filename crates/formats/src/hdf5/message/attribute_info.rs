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

/// The message of an object whose attributes are in its header. Without it the library counts none of them.
pub(crate) fn encode_compact() -> Vec<u8> {
    let mut encoder = Encoder::default();
    encoder.bytes(&[0, 0]);
    encoder.address(None);
    encoder.address(None);
    encoder.finish()
}
