//! Chunk locators: what finds a chunk. One file each (specification III.A.1, VII).
use hyperslab_array::{Error, Result, Selection};

use crate::ChunkLocation;
use crate::hdf5::{Source, layout::ChunkedLayout};

/// The chunks of `layout` that `selection` touches, row-major by origin, each exactly once; a chunk
/// without storage is `ChunkSource::Fill`. `selection` was checked against `layout.shape`.
pub(crate) fn locate(_source: &Source, _layout: &ChunkedLayout, _selection: &Selection) -> Result<Vec<ChunkLocation>> {
    Err(Error::unsupported("stub"))
}
