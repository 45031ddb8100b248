//! Shared messages: header messages that several objects have in common, kept once in a fractal heap
//! (specification III.H, "Shared Object Header Message Table", SOHM).

use hyperslab_array::{Error, Result};

use super::heap::FractalHeap;
use super::object_header::{ObjectHeader, kind};
use super::{Source, checksum};

/// Bytes of a shared message's heap ID.
const HEAP_ID_BYTES: usize = 8;

/// Where shared messages of some kinds are.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SharedMessages {
    /// Bit `1 << kind` for each kind of message.
    kinds: u16,
    heap: u64,
}

/// The file's tables of shared messages; none without a superblock extension that names them.
pub(super) fn tables(source: &Source, extension: &ObjectHeader) -> Result<Vec<SharedMessages>> {
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
        cursor.skip(2)?;
        let kinds = cursor.u16()?;
        cursor.skip(4 + 2 + 2 + 2)?;
        cursor.address()?;
        if let Some(heap) = cursor.address()? {
            tables.push(SharedMessages { kinds, heap });
        }
    }
    Ok(tables)
}

/// The body of the message of `kind` with this heap ID.
pub(crate) fn body(source: &Source, kind: u16, id: &[u8]) -> Result<Vec<u8>> {
    let holds = |table: &&SharedMessages| 1u16.checked_shl(kind.into()).is_some_and(|bit| table.kinds & bit != 0);
    let table = source.shared_messages.iter().find(holds);
    let table = table.ok_or_else(|| Error::corrupt(format!("no heap of shared messages of kind {kind:#x}")))?;
    let id = id.get(..HEAP_ID_BYTES).ok_or_else(|| Error::corrupt("a shared message without heap ID"))?;
    Ok(FractalHeap::open(source, table.heap)?.object(id)?.into_owned())
}
