//! The messages of an object header and the blocks that hold them.

use std::borrow::Cow;

use hyperslab_array::{Error, Result};

use super::kind;
use crate::hdf5::Source;
use crate::hdf5::visited::Visited;

/// Budget charged for a message in addition to its body, in bytes.
const MESSAGE_COST: u64 = 48;
/// Capacity that holds the messages of most objects.
const USUAL_MESSAGES: usize = 8;

/// One message, body included.
pub(crate) struct Message<'a> {
    pub kind: u16,
    pub flags: u8,
    /// Borrowed if the block that it is in is kept in memory.
    pub body: Cow<'a, [u8]>,
    /// Address of the body, relative to the base address.
    pub address: u64,
    /// When the message was added, in headers that track it: of attributes only.
    pub creation_order: u16,
}

/// The messages of a header so far. Adding one pays for it.
pub(crate) struct Messages<'a> {
    source: &'a Source,
    list: Vec<Message<'a>>,
}

impl<'a> Messages<'a> {
    pub fn new(source: &'a Source) -> Self {
        Self { source, list: Vec::with_capacity(USUAL_MESSAGES) }
    }
    /// Adds a message. One of kind NIL is room that is not used, and not kept.
    pub fn push(&mut self, message: Message<'a>) -> Result<()> {
        if message.kind == kind::NIL {
            return Ok(());
        }
        self.source.budget.charge((message.body.len() as u64).saturating_add(MESSAGE_COST))?;
        if self.list.len() as u64 >= self.source.limits.messages_per_object {
            return Err(Error::limit_exceeded(format!("more than {} messages in one object header", self.source.limits.messages_per_object)));
        }
        self.list.push(message);
        Ok(())
    }
    /// All messages, after the messages of the `pending` continuation blocks are read: `read_block` parses one. No block is read twice.
    pub fn complete(mut self, mut pending: Vec<Continuation>, read_block: &mut dyn FnMut(&Continuation, &mut Self) -> Result<()>) -> Result<Vec<Message<'a>>> {
        let source = self.source;
        let mut seen = Visited::default();
        let mut next = 0;
        pending.extend(continuations(source, &self.list)?);
        while let Some(block) = pending.get(next) {
            next += 1;
            if !seen.insert(block.address) {
                return Err(Error::corrupt("an object header that continues in itself").at_offset(source.absolute(block.address)?));
            }
            let before = self.list.len();
            read_block(block, &mut self)?;
            pending.append(&mut continuations(source, self.list.get(before..).unwrap_or_default())?);
        }
        Ok(self.list)
    }
}

/// A continuation block that was not read yet.
pub(super) struct Continuation {
    pub address: u64,
    pub length: u64,
}

/// The body that begins at `start` of a block.
pub(super) fn body<'a>(block: &Cow<'a, [u8]>, start: usize, length: usize) -> Option<Cow<'a, [u8]>> {
    let range = start..start.checked_add(length)?;
    Some(match block {
        Cow::Borrowed(block) => Cow::Borrowed(block.get(range)?),
        Cow::Owned(block) => Cow::Owned(block.get(range)?.to_vec()),
    })
}

/// The block of `length` bytes that begins at `start` of the first bytes of a header, if it ends in them.
pub(super) fn within<'a>(bytes: &Cow<'a, [u8]>, start: usize, length: u64) -> Option<Cow<'a, [u8]>> {
    body(bytes, start, usize::try_from(length).ok()?)
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
