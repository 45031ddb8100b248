//! Version 2: packed messages in checksummed blocks.

use std::borrow::Cow;

use hyperslab_array::{Error, Result};

use super::blocks::{Continuation, Message, Messages, body, within};
use super::claim::claim;
use super::{Prefix, kind};
use crate::hdf5::{Cursor, Encoder, Source, checksum};
use crate::{CreationOrder, ObjectTimes};

/// Flags of the prefix.
const CREATION_ORDER_TRACKED: u8 = 1 << 2;
const CREATION_ORDER_INDEXED: u8 = 1 << 3;
const ATTRIBUTE_PHASE_STORED: u8 = 1 << 4;
const TIMES_STORED: u8 = 1 << 5;

/// Bytes that hold the signature, version, flags and times of each header.
pub(super) const MAX_PREFIX_BYTES: u64 = 22;

/// What stands in front of the messages, from the signature on.
pub(super) fn prefix(cursor: &mut Cursor<'_>) -> Result<Prefix> {
    cursor.signature(b"OHDR")?;
    cursor.skip(1)?;
    let flags = cursor.u8()?;
    let order = CreationOrder { is_tracked: flags & CREATION_ORDER_TRACKED != 0, is_indexed: flags & CREATION_ORDER_INDEXED != 0 };
    let times = match flags & TIMES_STORED {
        0 => None,
        _ => Some(ObjectTimes { access: cursor.u32()?, modification: cursor.u32()?, change: cursor.u32()?, birth: cursor.u32()? }),
    };
    Ok(Prefix { times, attribute_order: order, links: Some(1) })
}

/// Bytes in front of the length of a header with these flags.
pub(crate) fn prefix_bytes(flags: u8) -> usize {
    let part = |flag: u8, bytes: usize| if flags & flag == 0 { 0 } else { bytes };
    6 + part(TIMES_STORED, 16) + part(ATTRIBUTE_PHASE_STORED, 4)
}

/// The messages, and whether the header tracks the order in which attributes were created.
/// The header at `address` begins with `start_bytes`.
pub(super) fn read<'a>(source: &'a Source, address: u64, start_bytes: Cow<'a, [u8]>) -> Result<(Vec<Message<'a>>, bool)> {
    let mut cursor = source.cursor(&start_bytes, address);
    cursor.signature(b"OHDR")?;
    let version = cursor.u8()?;
    if version != 2 {
        return Err(Error::unsupported(format!("version {version} of the object header")).at_offset(source.absolute(address)?));
    }
    let flags = cursor.u8()?;
    cursor.skip(prefix_bytes(flags).saturating_sub(cursor.position()))?;
    let length = cursor.uint(1 << (flags & 3))?;
    let start = cursor.position() as u64;
    let whole = start.checked_add(length).and_then(|n| n.checked_add(4));
    let whole = whole.ok_or_else(|| cursor.corrupt("an object header beyond 64 bits"))?;
    claim(source, address, address, whole)?;
    let bytes = within(&start_bytes, 0, whole).map_or_else(|| source.read(address, whole), Ok)?;
    checksum::verify(&bytes, source.absolute(address)?, "an object header")?;
    let mut messages = Messages::new(source);
    let mut cursor = source.cursor(&bytes, address);
    cursor.take_u64(start)?;
    block(&bytes, &mut cursor, address, flags, &mut messages)?;
    let mut read = |next: &Continuation, messages: &mut Messages<'a>| {
        claim(source, address, next.address, next.length)?;
        let bytes = source.read(next.address, next.length)?;
        let mut cursor = source.cursor(&bytes, next.address);
        cursor.signature(b"OCHK")?;
        checksum::verify(&bytes, source.absolute(next.address)?, "an object header continuation")?;
        block(&bytes, &mut cursor, next.address, flags, messages)
    };
    Ok((messages.complete(Vec::new(), &mut read)?, flags & CREATION_ORDER_TRACKED != 0))
}

/// Messages up to the gap and the checksum that end a block.
#[expect(clippy::ptr_arg, reason = "bodies of bytes that are kept for 'a are not copied")]
fn block<'a>(bytes: &Cow<'a, [u8]>, cursor: &mut Cursor<'_>, address: u64, flags: u8, messages: &mut Messages<'a>) -> Result<()> {
    let prefix = if flags & CREATION_ORDER_TRACKED != 0 { 6 } else { 4 };
    while cursor.remaining() >= prefix + 4 {
        let kind = u16::from(cursor.u8()?);
        let length = cursor.u16()?;
        let message_flags = cursor.u8()?;
        let creation_order = if prefix == 6 { cursor.u16()? } else { 0 };
        if usize::from(length) + 4 > cursor.remaining() {
            return Err(cursor.corrupt("a header message is longer than its block"));
        }
        let place = address + cursor.position() as u64;
        let start = cursor.position();
        cursor.skip(length.into())?;
        let body = body(bytes, start, length.into()).ok_or_else(|| cursor.corrupt("a message beyond its block"))?;
        messages.push(Message { kind, flags: message_flags, body, address: place, creation_order })?;
    }
    Ok(())
}

/// A header in one block: kind, flags and body of each message. If `order` is tracked, attributes were created in the order
/// of their messages.
pub(crate) fn encode(messages: &[(u16, u8, Vec<u8>)], order: CreationOrder, times: Option<ObjectTimes>) -> Result<Vec<u8>> {
    let tracked = order.is_tracked;
    /// The block's size takes four bytes.
    const WIDE: u8 = 2;
    let mut block = Encoder::default();
    let mut attributes = 0u16;
    for (kind, flags, body) in messages {
        let length = u16::try_from(body.len());
        let length =
            length.map_err(|_| Error::unsupported(format!("a header message of {} bytes: an object's header holds less than 64 KiB of each", body.len())))?;
        block.u8(u8::try_from(*kind).map_err(|_| Error::internal("a header message of a large number"))?);
        block.u16(length);
        block.u8(*flags);
        match (tracked, *kind) {
            (false, _) => {}
            (true, kind::ATTRIBUTE) => {
                block.u16(attributes);
                attributes = attributes.checked_add(1).ok_or_else(|| Error::unsupported("65536 attributes of one object whose order is tracked"))?;
            }
            (true, _) => block.u16(0),
        }
        block.bytes(body);
    }
    let mut encoder = Encoder::signed(b"OHDR");
    let flag = |is_set: bool, flag: u8| if is_set { flag } else { 0 };
    let flags = flag(tracked, CREATION_ORDER_TRACKED) | flag(order.is_indexed, CREATION_ORDER_INDEXED) | flag(times.is_some(), TIMES_STORED);
    encoder.bytes(&[2, WIDE | flags]);
    if let Some(ObjectTimes { access, modification, change, birth }) = times {
        [access, modification, change, birth].into_iter().for_each(|time| encoder.u32(time));
    }
    encoder.u32(u32::try_from(block.len()).map_err(|_| Error::unsupported("an object header of 4 GiB or more"))?);
    encoder.bytes(&block.finish());
    Ok(encoder.finish_with_checksum())
}
