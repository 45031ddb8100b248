//! Changes of an object header in its place: messages are changed, deleted and added. The header keeps its address, which links and
//! references have; what does not fit goes into a continuation block.

use hyperslab_array::{Error, Result};

use super::space::{PageKind, Space};
use crate::hdf5::object_header::{kind, version2_prefix_bytes};
use crate::hdf5::{Cursor, Source, checksum};

/// Flag of a version 2 header: messages have a creation order.
const CREATION_ORDER_TRACKED: u8 = 1 << 2;
/// Flag of a message: its body is a reference to a shared message.
const SHARED: u8 = 1 << 1;
/// Place of the number of links in a header of version 1.
const VERSION1_COUNT: std::ops::Range<usize> = 4..8;
/// Place of the number in a reference count message.
const COUNT_PLACE: usize = 1;
/// Bytes of a new continuation block, at least.
const MIN_CONTINUATION_BYTES: usize = 256;

/// How messages are laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// Aligned to eight bytes, without checksums.
    Version1,
    /// Packed, with a checksum at the end of each block.
    Version2 { tracked: bool },
}

/// A message: its prefix begins at `start` of its block.
#[derive(Debug, Clone, Copy)]
struct Slot {
    kind: u16,
    flags: u8,
    start: usize,
    /// Bytes of the body.
    length: usize,
    creation_order: u16,
}

/// A run of messages in the file.
struct Block {
    address: u64,
    bytes: Vec<u8>,
    is_changed: bool,
    slots: Vec<Slot>,
}

/// The header of an object that is edited. Changes are in memory until [`EditedHeader::store`].
pub(super) struct EditedHeader<'a> {
    source: &'a Source,
    form: Form,
    blocks: Vec<Block>,
}

/// Which message of a header: block and slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct MessageId(usize, usize);

impl Form {
    fn prefix_bytes(self) -> usize {
        match self {
            Self::Version1 => 8,
            Self::Version2 { tracked } => 4 + 2 * usize::from(tracked),
        }
    }
    /// Bytes of a stored body of `length` bytes.
    fn padded(self, length: usize) -> usize {
        if self == Self::Version1 { length.next_multiple_of(8) } else { length }
    }
    /// Whether a body of `needed` bytes fits into one of `room`, and what is left is nothing or holds a message.
    fn fits(self, room: usize, needed: usize) -> bool {
        room == needed || room >= needed.saturating_add(self.prefix_bytes())
    }
}

impl<'a> EditedHeader<'a> {
    /// Reads the header at `address` with everything that is in its blocks.
    pub fn read(source: &'a Source, address: u64) -> Result<Self> {
        // Also checks checksums and limits, and that blocks do not lead back into themselves.
        crate::hdf5::object_header::ObjectHeader::read(source, address)?;
        let start = source.read_up_to(address, 32)?;
        let mut cursor = source.cursor(&start, address);
        let mut header = Self { source, form: Form::Version1, blocks: Vec::new() };
        let (length, first) = if start.starts_with(b"OHDR") {
            cursor.skip(5)?;
            let flags = cursor.u8()?;
            cursor.skip(version2_prefix_bytes(flags).saturating_sub(cursor.position()))?;
            let length = cursor.uint(1 << (flags & 3))?;
            header.form = Form::Version2 { tracked: flags & CREATION_ORDER_TRACKED != 0 };
            (cursor.position() as u64 + length + 4, cursor.position())
        } else {
            cursor.skip(8)?;
            (u64::from(cursor.u32()?) + 16, 16)
        };
        header.add_block(address, length, first)?;
        let mut next = 0;
        while next < header.blocks.len() {
            let found: Vec<(u64, u64)> = header.continuations(next)?;
            for (address, length) in found {
                let first = if header.form == Form::Version1 { 0 } else { 4 };
                header.add_block(address, length, first)?;
            }
            next += 1;
        }
        Ok(header)
    }

    fn continuations(&self, block: usize) -> Result<Vec<(u64, u64)>> {
        let Some(block) = self.blocks.get(block) else { return Ok(Vec::new()) };
        let found = block.slots.iter().filter(|slot| slot.kind == kind::CONTINUATION);
        found
            .map(|slot| {
                let body = self.slot_body(block, slot)?;
                let mut cursor = self.source.cursor(body, block.address);
                Ok((cursor.defined_address("an object header continuation")?, cursor.length()?))
            })
            .collect()
    }

    fn add_block(&mut self, address: u64, length: u64, first: usize) -> Result<()> {
        let bytes = self.source.read(address, length)?.into_owned();
        let mut block = Block { address, bytes, is_changed: false, slots: Vec::new() };
        self.parse_slots(&mut block, first)?;
        self.blocks.push(block);
        Ok(())
    }

    fn parse_slots(&self, block: &mut Block, first: usize) -> Result<()> {
        let trailer = if self.form == Form::Version1 { 0 } else { 4 };
        let prefix = self.form.prefix_bytes();
        let end = block.bytes.len().saturating_sub(trailer);
        let mut start = first;
        while start + prefix <= end {
            let mut cursor = self.source.cursor(block.bytes.get(start..end).unwrap_or_default(), block.address);
            let slot = self.parse_prefix(&mut cursor, start)?;
            start = slot.start + prefix + slot.length;
            if start > end {
                return Err(Error::corrupt("a header message is longer than its block").at_offset(self.source.absolute(block.address)?));
            }
            block.slots.push(slot);
        }
        Ok(())
    }

    fn parse_prefix(&self, cursor: &mut Cursor<'_>, start: usize) -> Result<Slot> {
        Ok(match self.form {
            Form::Version1 => {
                let (kind, length, flags) = (cursor.u16()?, cursor.u16()?, cursor.u8()?);
                Slot { kind, flags, start, length: length.into(), creation_order: 0 }
            }
            Form::Version2 { tracked } => {
                let (kind, length, flags) = (cursor.u8()?, cursor.u16()?, cursor.u8()?);
                let creation_order = if tracked { cursor.u16()? } else { 0 };
                Slot { kind: kind.into(), flags, start, length: length.into(), creation_order }
            }
        })
    }

    /// Whether it is of version 2.
    pub fn is_version2(&self) -> bool {
        self.form != Form::Version1
    }

    /// Whether it tracks the order in which attributes are created.
    pub fn is_tracked(&self) -> bool {
        self.form == Form::Version2 { tracked: true }
    }

    /// How many hard links lead to the object.
    pub fn reference_count(&self) -> Result<u32> {
        let field = match self.form {
            Form::Version1 => self.blocks.first().and_then(|block| block.bytes.get(VERSION1_COUNT)),
            Form::Version2 { .. } => match self.own(kind::REFERENCE_COUNT, "a reference count")? {
                Some(id) => self.body(id)?.get(COUNT_PLACE..COUNT_PLACE + 4),
                None => return Ok(1),
            },
        };
        let field = field.ok_or_else(|| Error::corrupt("an object header without its reference count"))?;
        Ok(field.iter().rev().fold(0, |count, byte| count << 8 | u32::from(*byte)))
    }

    /// Sets how many hard links lead to the object.
    pub fn set_reference_count(&mut self, space: &dyn Space, count: u32) -> Result<()> {
        let found = self.own(kind::REFERENCE_COUNT, "a reference count")?;
        match (self.form, found) {
            (Form::Version1, _) => {
                let first = self.blocks.first_mut().ok_or_else(|| Error::internal("a header without a block"))?;
                let field = first.bytes.get_mut(VERSION1_COUNT).ok_or_else(|| Error::internal("a header without its count"))?;
                field.copy_from_slice(&count.to_le_bytes());
                first.is_changed = true;
                Ok(())
            }
            (Form::Version2 { .. }, Some(id)) if count == 1 => self.delete(id),
            (Form::Version2 { .. }, Some(id)) => self.patch(id, COUNT_PLACE, &count.to_le_bytes()),
            (Form::Version2 { .. }, None) if count == 1 => Ok(()),
            (Form::Version2 { .. }, None) => {
                let mut body = vec![0];
                body.extend(count.to_le_bytes());
                self.add(space, kind::REFERENCE_COUNT, 0, &body)
            }
        }
    }

    /// Address and length of each of its blocks.
    pub fn places(&self) -> impl Iterator<Item = (u64, u64)> {
        self.blocks.iter().map(|block| (block.address, block.bytes.len() as u64))
    }

    /// The messages of a kind, in order.
    pub fn all(&self, kind: u16) -> Vec<MessageId> {
        let slots =
            self.blocks.iter().enumerate().flat_map(|(block, found)| found.slots.iter().enumerate().map(move |(slot, found)| (MessageId(block, slot), found)));
        slots.filter(|(_, slot)| slot.kind == kind).map(|(id, _)| id).collect()
    }

    /// The first message of a kind. One that is shared with other objects cannot be changed: `Unsupported`.
    pub fn own(&self, kind: u16, what: &str) -> Result<Option<MessageId>> {
        let Some(id) = self.all(kind).first().copied() else { return Ok(None) };
        if self.is_shared(id)? {
            return Err(Error::unsupported(format!("{what} that objects share cannot be edited yet")));
        }
        Ok(Some(id))
    }

    /// Whether the body of a message is a reference to a shared one.
    pub fn is_shared(&self, id: MessageId) -> Result<bool> {
        Ok(self.slot(id)?.1.flags & SHARED != 0)
    }

    /// When a message was added, if the header tracks that.
    pub fn creation_order(&self, id: MessageId) -> Result<u16> {
        Ok(self.slot(id)?.1.creation_order)
    }

    /// The body of a message.
    pub fn body(&self, id: MessageId) -> Result<&[u8]> {
        let (block, slot) = self.slot(id)?;
        self.slot_body(block, slot)
    }

    fn slot(&self, id: MessageId) -> Result<(&Block, &Slot)> {
        let block = self.blocks.get(id.0);
        block.and_then(|block| Some((block, block.slots.get(id.1)?))).ok_or_else(|| Error::internal("a message that is not in its header"))
    }

    fn slot_body<'b>(&self, block: &'b Block, slot: &Slot) -> Result<&'b [u8]> {
        let start = slot.start + self.form.prefix_bytes();
        block.bytes.get(start..start + slot.length).ok_or_else(|| Error::internal("a message beyond its block"))
    }

    /// Changes bytes of a message's body from `at` on; its length stays.
    pub fn patch(&mut self, id: MessageId, at: usize, bytes: &[u8]) -> Result<()> {
        let prefix = self.form.prefix_bytes();
        let found = self.blocks.get_mut(id.0).and_then(|block| Some((block.slots.get(id.1).copied()?, block)));
        let (slot, block) = found.ok_or_else(|| Error::internal("a message that is not in its header"))?;
        let start = slot.start + prefix + at;
        let target = block.bytes.get_mut(start..start + bytes.len()).filter(|_| at + bytes.len() <= slot.length);
        target.ok_or_else(|| Error::corrupt("a header message that is too short"))?.copy_from_slice(bytes);
        block.is_changed = true;
        Ok(())
    }

    /// Deletes a message: its room can hold others.
    pub fn delete(&mut self, id: MessageId) -> Result<()> {
        let slot = *self.slot(id)?.1;
        self.put(id, kind::NIL, 0, 0, &vec![0; slot.length])
    }

    /// Adds a message, in room that is free or in a new continuation block.
    pub fn add(&mut self, space: &dyn Space, kind: u16, creation_order: u16, body: &[u8]) -> Result<()> {
        let needed = self.form.padded(body.len());
        if u16::try_from(needed).is_err() {
            return Err(Error::unsupported(format!("a header message of {} bytes: an object header holds less than 64 KiB of each", body.len())));
        }
        let place = match self.free(needed) {
            Some(place) => place,
            None => self.extend(space, needed)?,
        };
        self.put(place, kind, 0, creation_order, body)
    }

    /// Room of at least `needed` bytes; the tightest.
    fn free(&self, needed: usize) -> Option<MessageId> {
        let nil = self.all(kind::NIL).into_iter().filter_map(|id| Some((self.slot(id).ok()?.1.length, id)));
        nil.filter(|(room, _)| self.form.fits(*room, needed)).min_by_key(|(room, _)| *room).map(|(_, id)| id)
    }

    /// Adds a continuation block with room for `needed` bytes, and returns that room.
    fn extend(&mut self, space: &dyn Space, needed: usize) -> Result<MessageId> {
        let (offset_size, length_size) = (usize::from(self.source.offset_size), usize::from(self.source.length_size));
        let link_bytes = self.form.padded(offset_size + length_size);
        let prefix = self.form.prefix_bytes();
        let (head, trailer) = if self.form == Form::Version1 { (0, 0) } else { (4, 4) };
        // Without room for the link to the new block, the fewest bytes of messages that leave enough move there.
        let moved = match self.free(link_bytes) {
            Some(_) => None,
            None => Some(self.movable(link_bytes).ok_or_else(|| Error::unsupported("an object header without messages that can move cannot be extended yet"))?),
        };
        let mut messages = Vec::new();
        if let Some((block, first, last)) = moved {
            for at in first..=last {
                let id = MessageId(block, at);
                let slot = *self.slot(id)?.1;
                if slot.kind != kind::NIL {
                    messages.push((slot, self.body(id)?.to_vec()));
                }
            }
        }
        let moved_bytes = messages.iter().fold(0, |sum, (slot, _)| sum + prefix + slot.length);
        let used = moved_bytes + prefix + needed;
        let content = if used + prefix <= MIN_CONTINUATION_BYTES { MIN_CONTINUATION_BYTES } else { used };
        let address = space.allocate(PageKind::Metadata, (head + content + trailer) as u64)?;
        let mut bytes = if head == 0 { Vec::new() } else { b"OCHK".to_vec() };
        bytes.resize(head + content + trailer, 0);
        let block = self.blocks.len();
        let room = Slot { kind: kind::NIL, flags: 0, start: head, length: content - prefix, creation_order: 0 };
        self.blocks.push(Block { address, bytes, is_changed: true, slots: vec![room] });
        let mut free = MessageId(block, 0);
        self.put(free, kind::NIL, 0, 0, &vec![0; content - prefix])?;
        self.count_messages(1)?;
        for (slot, body) in messages {
            self.put(free, slot.kind, slot.flags, slot.creation_order, &body)?;
            free = MessageId(block, free.1 + 1);
        }
        let link = match moved {
            None => self.free_in(link_bytes, block).ok_or_else(|| Error::internal("room for a continuation that is gone"))?,
            Some((block, first, last)) => self.merge(block, first, last)?,
        };
        let mut body = address.to_le_bytes().get(..offset_size).unwrap_or_default().to_vec();
        body.extend(((head + content + trailer) as u64).to_le_bytes().get(..length_size).unwrap_or_default());
        self.put(link, kind::CONTINUATION, 0, 0, &body)?;
        Ok(free)
    }

    /// Makes one free message of those that stand side by side, so that their room can hold longer ones.
    fn join_free(&mut self) -> Result<()> {
        for block in 0..self.blocks.len() {
            let slots = |header: &Self| header.blocks.get(block).map_or(0, |found| if found.is_changed { found.slots.len() } else { 0 });
            let is_free = |header: &Self, at: usize| header.blocks.get(block).and_then(|found| found.slots.get(at)).is_some_and(|slot| slot.kind == kind::NIL);
            let mut at = 1;
            while at < slots(self) {
                if is_free(self, at - 1) && is_free(self, at) {
                    self.merge(block, at - 1, at)?;
                } else {
                    at += 1;
                }
            }
        }
        Ok(())
    }

    /// Makes one free message of some that stand side by side.
    fn merge(&mut self, block: usize, first: usize, last: usize) -> Result<MessageId> {
        let form = self.form;
        let found = self.blocks.get_mut(block).ok_or_else(|| Error::internal("a block that is not in its header"))?;
        let ends = found.slots.get(first).zip(found.slots.get(last)).map(|(first, last)| (first.start, last.start + last.length));
        let (start, length) = ends.ok_or_else(|| Error::internal("a message that is not in its header"))?;
        let free = Slot { kind: kind::NIL, flags: 0, start, length: length - start, creation_order: 0 };
        write_message(&mut found.bytes, form, &free, &[])?;
        found.slots.splice(first..=last, [free]);
        found.is_changed = true;
        let gone = i32::try_from(last - first).map_err(|_| Error::internal("more messages than a header holds"))?;
        self.count_messages(-gone)?;
        Ok(MessageId(block, first))
    }

    /// Room of at least `needed` bytes in a block before `end`.
    fn free_in(&self, needed: usize, end: usize) -> Option<MessageId> {
        let nil = self.all(kind::NIL).into_iter().filter(|id| id.0 < end).filter_map(|id| Some((self.slot(id).ok()?.1.length, id)));
        nil.filter(|(room, _)| self.form.fits(*room, needed)).min_by_key(|(room, _)| *room).map(|(_, id)| id)
    }

    /// The fewest bytes of messages, side by side, in whose place a link to a new block fits: block, first and last slot.
    fn movable(&self, link_bytes: usize) -> Option<(usize, usize, usize)> {
        let prefix = self.form.prefix_bytes();
        let mut best: Option<(usize, (usize, usize, usize))> = None;
        for (block, found) in self.blocks.iter().enumerate() {
            for first in 0..found.slots.len() {
                let mut bytes = 0;
                for (last, slot) in found.slots.iter().enumerate().skip(first) {
                    bytes += prefix + slot.length;
                    if slot.kind == kind::CONTINUATION || best.is_some_and(|(fewest, _)| bytes >= fewest) {
                        break;
                    }
                    if self.form.fits(bytes - prefix, link_bytes) {
                        best = Some((bytes, (block, first, last)));
                        break;
                    }
                }
            }
        }
        best.map(|(_, run)| run)
    }

    /// Puts a message into a slot that has room for it. What is left of the slot becomes a free message.
    fn put(&mut self, id: MessageId, kind: u16, flags: u8, creation_order: u16, body: &[u8]) -> Result<()> {
        let form = self.form;
        let prefix = form.prefix_bytes();
        let length = form.padded(body.len());
        let room = self.slot(id)?.1.length;
        if !form.fits(room, length) {
            return Err(Error::internal("a message in a slot that is too small"));
        }
        let has_rest = room > length;
        let block = self.blocks.get_mut(id.0).ok_or_else(|| Error::internal("a block that is not in its header"))?;
        let slot = block.slots.get_mut(id.1).ok_or_else(|| Error::internal("a message that is not in its header"))?;
        *slot = Slot { kind, flags, start: slot.start, length, creation_order };
        let written = *slot;
        write_message(&mut block.bytes, form, &written, body)?;
        block.is_changed = true;
        if has_rest {
            let rest = Slot { kind: kind::NIL, flags: 0, start: written.start + prefix + length, length: room - length - prefix, creation_order: 0 };
            write_message(&mut block.bytes, form, &rest, &[])?;
            block.slots.insert(id.1 + 1, rest);
            self.count_messages(1)?;
        }
        Ok(())
    }

    /// Version 1 counts its messages, free ones included.
    fn count_messages(&mut self, more: i32) -> Result<()> {
        let Some(first) = self.blocks.first_mut().filter(|_| self.form == Form::Version1) else { return Ok(()) };
        let field = first.bytes.get_mut(2..4).ok_or_else(|| Error::internal("a header without its count"))?;
        let count = field.iter().rev().fold(0u16, |count, byte| count << 8 | u16::from(*byte));
        let count = u16::try_from(i32::from(count) + more).ok().ok_or_else(|| Error::unsupported("65536 messages in one object header"))?;
        field.copy_from_slice(&count.to_le_bytes());
        first.is_changed = true;
        Ok(())
    }

    /// Writes the blocks that were changed.
    pub fn store(mut self, space: &dyn Space) -> Result<()> {
        self.join_free()?;
        for block in self.blocks.iter_mut().filter(|block| block.is_changed) {
            close_gap(block, self.form)?;
            if self.form != Form::Version1
                && let Some((content, sum)) = block.bytes.split_last_chunk_mut::<4>()
            {
                *sum = checksum::lookup3(content).to_le_bytes();
            }
            space.write(block.address, &block.bytes)?;
        }
        Ok(())
    }
}

/// The library refuses a block that has free messages and, in addition, a gap at its end that is too short for one: then all free room is made
/// one message, the last.
fn close_gap(block: &mut Block, form: Form) -> Result<()> {
    let prefix = form.prefix_bytes();
    let (Some(first), Some(last)) = (block.slots.first(), block.slots.last()) else { return Ok(()) };
    let (start, messages_end) = (first.start, last.start + prefix + last.length);
    let end = block.bytes.len().saturating_sub(4);
    if form == Form::Version1 || messages_end >= end || block.slots.iter().all(|slot| slot.kind != kind::NIL) {
        return Ok(());
    }
    let mut packed = Vec::new();
    for slot in block.slots.iter().filter(|slot| slot.kind != kind::NIL) {
        let message = block.bytes.get(slot.start..slot.start + prefix + slot.length);
        packed.extend_from_slice(message.ok_or_else(|| Error::internal("a message beyond its block"))?);
    }
    let free = Slot { kind: kind::NIL, flags: 0, start: start + packed.len(), length: end - start - packed.len() - prefix, creation_order: 0 };
    let target = block.bytes.get_mut(start..start + packed.len()).ok_or_else(|| Error::internal("messages beyond their block"))?;
    target.copy_from_slice(&packed);
    write_message(&mut block.bytes, form, &free, &[])
}

/// Writes prefix and body of a message; the rest of the body is zeros.
fn write_message(bytes: &mut [u8], form: Form, slot: &Slot, body: &[u8]) -> Result<()> {
    let (kind, length) = (
        slot.kind.to_le_bytes(),
        u16::try_from(slot.length).map_err(|_| Error::unsupported("changes of an object header with 64 KiB or more of free room"))?.to_le_bytes(),
    );
    let mut message = match form {
        Form::Version1 => vec![kind[0], kind[1], length[0], length[1], slot.flags, 0, 0, 0],
        Form::Version2 { .. } => vec![kind[0], length[0], length[1], slot.flags],
    };
    if form == (Form::Version2 { tracked: true }) {
        message.extend(slot.creation_order.to_le_bytes());
    }
    message.extend(body);
    message.resize(form.prefix_bytes() + slot.length, 0);
    let target = bytes.get_mut(slot.start..slot.start + message.len());
    target.ok_or_else(|| Error::internal("a message beyond its block"))?.copy_from_slice(&message);
    Ok(())
}
