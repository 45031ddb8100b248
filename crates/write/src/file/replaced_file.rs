//! The file whose place one under way takes: locked meanwhile, and checked for changes in the end.

use std::fs::{File as Handle, Metadata, TryLockError};
use std::path::{Path, PathBuf};

use hyperslab_array::{Error, ErrorKind, Result};
use hyperslab_storage::{modified, open_regular};

/// The file whose place is to be taken, which stays as it is until then.
#[derive(Debug)]
pub(crate) struct ReplacedFile {
    path: PathBuf,
    /// Keeps the lock.
    _locked: Handle,
    bytes: u64,
    modified: Option<u64>,
}

fn changed(path: &Path) -> Error {
    Error::new(ErrorKind::Conflict, "the file was changed by another writer while it was appended to: nothing was written, try again").in_file(path.display().to_string())
}

impl ReplacedFile {
    /// Locks the file as the HDF5 library locks a file that it writes to.
    pub fn lock(path: &Path) -> Result<Self> {
        let shown = || path.display().to_string();
        let failed = |error: std::io::Error| Error::from(error).in_file(shown());
        let locked = open_regular(path).map_err(failed)?;
        match locked.try_lock() {
            // A file system without locks: that the file did not change is checked in the end all the same.
            Ok(()) | Err(TryLockError::Error(_)) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(Error::new(ErrorKind::Conflict, "another program has the file open and locked: append when it is closed").in_file(shown()));
            }
        }
        let metadata = locked.metadata().map_err(failed)?;
        let base = Self { path: path.to_path_buf(), _locked: locked, bytes: metadata.len(), modified: modified(&metadata) };
        base.check()?;
        Ok(base)
    }

    /// `Conflict` if the file is another one by now.
    pub fn check(&self) -> Result<()> {
        let same = |metadata: Metadata| metadata.len() == self.bytes && modified(&metadata) == self.modified;
        if std::fs::metadata(&self.path).is_ok_and(same) { Ok(()) } else { Err(changed(&self.path)) }
    }
}
