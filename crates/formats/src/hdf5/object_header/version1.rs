//! Version 1: a 16-byte prefix, then messages aligned to eight bytes.

use hyperslab_array::{Error, Result};

use super::blocks::{Continuation, Message, USUAL_MESSAGES, body, read_blocks};
use crate::hdf5::Source;

pub(super) fn read<'a>(source: &'a Source, address: u64) -> Result<Vec<Message<'a>>> {
    let prefix = source.read(address, 16)?;
    let mut cursor = source.cursor(&prefix, address);
    cursor.skip(2)?;
    // The number of messages is wrong in some old files; the lengths of the blocks show where they end.
    cursor.skip(2 + 4)?;
    let length = u64::from(cursor.u32()?);
    let first = address.checked_add(16).ok_or_else(|| Error::corrupt("an object header beyond 64 bits"))?;
    let mut messages = Vec::with_capacity(USUAL_MESSAGES);
    let mut read = |block: &Continuation, messages: &mut Vec<Message<'a>>| {
        let bytes = source.read(block.address, block.length)?;
        let mut cursor = source.cursor(&bytes, block.address);
        while cursor.remaining() >= 8 {
            let kind = cursor.u16()?;
            let length = cursor.u16()?;
            let flags = cursor.u8()?;
            cursor.skip(3)?;
            let address = block.address + cursor.position() as u64;
            let start = cursor.position();
            cursor.skip(length.into())?;
            let body = body(&bytes, start, length.into()).ok_or_else(|| cursor.corrupt("a message beyond its block"))?;
            messages.push(Message { kind, flags, body, address, creation_order: 0 });
        }
        Ok(())
    };
    let first = Continuation { address: first, length };
    read_blocks(source, vec![first], &mut messages, &mut read)?;
    Ok(messages)
}
