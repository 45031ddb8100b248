//! Object header (specification IV.A): the messages that describe an object.

mod blocks;
mod claim;
pub(crate) mod kind;
mod pattern;
mod version1;
mod version2;

pub(crate) use blocks::Message;
pub(crate) use pattern::pattern;
pub(crate) use version2::{encode, prefix_bytes as version2_prefix_bytes};

use std::borrow::Cow;
use std::sync::Arc;

use hyperslab_array::{Datatype, Error, Result};

use super::message::datatype;
use super::shared_heaps::CommittedMessage;
use super::{Cursor, Source, Widths, shared_messages};
use crate::{CreationOrder, ObjectTimes};

/// Flag: the message's body is a reference to a shared message.
const SHARED: u8 = 1 << 1;
/// Flag: a reader that does not know the message must not open the object.
const FAIL_IF_UNKNOWN: u8 = 1 << 7;

/// Bytes that are read at once, which are all of most headers: each read may be a system call.
const START_BYTES: u64 = 512;

/// What stands in front of the messages of a header.
#[derive(Default)]
pub(crate) struct Prefix {
    pub times: Option<ObjectTimes>,
    pub attribute_order: CreationOrder,
    /// Number of hard links, in version 1.
    pub links: Option<u32>,
}

/// The prefix of the header at `address`.
pub(crate) fn prefix(source: &Source, address: u64) -> Result<Prefix> {
    let start = source.read_up_to(address, version2::MAX_PREFIX_BYTES)?;
    let mut cursor = source.cursor(&start, address);
    if start.starts_with(b"OHDR") {
        return version2::prefix(&mut cursor);
    }
    cursor.skip(4)?;
    Ok(Prefix { links: Some(cursor.u32()?), ..Prefix::default() })
}

/// All messages of an object, continuations included, in order.
pub(crate) struct ObjectHeader<'a> {
    pub messages: Vec<Message<'a>>,
    /// Whether the order in which attributes were created is known.
    pub tracks_attributes: bool,
}

impl<'a> ObjectHeader<'a> {
    /// Reads the header at `address`.
    pub fn read(source: &'a Source, address: u64) -> Result<Self> {
        let start = source.read_up_to(address, START_BYTES.min(source.limits.metadata_block_bytes))?;
        let (messages, tracks_attributes) = match start.as_ref() {
            [b'O', b'H', b'D', b'R', ..] => version2::read(source, address, start)?,
            [1, ..] => (version1::read(source, address, start)?, false),
            _ => {
                return Err(Error::corrupt("expected an object header of version 1 or 2").at_offset(source.absolute(address)?));
            }
        };
        for message in &messages {
            if message.kind > kind::LAST && message.flags & FAIL_IF_UNKNOWN != 0 {
                return Err(Error::unsupported(format!("an object with header message {:#x}", message.kind)).at_offset(source.absolute(address)?));
            }
        }
        Ok(Self { messages, tracks_attributes })
    }

    /// Only the messages of these kinds, independent of the bytes that they were read from.
    pub fn kept(self, kinds: &[u16]) -> ObjectHeader<'static> {
        let messages = self.messages.into_iter().filter(|message| kinds.contains(&message.kind));
        let owned = |Message { kind, flags, body, address, creation_order }| {
            let body = Cow::Owned(Cow::<'a, [u8]>::into_owned(body));
            Message { kind, flags, body, address, creation_order }
        };
        ObjectHeader { messages: messages.map(owned).collect(), tracks_attributes: self.tracks_attributes }
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
    /// Calls `parse` with a cursor over the body, or over the body of the shared message if this one is a
    /// reference to it.
    pub fn parse<T>(&self, source: &Source, parse: impl FnOnce(&mut Cursor<'_>) -> Result<T>) -> Result<T> {
        if self.flags & SHARED == 0 {
            return parse(&mut source.cursor(&self.body, self.address));
        }
        let mut cursor = source.cursor(&self.body, self.address);
        let shared = shared_body(source, &mut cursor, self.kind)?;
        parse(&mut source.cursor(&shared.body, shared.address))
    }

    /// The datatype that this message holds or refers to.
    pub fn datatype(&self, source: &Source) -> Result<Datatype> {
        let mut cursor = source.cursor(&self.body, self.address);
        if self.flags & SHARED != 0 {
            return shared_datatype(source, &mut cursor);
        }
        Ok(source.shared_messages.interned(datatype::parse(&mut cursor, source.limits.depth)?))
    }
}

/// Where a shared message is.
enum SharedPlace<'a> {
    /// In a heap of shared messages, by its heap ID.
    Heap(&'a [u8]),
    /// In the object header at this address.
    Header(u64),
}

/// The header that a message's body lies in; `None` if that is a heap of shared messages.
pub(crate) fn committed_place(source: &Source, message: &Message<'_>) -> Result<Option<u64>> {
    shared_address(&mut source.cursor(&message.body, message.address))
}

/// The header that the message of a shared-message reference at `cursor` lies in; `None` if that is a heap of shared messages.
pub(crate) fn shared_address(cursor: &mut Cursor<'_>) -> Result<Option<u64>> {
    match shared_place(cursor)? {
        SharedPlace::Header(address) => Ok(Some(address)),
        SharedPlace::Heap(_) => Ok(None),
    }
}

/// A reference to the committed datatype whose header lies at `address`, in the place of a datatype.
pub(crate) fn committed_reference(address: u64, widths: Widths) -> Vec<u8> {
    /// Version of the reference, and that it leads to a committed datatype.
    const COMMITTED: [u8; 2] = [2, 2];
    let mut body = COMMITTED.to_vec();
    body.extend(address.to_le_bytes().get(..widths.address.into()).unwrap_or_default());
    body
}

/// The place that a shared-message reference at `cursor` names (specification IV.A.2, "Shared Message").
fn shared_place<'a>(cursor: &mut Cursor<'a>) -> Result<SharedPlace<'a>> {
    let version = cursor.u8()?;
    let class = cursor.u8()?;
    match version {
        // Version 1 holds a symbol table entry: the name's offset in a local heap, then the address.
        1 => {
            cursor.skip(6)?;
            cursor.length()?;
        }
        2 => {}
        3 if class == 1 => return Ok(SharedPlace::Heap(cursor.take(8)?)),
        3 => {}
        _ => return Err(cursor.corrupt(format!("version {version} of a shared message"))),
    }
    cursor.defined_address("a shared message").map(SharedPlace::Header)
}

/// The message that a shared-message reference at `cursor` leads to: one in a committed datatype's object header, or in a heap of
/// shared messages.
pub(crate) fn shared_body(source: &Source, cursor: &mut Cursor<'_>, kind: u16) -> Result<CommittedMessage> {
    let address = cursor.offset_in_file().saturating_sub(source.base_address);
    match shared_place(cursor)? {
        SharedPlace::Heap(id) => Ok(CommittedMessage { kind, body: shared_messages::body(source, kind, id)?.into(), address }),
        SharedPlace::Header(header) => {
            let found = committed(source, header)?.iter().find(|message| message.kind == kind).cloned();
            found.ok_or_else(|| cursor.corrupt("a shared message that is not where it should be"))
        }
    }
}

/// The datatype that a shared-message reference at `cursor` leads to. A committed one is parsed once.
pub(crate) fn shared_datatype(source: &Source, cursor: &mut Cursor<'_>) -> Result<Datatype> {
    let parse = |cursor: &mut Cursor<'_>| {
        let shared = shared_body(source, cursor, kind::DATATYPE)?;
        datatype::parse(&mut source.cursor(&shared.body, shared.address), source.limits.depth)
    };
    let SharedPlace::Header(address) = shared_place(&mut cursor.clone())? else { return parse(cursor) };
    let kept = &source.shared_messages.datatypes;
    if let Some(datatype) = kept.lock().and_then(|mut kept| kept.get(address)) {
        cursor.keep(size_of::<Datatype>())?;
        return Ok(datatype);
    }
    let before = source.budget.kept();
    let datatype = parse(cursor)?;
    if let Some(mut kept) = kept.lock() {
        kept.insert(address, datatype.clone(), source.budget.kept().saturating_sub(before));
    }
    Ok(datatype)
}

/// The messages that the header at `address` shares with other objects, the first of each kind. A header is read once, however many refer to it.
fn committed(source: &Source, address: u64) -> Result<Arc<[CommittedMessage]>> {
    let kept = &source.shared_messages.committed;
    if let Some(messages) = kept.lock().and_then(|mut kept| kept.get(address)) {
        return Ok(messages);
    }
    let header = ObjectHeader::read(source, address)?;
    let mut messages: Vec<CommittedMessage> = Vec::new();
    for Message { kind, flags, body, address, .. } in header.messages {
        if flags & SHARED == 0 && messages.iter().all(|known| known.kind != kind) {
            messages.push(CommittedMessage { kind, body: body.into_owned().into(), address });
        }
    }
    let messages: Arc<[CommittedMessage]> = messages.into();
    if let Some(mut kept) = kept.lock() {
        let bytes = messages.iter().map(|message| message.body.len() + size_of::<CommittedMessage>()).sum::<usize>();
        kept.insert(address, messages.clone(), bytes as u64);
    }
    Ok(messages)
}
