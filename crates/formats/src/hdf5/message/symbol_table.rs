//! Symbol table message (IV.A.2.r): where an old group keeps its links.

use crate::hdf5::Encoder;

/// Addresses of the B-tree and of the local heap with the names.
pub(crate) fn encode(tree: u64, heap: u64) -> Vec<u8> {
    let mut encoder = Encoder::default();
    encoder.u64(tree);
    encoder.u64(heap);
    encoder.finish()
}
