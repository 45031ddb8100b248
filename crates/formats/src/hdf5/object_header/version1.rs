//! Version 1: a 16-byte prefix, then messages aligned to eight bytes.

use std::borrow::Cow;

use hyperslab_array::{Error, Result};

use super::blocks::{Continuation, Message, Messages, body, within};
use super::claim::claim;
use crate::hdf5::Source;

pub(super) const PREFIX_BYTES: usize = 16;

/// Reads the header at `address`, which begins with the bytes `start`.
pub(super) fn read<'a>(source: &'a Source, address: u64, start: Cow<'a, [u8]>) -> Result<Vec<Message<'a>>> {
    let start = if start.len() < PREFIX_BYTES { source.read(address, PREFIX_BYTES as u64)? } else { start };
    let mut cursor = source.cursor(&start, address);
    cursor.skip(2)?;
    // The number of messages is wrong in some old files; the lengths of the blocks show where they end.
    cursor.skip(2 + 4)?;
    let length = u64::from(cursor.u32()?);
    let first = address.checked_add(PREFIX_BYTES as u64).ok_or_else(|| Error::corrupt("an object header beyond 64 bits"))?;
    let mut read = |block: &Continuation, messages: &mut Messages<'a>| {
        claim(source, address, block.address, block.length)?;
        let in_start = if block.address == first { within(&start, PREFIX_BYTES, block.length) } else { None };
        let bytes = in_start.map_or_else(|| source.read(block.address, block.length), Ok)?;
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
            messages.push(Message { kind, flags, body, address, creation_order: 0 })?;
        }
        Ok(())
    };
    Messages::new(source).complete(vec![Continuation { address: first, length }], &mut read)
}
