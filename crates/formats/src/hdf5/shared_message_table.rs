//! Shared message table: the heaps that hold header messages shared by several objects (specification III.H).

use hyperslab_array::Result;

use super::object_header::{ObjectHeader, kind};
use super::shared_heaps::SharedMessageHeap;
use super::{Source, checksum};

/// The file's heaps of shared messages; empty without a superblock extension that refers to them.
pub(super) fn heaps(source: &Source, extension: &ObjectHeader) -> Result<Vec<SharedMessageHeap>> {
    let Some(message) = extension.find(kind::SHARED_MESSAGE_TABLE) else { return Ok(Vec::new()) };
    let (address, count) = message.parse(source, |cursor| {
        let version = cursor.u8()?;
        if version != 0 {
            return Err(cursor.corrupt(format!("version {version} of the shared message table message")));
        }
        Ok((cursor.defined_address("the shared message table")?, cursor.u8()?))
    })?;
    let each = 1 + 1 + 2 + 4 + 2 + 2 + 2 + 2 * u64::from(source.offset_size);
    let bytes = source.read(address, 4 + u64::from(count) * each + 4)?;
    checksum::verify(&bytes, source.absolute(address)?, "the shared message table")?;
    let mut cursor = source.cursor(&bytes, address);
    cursor.signature(b"SMTB")?;
    let mut tables = Vec::new();
    for _ in 0..count {
        cursor.version(0, "a shared message index")?;
        cursor.skip(1)?;
        let kinds = cursor.u16()?;
        cursor.skip(4 + 2 + 2 + 2)?;
        cursor.address()?;
        if let Some(heap) = cursor.address()? {
            tables.push(SharedMessageHeap { kinds, heap });
        }
    }
    Ok(tables)
}
