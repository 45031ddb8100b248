//! Shared messages: header messages that several objects share, stored once in a fractal heap
//! (specification III.H, "Shared Object Header Message Table", SOHM).

use hyperslab_array::{Error, Result};

use super::Source;
use super::heap::FractalHeap;
use super::source::SharedMessageHeap;

/// Bytes of a shared message's heap ID.
const HEAP_ID_BYTES: usize = 8;

/// The body of the message of `kind` with this heap ID.
pub(crate) fn body(source: &Source, kind: u16, id: &[u8]) -> Result<Vec<u8>> {
    let holds = |table: &&SharedMessageHeap| 1u16.checked_shl(kind.into()).is_some_and(|bit| table.kinds & bit != 0);
    let table = source.shared_messages.iter().find(holds);
    let table = table.ok_or_else(|| Error::corrupt(format!("no heap of shared messages of kind {kind:#x}")))?;
    let id = id.get(..HEAP_ID_BYTES).ok_or_else(|| Error::corrupt("a shared message without heap ID"))?;
    Ok(FractalHeap::open(source, table.heap)?.object(id)?.into_owned())
}
