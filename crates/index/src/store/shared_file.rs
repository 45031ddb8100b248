//! Shared file: one file that holds the index files of many small datasets, one after the other.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use hyperslab_array::{Error, Result};
use hyperslab_storage::{Existing, Output};

use super::index_file::{FILE_ALIGNMENT, IndexFileWriter, Row};
use super::index_file_name::{IndexFileName, IndexFilePlace};
use super::manifest::IndexFileEntry;

/// A shared file that is being written; it is created with its first index file.
pub(crate) struct SharedFile {
    folder: PathBuf,
    name: IndexFileName,
    file: Mutex<Option<(Output, u64)>>,
}

impl SharedFile {
    /// A file in the sidecar `folder`. `is_local` if this process commits it.
    pub fn new(folder: &Path, is_local: bool) -> Self {
        Self { folder: folder.to_path_buf(), name: IndexFileName::generate(is_local), file: Mutex::default() }
    }

    /// Appends an index file of `rows`, whose blocks have `ndim` dimensions. `build` is the build of the dataset's index.
    pub fn add(&self, ndim: usize, rows: &[Row], build: u64) -> Result<IndexFileEntry> {
        let bytes = IndexFileWriter::in_memory(ndim, rows)?;
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        if file.is_none() {
            std::fs::create_dir_all(&self.folder).map_err(|error| Error::from(error).in_file(self.folder.display().to_string()))?;
            *file = Some((Output::create_own(self.name.path_in(&self.folder))?, 0));
        }
        let (output, end) = file.as_mut().ok_or_else(|| Error::internal("a shared index file was not created"))?;
        let offset = end.next_multiple_of(FILE_ALIGNMENT);
        output.write_at(offset, &bytes)?;
        *end = offset + bytes.len() as u64;
        Ok(IndexFileEntry { place: IndexFilePlace::Sidecar(self.name.clone()), offset, bytes: bytes.len() as u64, blocks: rows.len() as u64, build })
    }

    /// Syncs the file and gives it its name.
    pub fn finish(self) -> Result<()> {
        match self.file.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some((output, length)) => output.publish(length, Existing::Keep),
            None => Ok(()),
        }
    }
}
