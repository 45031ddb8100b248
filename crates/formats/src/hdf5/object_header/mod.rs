//! Object header (specification IV.A): the messages that describe an object.

mod version1;
mod version2;

pub(crate) use version2::encode;

use std::borrow::Cow;

use hyperslab_array::{Error, Result};

use super::visited::Visited;
use super::{Cursor, Source, shared_messages};

/// Numbers of the messages that we read (specification IV.A.2).
pub(crate) mod kind {
    /// Free bytes.
    pub const NIL: u16 = 0x00;
    pub const DATASPACE: u16 = 0x01;
    pub const LINK_INFO: u16 = 0x02;
    pub const DATATYPE: u16 = 0x03;
    pub const FILL_VALUE_OLD: u16 = 0x04;
    pub const FILL_VALUE: u16 = 0x05;
    pub const LINK: u16 = 0x06;
    pub const GROUP_INFO: u16 = 0x0a;
    pub const EXTERNAL_FILES: u16 = 0x07;
    pub const LAYOUT: u16 = 0x08;
    pub const FILTER_PIPELINE: u16 = 0x0b;
    pub const ATTRIBUTE: u16 = 0x0c;
    pub const SHARED_MESSAGE_TABLE: u16 = 0x0f;
    pub const CONTINUATION: u16 = 0x10;
    pub const SYMBOL_TABLE: u16 = 0x11;
    pub const DRIVER_INFO: u16 = 0x14;
    pub const ATTRIBUTE_INFO: u16 = 0x15;
    pub const REFERENCE_COUNT: u16 = 0x16;
    pub const FILE_SPACE_INFO: u16 = 0x17;
    pub const METADATA_CACHE_IMAGE: u16 = 0x18;
    /// Highest number that this reader knows, whether it uses it or not.
    pub const LAST: u16 = 0x18;
}

/// What a message costs beside its body.
const MESSAGE_COST: u64 = 48;
/// Room for the messages of most objects.
const MOST_USUAL: usize = 8;
/// Flag: the message's body is a reference to a shared message.
const SHARED: u8 = 1 << 1;
/// Flag: a reader that does not know the message must not open the object.
const FAIL_IF_UNKNOWN: u8 = 1 << 7;

/// One message, body included.
pub(crate) struct Message<'a> {
    pub kind: u16,
    pub flags: u8,
    /// Borrowed where the block that it is in is kept in memory.
    pub body: Cow<'a, [u8]>,
    /// Address of the body, relative to the base address.
    pub address: u64,
    /// When the message was added, in headers that track it: of attributes only.
    pub creation_order: u16,
}

/// All messages of an object, continuations included, in order.
pub(crate) struct ObjectHeader<'a> {
    pub messages: Vec<Message<'a>>,
    /// Whether the order in which attributes were created is known.
    pub tracks_attributes: bool,
}

/// A block of messages that was not read yet.
struct Continuation {
    address: u64,
    length: u64,
}

impl<'a> ObjectHeader<'a> {
    /// Reads the header at `address`.
    pub fn read(source: &'a Source, address: u64) -> Result<Self> {
        let start = source.read_up_to(address, 4)?;
        let (messages, tracks_attributes) = match start.as_ref() {
            b"OHDR" => version2::read(source, address)?,
            [1, ..] => (version1::read(source, address)?, false),
            _ => {
                return Err(Error::corrupt("expected an object header of version 1 or 2")
                    .at_offset(source.absolute(address)?));
            }
        };
        for message in &messages {
            if message.kind > kind::LAST && message.flags & FAIL_IF_UNKNOWN != 0 {
                return Err(Error::unsupported(format!("an object with header message {:#x}", message.kind))
                    .at_offset(source.absolute(address)?));
            }
        }
        Ok(Self { messages, tracks_attributes })
    }

    /// The first message of a kind.
    pub fn find(&self, kind: u16) -> Option<&Message<'a>> {
        self.messages.iter().find(|message| message.kind == kind)
    }

    /// All messages of a kind.
    pub fn all(&self, kind: u16) -> impl Iterator<Item = &Message<'a>> {
        self.messages.iter().filter(move |message| message.kind == kind)
    }
}

impl Message<'_> {
    /// Calls `parse` with a cursor over the body, that of the shared message where this one is a
    /// reference to it.
    pub fn parse<T>(&self, source: &Source, parse: impl FnOnce(&mut Cursor<'_>) -> Result<T>) -> Result<T> {
        if self.flags & SHARED == 0 {
            return parse(&mut source.cursor(&self.body, self.address));
        }
        let mut cursor = source.cursor(&self.body, self.address);
        let shared = shared_body(source, &mut cursor, self.kind)?;
        parse(&mut source.cursor(&shared.body, shared.address))
    }
}

/// The message that a shared-message reference at `cursor` leads to (specification IV.A.2, "Shared
/// Message"): one in a committed datatype's object header, or in a heap of shared messages.
pub(crate) fn shared_body<'a>(source: &'a Source, cursor: &mut Cursor<'_>, kind: u16) -> Result<Message<'a>> {
    let version = cursor.u8()?;
    let class = cursor.u8()?;
    match version {
        // Version 1 holds a symbol table entry: the name's offset in a local heap, then the address.
        1 => {
            cursor.skip(6)?;
            cursor.length()?;
        }
        2 => {}
        3 if class == 1 => {
            let address = cursor.offset_in_file().saturating_sub(source.base_address);
            let body = Cow::Owned(shared_messages::body(source, kind, cursor.take(8)?)?);
            return Ok(Message { kind, flags: 0, body, address, creation_order: 0 });
        }
        3 => {}
        _ => return Err(cursor.corrupt(format!("version {version} of a shared message"))),
    }
    let address = cursor.defined_address("a shared message")?;
    let header = ObjectHeader::read(source, address)?;
    let message = header.messages.into_iter().find(|message| message.kind == kind && message.flags & SHARED == 0);
    message.ok_or_else(|| cursor.corrupt("a shared message that is not where it should be"))
}

/// The body that begins at `start` of a block.
fn body<'a>(block: &Cow<'a, [u8]>, start: usize, length: usize) -> Option<Cow<'a, [u8]>> {
    let range = start..start.checked_add(length)?;
    Some(match block {
        Cow::Borrowed(block) => Cow::Borrowed(block.get(range)?),
        Cow::Owned(block) => Cow::Owned(block.get(range)?.to_vec()),
    })
}

/// Reads continuation blocks one after the other; `read_block` parses one and returns more of them.
/// Bounded by the number of messages and by refusing to read a block twice.
fn read_blocks<'a>(
    source: &'a Source,
    mut pending: Vec<Continuation>,
    messages: &mut Vec<Message<'a>>,
    read_block: &mut dyn FnMut(&Continuation, &mut Vec<Message<'a>>) -> Result<()>,
) -> Result<()> {
    let mut seen = Visited::default();
    let mut next = 0;
    while let Some(block) = pending.get(next) {
        next += 1;
        if !seen.insert(block.address) {
            return Err(Error::corrupt("an object header that continues in itself")
                .at_offset(source.absolute(block.address)?));
        }
        let before = messages.len();
        read_block(block, messages)?;
        let cost = |message: &Message| (message.body.len() as u64).saturating_add(MESSAGE_COST);
        source.budget.charge(messages.get(before..).unwrap_or_default().iter().map(cost).sum())?;
        if messages.len() as u64 > source.limits.messages_per_object {
            return Err(Error::limit_exceeded(format!(
                "more than {} messages in one object header",
                source.limits.messages_per_object
            )));
        }
        pending.append(&mut continuations(source, messages.get(before..).unwrap_or_default())?);
    }
    Ok(())
}

fn continuations(source: &Source, messages: &[Message<'_>]) -> Result<Vec<Continuation>> {
    let found = messages.iter().filter(|message| message.kind == kind::CONTINUATION);
    found
        .map(|message| {
            let mut cursor = source.cursor(&message.body, message.address);
            let address = cursor.defined_address("an object header continuation")?;
            Ok(Continuation { address, length: cursor.length()? })
        })
        .collect()
}
