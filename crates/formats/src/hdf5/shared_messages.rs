//! Shared messages: header messages that several objects share, stored once in a fractal heap
//! (specification III.H, "Shared Object Header Message Table", SOHM).

use hyperslab_array::{Error, Result};

use super::Source;
use super::heap::FractalHeap;
use super::shared_heaps::SharedMessageHeap;

/// Bytes of a shared message's heap ID.
const HEAP_ID_BYTES: usize = 8;

/// Bytes of a heap's blocks that stay for the next message.
const MAX_KEPT_BYTES: u64 = 16 << 20;

/// The body of the message of `kind` with this heap ID.
pub(crate) fn body(source: &Source, kind: u16, id: &[u8]) -> Result<Vec<u8>> {
    let holds = |table: &&SharedMessageHeap| 1u16.checked_shl(kind.into()).is_some_and(|bit| table.kinds & bit != 0);
    let table = source.shared_messages.heaps.iter().find(holds);
    let table = table.ok_or_else(|| Error::corrupt(format!("no heap of shared messages of kind {kind:#x}")))?;
    let id = id.get(..HEAP_ID_BYTES).ok_or_else(|| Error::corrupt("a shared message without heap ID"))?;
    let blocks = source.shared_messages.blocks.lock().and_then(|mut blocks| blocks.remove(&table.heap));
    let mut heap = FractalHeap::open(source, table.heap)?.with_blocks(blocks.unwrap_or_default());
    let body = heap.object(id).and_then(|body| {
        source.budget.charge(body.len() as u64)?;
        Ok(body.into_owned())
    });
    let blocks = heap.into_blocks();
    if blocks.bytes <= MAX_KEPT_BYTES
        && let Some(mut kept) = source.shared_messages.blocks.lock()
    {
        kept.insert(table.heap, blocks);
    }
    body
}
