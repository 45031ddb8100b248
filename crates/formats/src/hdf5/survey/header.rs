//! Object headers, block by block: a damaged block costs its own messages.

use std::borrow::Cow;

use hyperslab_array::{Error, Result};

use super::log::Log;
use super::structure::StructureKind;
use crate::hdf5::object_header::{Message, ObjectHeader, kind, version2_prefix_bytes};
use crate::hdf5::visited::Visited;
use crate::hdf5::{Cursor, Source, checksum};

/// Bytes of a message in memory, besides its body.
const MESSAGE_COST: u64 = 64;
const V1_PREFIX: u64 = 16;
const TRACKED: u8 = 1 << 2;

/// The messages of a header that can be read.
pub(super) struct Header {
    pub header: ObjectHeader<'static>,
    /// Number of hard links that the header states.
    pub stated_links: u32,
    /// Whether all blocks are there and right.
    pub is_whole: bool,
    /// Whether checksums cover it.
    pub has_checksums: bool,
}

/// A block of messages to be read.
struct Block {
    address: u64,
    length: u64,
}

/// Reads the header at `address`; `None` if its first block cannot be read. Damage is recorded.
pub(super) fn read(log: &mut Log<'_>, address: u64) -> Result<Option<Header>> {
    let source = log.source;
    let start = match source.read_up_to(address, 64) {
        Ok(start) => start.into_owned(),
        Err(error) => return log.damage(StructureKind::ObjectHeader, address, 0, error).map(|()| None),
    };
    match start.as_slice() {
        [b'O', b'H', b'D', b'R', ..] => version2(log, address, &start),
        [1, ..] => version1(log, address, &start),
        _ => {
            let error = Error::corrupt("expected an object header of version 1 or 2");
            log.damage(StructureKind::ObjectHeader, address, 0, error).map(|()| None)
        }
    }
}

fn version1(log: &mut Log<'_>, address: u64, start: &[u8]) -> Result<Option<Header>> {
    let source = log.source;
    let prefix = |cursor: &mut Cursor<'_>| -> Result<(u32, u64)> {
        cursor.skip(4)?;
        Ok((cursor.u32()?, cursor.u32()?.into()))
    };
    let parsed = prefix(&mut source.cursor(start, address));
    let Some((stated_links, length)) = log.noted(StructureKind::ObjectHeader, address, 0, parsed)? else { return Ok(None) };
    log.claim(StructureKind::ObjectHeader, address, V1_PREFIX.saturating_add(length))?;
    let mut messages = Messages::default();
    let first = Block { address: address.saturating_add(V1_PREFIX), length };
    let parse = |source: &Source, block: &Block, messages: &mut Messages| {
        let bytes = source.read(block.address, block.length)?;
        version1_messages(source, &bytes, block.address, messages)
    };
    let outcome = parse(source, &first, &mut messages);
    let mut is_whole = log.noted(StructureKind::ObjectHeader, address, V1_PREFIX.saturating_add(length), outcome)?.is_some();
    is_whole &= continuations(log, &mut messages, &mut |source, block, messages| parse(source, block, messages))?;
    let header = ObjectHeader { messages: messages.list, tracks_attributes: false };
    Ok(Some(Header { header, stated_links, is_whole, has_checksums: false }))
}

/// The messages of a block of version 1.
fn version1_messages(source: &Source, bytes: &[u8], address: u64, messages: &mut Messages) -> Result<()> {
    let mut cursor = source.cursor(bytes, address);
    while cursor.remaining() >= 8 {
        let (kind, length, flags) = (cursor.u16()?, cursor.u16()?, cursor.u8()?);
        cursor.skip(3)?;
        let place = address.saturating_add(cursor.position() as u64);
        let body = cursor.take(length.into())?;
        messages.push(source, kind, flags, body, place, 0)?;
    }
    Ok(())
}

fn version2(log: &mut Log<'_>, address: u64, start: &[u8]) -> Result<Option<Header>> {
    let source = log.source;
    let prefix = |cursor: &mut Cursor<'_>| -> Result<(u8, u64, u64)> {
        cursor.skip(4)?;
        cursor.version(2, "the object header")?;
        let flags = cursor.u8()?;
        cursor.skip(version2_prefix_bytes(flags).saturating_sub(cursor.position()))?;
        let length = cursor.uint(1 << (flags & 3))?;
        Ok((flags, cursor.position() as u64, length))
    };
    let parsed = prefix(&mut source.cursor(start, address));
    let Some((flags, prefix, length)) = log.noted(StructureKind::ObjectHeader, address, 0, parsed)? else { return Ok(None) };
    let whole = prefix.saturating_add(length).saturating_add(4);
    let mut messages = Messages::default();
    let first = (|| {
        let bytes = source.read(address, whole)?;
        checksum::verify(&bytes, source.absolute(address)?, "an object header")?;
        let mut cursor = source.cursor(&bytes, address);
        cursor.take_u64(prefix)?;
        version2_messages(source, &mut cursor, address, flags, &mut messages)
    })();
    let Some(()) = log.noted(StructureKind::ObjectHeader, address, whole, first)? else { return Ok(None) };
    log.claim(StructureKind::ObjectHeader, address, whole)?;
    let is_whole = continuations(log, &mut messages, &mut |source, block, messages| {
        let bytes = source.read(block.address, block.length)?;
        let mut cursor = source.cursor(&bytes, block.address);
        cursor.signature(b"OCHK")?;
        checksum::verify(&bytes, source.absolute(block.address)?, "an object header continuation")?;
        version2_messages(source, &mut cursor, block.address, flags, messages)
    })?;
    let stated = messages.list.iter().find(|message| message.kind == kind::REFERENCE_COUNT);
    let stated_links = stated.and_then(|message| Some(u32::from_le_bytes(*message.body.get(1..)?.first_chunk()?))).unwrap_or(1);
    let header = ObjectHeader { messages: messages.list, tracks_attributes: flags & TRACKED != 0 };
    Ok(Some(Header { header, stated_links, is_whole, has_checksums: true }))
}

/// The messages up to the gap and the checksum that end a block of version 2.
fn version2_messages(source: &Source, cursor: &mut Cursor<'_>, address: u64, flags: u8, messages: &mut Messages) -> Result<()> {
    let prefix = if flags & TRACKED != 0 { 6 } else { 4 };
    while cursor.remaining() >= prefix + 4 {
        let kind = u16::from(cursor.u8()?);
        let (length, message_flags) = (cursor.u16()?, cursor.u8()?);
        let creation_order = if prefix == 6 { cursor.u16()? } else { 0 };
        if usize::from(length) + 4 > cursor.remaining() {
            return Err(cursor.corrupt("a header message is longer than its block"));
        }
        let place = address.saturating_add(cursor.position() as u64);
        let body = cursor.take(length.into())?;
        messages.push(source, kind, message_flags, body, place, creation_order)?;
    }
    Ok(())
}

#[derive(Default)]
struct Messages {
    list: Vec<Message<'static>>,
}

impl Messages {
    fn push(&mut self, source: &Source, kind: u16, flags: u8, body: &[u8], address: u64, creation_order: u16) -> Result<()> {
        source.budget.charge(MESSAGE_COST.saturating_add(body.len() as u64))?;
        if self.list.len() as u64 >= source.limits.messages_per_object {
            return Err(Error::limit_exceeded(format!("more than {} messages in one object header", source.limits.messages_per_object)));
        }
        if kind != kind::NIL {
            self.list.push(Message { kind, flags, body: Cow::Owned(body.to_vec()), address, creation_order });
        }
        Ok(())
    }
}

/// Reads one continuation block.
type ReadBlock<'a> = dyn FnMut(&Source, &Block, &mut Messages) -> Result<()> + 'a;

/// Reads the continuation blocks; returns whether all of them are right.
fn continuations(log: &mut Log<'_>, messages: &mut Messages, read: &mut ReadBlock<'_>) -> Result<bool> {
    let source = log.source;
    let (mut next, mut is_whole, mut seen) = (0, true, Visited::default());
    while let Some(message) = messages.list.get(next) {
        next += 1;
        if message.kind != kind::CONTINUATION {
            continue;
        }
        let place = message.address;
        let mut cursor = source.cursor(&message.body, place);
        let parsed = cursor.defined_address("an object header continuation").and_then(|address| Ok(Block { address, length: cursor.length()? }));
        let Some(block) = log.noted(StructureKind::ObjectHeader, place, 0, parsed)? else {
            is_whole = false;
            continue;
        };
        let outcome = match seen.insert(block.address) {
            true => read(source, &block, messages),
            false => Err(Error::corrupt("an object header that continues in itself")),
        };
        let read = log.noted(StructureKind::HeaderContinuation, block.address, block.length, outcome)?;
        is_whole &= read.is_some();
        if read.is_some() {
            log.claim(StructureKind::HeaderContinuation, block.address, block.length)?;
        }
    }
    Ok(is_whole)
}
