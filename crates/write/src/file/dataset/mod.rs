//! The values of one dataset: written, grown, read back, and filled if nothing was written.

mod fill_unwritten;
mod growing;
mod partial_chunk;
pub(crate) mod placement;
mod reread;
mod resize;
pub(crate) mod state;
pub(super) mod touched_chunks;
mod write;
