//! Bzip2 (307).

use std::io::Read;

use hyperslab_array::{Error, Result};

pub(super) fn decode(input: &[u8], max_bytes: usize, out: &mut Vec<u8>) -> Result<()> {
    // Read to the end, so that the buffer grows with what is really there.
    let limit = u64::try_from(max_bytes).unwrap_or(u64::MAX).saturating_add(1);
    bzip2::read::BzDecoder::new(input).take(limit).read_to_end(out).map_err(|error| Error::corrupt(format!("the compressed bytes are damaged: {error}")))?;
    if out.len() > max_bytes { Err(Error::corrupt("more bytes than the chunk holds")) } else { Ok(()) }
}
