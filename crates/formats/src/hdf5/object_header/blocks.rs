//! The messages of an object header and the blocks that hold them.

use std::borrow::Cow;

use hyperslab_array::{Error, Result};

use super::kind;
use crate::hdf5::Source;
use crate::hdf5::visited::Visited;

/// Budget charged for a message in addition to its body, in bytes.
const MESSAGE_COST: u64 = 48;
/// Capacity that holds the messages of most objects.
pub(super) const USUAL_MESSAGES: usize = 8;

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

/// Reads continuation blocks one after the other; `read_block` parses one and returns more of them.
/// Bounded by the number of messages and by refusing to read a block twice.
pub(super) fn read_blocks<'a>(
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
            return Err(Error::corrupt("an object header that continues in itself").at_offset(source.absolute(block.address)?));
        }
        let before = messages.len();
        read_block(block, messages)?;
        let cost = |message: &Message| (message.body.len() as u64).saturating_add(MESSAGE_COST);
        source.budget.charge(messages.get(before..).unwrap_or_default().iter().map(cost).sum())?;
        if messages.len() as u64 > source.limits.messages_per_object {
            return Err(Error::limit_exceeded(format!("more than {} messages in one object header", source.limits.messages_per_object)));
        }
        pending.append(&mut continuations(source, messages.get(before..).unwrap_or_default())?);
    }
    Ok(())
}

pub(super) fn continuations(source: &Source, messages: &[Message<'_>]) -> Result<Vec<Continuation>> {
    let found = messages.iter().filter(|message| message.kind == kind::CONTINUATION);
    found
        .map(|message| {
            let mut cursor = source.cursor(&message.body, message.address);
            let address = cursor.defined_address("an object header continuation")?;
            Ok(Continuation { address, length: cursor.length()? })
        })
        .collect()
}
