//! Fuse: one ordinary file out of a master and its subfiles.

use std::path::Path;

use hyperslab_array::{Cancellation, Result};
use hyperslab_storage::Existing;

use crate::file::copy_objects::copy_objects;
use crate::file::dataset_copy::CopyCounts;
use crate::file::file_writer::FileWriter;
use crate::file::reading_session::reading_session;

/// What fusing did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Fused {
    /// Length of the file.
    pub bytes: u64,
    /// Chunks that were copied as they were stored.
    pub copied_chunks: u64,
    /// Bytes of values that were decoded and encoded again.
    pub reencoded_bytes: u64,
}

/// Writes what the container at `master` shows into one file called `target`. `progress` hears how many bytes of
/// values are done, of how many.
pub fn fuse(master: &Path, target: &Path, existing: Existing, cancellation: &Cancellation, progress: &mut dyn FnMut(u64, u64)) -> Result<Fused> {
    let session = reading_session()?;
    let file = session.open(master)?;
    let mut counts = CopyCounts::default();
    let mut out = FileWriter::create(target, existing, None, &session)?;
    copy_objects(&file, &mut out, cancellation, &mut counts, false, progress)?;
    Ok(Fused { bytes: out.finish(existing)?, copied_chunks: counts.copied_chunks, reencoded_bytes: counts.reencoded_bytes })
}
