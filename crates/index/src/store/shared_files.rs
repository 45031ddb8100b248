//! Shared segments: one file that the segments of many small datasets are written to, one after the other.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use hyperslab_array::{Error, Result};
use hyperslab_storage::{Existing, Output};

use super::embedded::ALIGNED;
use super::index_file::{Row, SegmentWriter};
use super::manifest::SegmentName;
use super::sweep::segment_name;

/// A file of segments that is being written; it begins with the first segment.
pub(crate) struct SharedSegments {
    folder: PathBuf,
    name: String,
    file: Mutex<Option<(Output, u64)>>,
}

impl SharedSegments {
    /// A file in `folder`, a sidecar; `is_local` if this process commits it.
    pub fn new(folder: &Path, is_local: bool) -> Self {
        Self { folder: folder.to_path_buf(), name: segment_name(is_local), file: Mutex::default() }
    }

    /// Appends a segment of `rows`, of blocks with `ndim` dimensions, of this `build` of a dataset's index.
    pub fn add(&self, ndim: usize, rows: &[Row], build: u64) -> Result<SegmentName> {
        let bytes = SegmentWriter::in_memory(ndim, rows)?;
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        if file.is_none() {
            std::fs::create_dir_all(&self.folder).map_err(|error| Error::from(error).in_file(self.folder.display().to_string()))?;
            *file = Some((Output::create_own(self.folder.join(&self.name))?, 0));
        }
        let (output, end) = file.as_mut().ok_or_else(|| Error::internal("no file of segments"))?;
        let offset = end.next_multiple_of(ALIGNED);
        output.write_at(offset, &bytes)?;
        *end = offset + bytes.len() as u64;
        Ok(SegmentName { name: self.name.clone(), offset, bytes: bytes.len() as u64, blocks: rows.len() as u64, build })
    }

    /// Ends the file, waits until it is on the disk, and gives it its name.
    pub fn finish(self) -> Result<()> {
        match self.file.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some((output, length)) => output.publish(length, Existing::Keep),
            None => Ok(()),
        }
    }
}
