//! Metadata cache image: metadata that its writer kept in one block at the end of the file instead of
//! at its own addresses (specification IV.A.2.y and II.C). What the block holds is newer.

use std::sync::Arc;

use hyperslab_array::{Error, Result};
use hyperslab_storage::{Overlay, Storage};

use super::object_header::{ObjectHeader, kind};
use super::{Source, checksum};

/// The source with the image's entries at their addresses; the same one if there is no image.
pub(super) fn with_image(source: Source, extension: &ObjectHeader) -> Result<Source> {
    let Some(message) = extension.find(kind::METADATA_CACHE_IMAGE) else { return Ok(source) };
    let (address, length) = message.parse(&source, |cursor| {
        let version = cursor.u8()?;
        if version != 0 {
            return Err(cursor.corrupt(format!("version {version} of the metadata cache image message")));
        }
        Ok((cursor.address()?, cursor.length()?))
    })?;
    let Some(address) = address.filter(|_| length > 0) else { return Ok(source) };
    let block = source.read(address, length)?;
    let patches = entries(&source, &block, address)?;
    let storage: Arc<dyn Storage> = Arc::new(Overlay::new(source.storage.clone(), patches));
    Ok(Source { storage, ..source })
}

fn entries(source: &Source, block: &[u8], address: u64) -> Result<Vec<(u64, Vec<u8>)>> {
    checksum::verify(block, source.absolute(address)?, "the metadata cache image")?;
    let mut cursor = source.cursor(block, address);
    cursor.signature(b"MDCI")?;
    let version = cursor.u8()?;
    if version != 0 {
        return Err(Error::unsupported(format!("version {version} of the metadata cache image")));
    }
    cursor.skip(1)?;
    cursor.length()?;
    let count = cursor.u32()?;
    let mut patches = Vec::new();
    for _ in 0..count {
        // Type, flags, ring and age; children and dirty children; then what is used here.
        cursor.skip(4 + 2 + 2)?;
        let parents = cursor.u16()?;
        cursor.skip(4)?;
        let at = cursor.defined_address("a cached metadata entry")?;
        let size = cursor.length()?;
        for _ in 0..parents {
            cursor.address()?;
        }
        cursor.keep(2 * size_of::<(u64, Vec<u8>)>())?;
        patches.push((source.absolute(at)?, cursor.bytes(size)?));
    }
    Ok(patches)
}
