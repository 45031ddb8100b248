//! Implicit: all chunks were allocated side by side, in the order of their numbers.

use hyperslab_array::{Error, Result};

use super::found::Found;
use super::numbering::Numbering;
use crate::hdf5::Source;

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
