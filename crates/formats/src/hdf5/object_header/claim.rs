//! Claims: each large block is a part of one header.

use hyperslab_array::{Error, Result};

use crate::hdf5::Source;
use crate::hdf5::header_blocks::HeaderBlocks;

/// Smaller blocks may overlap: walking over one costs about as much as an object costs anyway.
const MIN_BYTES: u64 = 4096;
/// Budget for a block that is remembered.
const BLOCK_COST: u64 = 64;

/// Remembers that a block belongs to the header at `header`.
///
/// # Errors
/// `Corrupt` if it is large and overlaps another one.
pub(super) fn claim(source: &Source, header: u64, address: u64, length: u64) -> Result<()> {
    if length < MIN_BYTES {
        return Ok(());
    }
    let Some(mut blocks) = source.shared_messages.header_blocks.lock() else { return Ok(()) };
    match blocks.add(header, address, address.saturating_add(length)) {
        Some(true) => source.budget.charge(BLOCK_COST),
        Some(false) => Ok(()),
        // Another program has moved blocks.
        None if source.storage.has_changed() => {
            *blocks = HeaderBlocks::default();
            Ok(())
        }
        None => Err(Error::corrupt("a block of an object header that overlaps another one").at_offset(source.absolute(address)?)),
    }
}
