//! Deflate (1): zlib streams, as gzip-compressed HDF5 stores them.

use flate2::{Decompress, FlushDecompress, Status};
use hyperslab_array::{Error, Result};

/// Deflate never makes more bytes of one than this, so a small lie cannot ask for a large buffer.
const MOST_EXPANSION: usize = 1040;

pub(super) fn decode(input: &[u8], most: usize, out: &mut Vec<u8>) -> Result<()> {
    let most = most.min(input.len().saturating_mul(MOST_EXPANSION));
    let mut inflate = Decompress::new(true);
    out.resize(most, 0);
    let status = inflate
        .decompress(input, out, FlushDecompress::Finish)
        .map_err(|error| Error::corrupt(format!("the compressed bytes are damaged: {error}")))?;
    let written = usize::try_from(inflate.total_out()).unwrap_or(usize::MAX);
    if status != Status::StreamEnd {
        let why = if written >= most { "more bytes than the chunk holds" } else { "an incomplete stream" };
        return Err(Error::corrupt(why));
    }
    out.truncate(written);
    Ok(())
}
