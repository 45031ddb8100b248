//! Zstandard (32015).

use hyperslab_array::{Error, Result};

pub(super) fn decode(input: &[u8], most: usize, out: &mut Vec<u8>) -> Result<()> {
    out.resize(most, 0);
    let written = zstd::bulk::decompress_to_buffer(input, out.as_mut_slice())
        .map_err(|error| Error::corrupt(format!("the compressed bytes are damaged or too long: {error}")))?;
    out.truncate(written);
    Ok(())
}
