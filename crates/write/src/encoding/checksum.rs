//! Checksums of a file in pieces, so that damage can be located.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use hyperslab_array::{Error, Result};
use rayon::prelude::*;

/// Bytes per checksum.
pub(crate) const PIECE_BYTES: u64 = 16 << 20;
/// Bytes read at a time.
const READ_BYTES: usize = 1 << 20;

/// CRC-32 of each piece of 16 MiB; the last piece may be shorter.
pub(crate) fn of_file(path: &Path) -> Result<Vec<u32>> {
    let failed = |error: std::io::Error| Error::from(error).in_file(path.display().to_string());
    let file = File::open(path).map_err(failed)?;
    let length = file.metadata().map_err(failed)?.len();
    let piece = |index: u64| {
        let (mut at, end) = (index * PIECE_BYTES, index.saturating_add(1).saturating_mul(PIECE_BYTES).min(length));
        let mut hasher = crc32fast::Hasher::new();
        let remaining = |at: u64| usize::try_from(end - at).unwrap_or(usize::MAX);
        let mut buffer = vec![0; READ_BYTES.min(remaining(at))];
        while at < end {
            let count = remaining(at).min(buffer.len());
            let part = buffer.get_mut(..count).ok_or_else(|| Error::internal("a piece larger than its buffer"))?;
            file.read_exact_at(part, at).map_err(failed)?;
            hasher.update(part);
            at += count as u64;
        }
        Ok(hasher.finalize())
    };
    (0..length.div_ceil(PIECE_BYTES)).into_par_iter().map(piece).collect()
}

/// Offset of each piece whose checksum differs from the expected one.
pub(crate) fn damaged(path: &Path, expected: &[u32]) -> Result<Vec<u64>> {
    let found = of_file(path)?;
    let pieces = found.len().max(expected.len());
    Ok((0..pieces).filter(|piece| found.get(*piece) != expected.get(*piece)).map(|piece| piece as u64 * PIECE_BYTES).collect())
}
