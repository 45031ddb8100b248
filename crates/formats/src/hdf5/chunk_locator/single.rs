//! Single chunk: the whole dataset is one chunk, whose place the layout message tells.

use hyperslab_array::Result;

use super::found::Sink;
use crate::hdf5::Source;

pub(super) fn locate(source: &Source, address: u64, filtered: Option<(u64, u32)>, found: &mut impl Sink) -> Result<()> {
    let (length, mask) = filtered.unwrap_or((found.layout().chunk_bytes, 0));
    let number = vec![0; found.layout().shape.len()];
    found.add(source, &number, address, length, mask)
}
