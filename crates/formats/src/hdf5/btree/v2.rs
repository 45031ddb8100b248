//! Version-2 B-tree (specification III.A.2): visits every record in order.
use hyperslab_array::{Error, Result};

use crate::hdf5::Source;

/// Calls `visit` with the bytes of each record of the tree whose header lies at `address`, in key
/// order. `record_types` are the types that the caller can parse; another one is `Corrupt`.
/// `visit` also gets the record type.
pub(crate) fn records(
    _source: &Source,
    _address: u64,
    _record_types: &[u8],
    _visit: &mut dyn FnMut(u8, &[u8]) -> Result<()>,
) -> Result<()> {
    Err(Error::unsupported("stub"))
}
