//! Deflate (1): zlib streams, as gzip-compressed HDF5 stores them.

use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};
use hyperslab_array::{Error, Result};

/// Maximum bytes that deflate makes of one byte, so that a small damaged chunk cannot request a large buffer.
pub(super) const MAX_EXPANSION: usize = 1040;

thread_local! {
    // Its memory is more than a small chunk's, so each thread keeps one.
    static INFLATE: std::cell::RefCell<Option<Decompress>> = const { std::cell::RefCell::new(None) };
}

pub(super) fn decode(input: &[u8], max_bytes: usize, out: &mut Vec<u8>) -> Result<()> {
    let max_bytes = max_bytes.min(input.len().saturating_mul(MAX_EXPANSION));
    out.resize(max_bytes, 0);
    let (status, written) = INFLATE.with_borrow_mut(|inflate| {
        let inflate = inflate.get_or_insert_with(|| Decompress::new(true));
        inflate.reset(true);
        let status = inflate.decompress(input, out, FlushDecompress::Finish);
        (status, usize::try_from(inflate.total_out()).unwrap_or(usize::MAX))
    });
    let status = status.map_err(|error| Error::corrupt(format!("the compressed bytes are damaged: {error}")))?;
    if status != Status::StreamEnd {
        let why = if written >= max_bytes { "more bytes than the chunk holds" } else { "an incomplete stream" };
        return Err(Error::corrupt(why));
    }
    out.truncate(written);
    Ok(())
}

/// Compresses at a level of 0 to 9.
pub(super) fn encode(input: &[u8], level: u32) -> Result<Vec<u8>> {
    if level > 9 {
        return Err(Error::invalid_input(format!("level {level} of deflate: give 0 to 9")));
    }
    let mut compress = Compress::new(Compression::new(level), true);
    let mut out = Vec::with_capacity(input.len() / 2 + 64);
    loop {
        let rest = usize::try_from(compress.total_in()).ok().and_then(|done| input.get(done..));
        let rest = rest.ok_or_else(|| Error::internal("deflate: more bytes were taken than there are"))?;
        let status = compress.compress_vec(rest, &mut out, FlushCompress::Finish);
        match status.map_err(|error| Error::internal(format!("deflate: {error}")))? {
            Status::StreamEnd => return Ok(out),
            _ => out.reserve(input.len() / 2 + 64),
        }
    }
}
