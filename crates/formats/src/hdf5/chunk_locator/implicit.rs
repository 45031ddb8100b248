//! Implicit: all chunks were allocated side by side, in the order of their numbers.

use hyperslab_array::{Error, Result};
use hyperslab_storage::IF_DAMAGED;

use super::found::Found;
use super::numbering::Numbering;
use crate::hdf5::Source;
use crate::hdf5::layout::ChunkedLayout;

pub(super) fn locate(source: &Source, address: u64, touched: &[Vec<u64>], found: &mut Found<'_>) -> Result<()> {
    let numbering = Numbering::row_major(found.layout)?;
    let bytes = found.layout.chunk_bytes;
    for (slot, origin) in touched.iter().enumerate() {
        let number = numbering.number(origin)?;
        let place = number.checked_mul(bytes).and_then(|n| n.checked_add(address));
        let place = place.ok_or_else(|| Error::corrupt("an implicit chunk beyond 64 bits"))?;
        found.put(source, slot, place, bytes, 0)?;
    }
    Ok(())
}

/// Bytes of all chunks of the dataset.
pub(super) fn stored_bytes(source: &Source, address: u64, layout: &ChunkedLayout) -> Result<u64> {
    let chunks = layout.shape.iter().zip(&layout.chunk_shape).map(|(extent, chunk)| extent.div_ceil(*chunk));
    let bytes = chunks.into_iter().try_fold(layout.chunk_bytes, u64::checked_mul);
    let end = bytes.and_then(|bytes| bytes.checked_add(source.absolute(address).ok()?));
    match bytes.filter(|_| end.is_some_and(|end| source.storage.reaches(end))) {
        Some(bytes) => Ok(bytes),
        None => Err(Error::corrupt(format!("implicit chunks lie here but the file ends at byte {}: it is truncated; {IF_DAMAGED}", source.storage.len()))
            .at_offset(source.absolute(address)?)),
    }
}
