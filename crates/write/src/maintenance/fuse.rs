//! Fuses a master and its subfiles, or several files, into one ordinary file.

use std::path::Path;

use hyperslab_array::{Cancellation, Result};
use hyperslab_reader::File;
use hyperslab_storage::Existing;

use crate::file::copying::changes::Change;
use crate::file::copying::dataset::CopyCounts;
use crate::file::copying::joined::{Joined, Merging};
use crate::file::copying::objects::{CopyOptions, copy_objects};
use crate::file::copying::user_block::copy_user_block;
use crate::file::file_writer::FileWriter;
use crate::file::reading_session::{reading_session, reading_session_like};

/// Result of [`fuse`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Fused {
    /// Length of the file in bytes.
    pub bytes: u64,
    /// Chunks copied without decoding.
    pub copied_chunks: u64,
    /// Bytes of values that were decoded and re-encoded.
    pub reencoded_bytes: u64,
    /// What is not as it was in the original.
    pub changes: Vec<Change>,
}

impl Fused {
    /// A file of `bytes` bytes that a copy made.
    pub(crate) fn of(bytes: u64, counts: CopyCounts) -> Self {
        Self { bytes, copied_chunks: counts.copied_chunks, reencoded_bytes: counts.reencoded_bytes, changes: counts.changes }
    }
}

/// Copies everything in the container at `master` into one file `target`. `progress` is called with the bytes of values
/// copied so far and the total.
///
/// # Errors
/// `Conflict` if `existing` does not allow `target`; `Unsupported` for virtual datasets whose parts are not boxes; `Io` or
/// `Corrupt` if a file cannot be read or written; `Cancelled`.
pub fn fuse(master: &Path, target: &Path, existing: Existing, cancellation: &Cancellation, progress: &mut dyn FnMut(u64, u64)) -> Result<Fused> {
    fuse_file(&reading_session()?.open(master)?, target, existing, cancellation, progress)
}

/// Copies everything in `file`, which must be open as plain HDF5, and what its virtual datasets show of other files, into one file
/// `target`, a path or an address of a store for which the session of `file` has options. Otherwise as [`fuse`].
///
/// # Errors
/// As of [`fuse`].
pub fn fuse_file(file: &File, target: &Path, existing: Existing, cancellation: &Cancellation, progress: &mut dyn FnMut(u64, u64)) -> Result<Fused> {
    copy_into(file, target, existing, CopyOptions::default(), cancellation, progress)
}

/// Copies everything in `first`, the first of several files, into one file `target`. What `how` names comes from `joined`, which shows all of the
/// files as one. Both must be open as plain HDF5. Otherwise as [`fuse_file`].
///
/// # Errors
/// As of [`fuse`].
pub fn merge_files(
    (first, joined): (&File, &File),
    how: &Merging,
    target: &Path,
    existing: Existing,
    cancellation: &Cancellation,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Fused> {
    let options = CopyOptions { joined: Some(Joined::new(first, joined, how, cancellation)?), ..CopyOptions::default() };
    copy_into(first, target, existing, options, cancellation, progress)
}

fn copy_into(
    file: &File,
    target: &Path,
    existing: Existing,
    mut options: CopyOptions<'_>,
    cancellation: &Cancellation,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Fused> {
    let session = reading_session_like(file.session())?;
    let mut counts = CopyCounts::default();
    let mut out = FileWriter::create(target, existing, None, &session)?;
    out.cancel_with(cancellation);
    let user_block = file.array_file().user_block_bytes();
    out.set_user_block(user_block)?;
    copy_user_block(file, user_block, &mut out)?;
    copy_objects(file, &mut out, cancellation, &mut counts, &mut options, progress)?;
    Ok(Fused::of(out.finish(existing)?, counts))
}
