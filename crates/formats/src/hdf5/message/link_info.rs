//! Link info message (IV.A.2.c): where a new group keeps its links when they are many.

use hyperslab_array::Result;

use crate::hdf5::{Cursor, Encoder};

/// Addresses of dense storage.
pub(crate) struct LinkInfo {
    pub heap: Option<u64>,
    pub name_tree: Option<u64>,
}

pub(crate) fn parse(cursor: &mut Cursor<'_>) -> Result<LinkInfo> {
    let version = cursor.u8()?;
    if version != 0 {
        return Err(cursor.corrupt(format!("version {version} of the link info message")));
    }
    if cursor.u8()? & 1 != 0 {
        cursor.skip(8)?;
    }
    Ok(LinkInfo { heap: cursor.address()?, name_tree: cursor.address()? })
}

/// The message of a group whose links are in its header.
pub(crate) fn encode_compact() -> Vec<u8> {
    let mut encoder = Encoder::default();
    encoder.bytes(&[0, 0]);
    encoder.address(None);
    encoder.address(None);
    encoder.finish()
}
