//! The existing file that a writer replaces: locked meanwhile, and checked for changes at the end.

use std::fs::{Metadata, TryLockError};
use std::path::{Path, PathBuf};

use hyperslab_array::{Error, ErrorKind, Result};
use hyperslab_storage::{LockedFile, modified, open_regular};

/// An existing file that is about to be replaced. It is unchanged until then.
#[derive(Debug)]
pub(crate) struct ReplacedFile {
    path: PathBuf,
    /// Holds the lock.
    _locked: LockedFile,
    bytes: u64,
    modified: Option<u64>,
}

fn changed(path: &Path) -> Error {
    Error::new(ErrorKind::Conflict, "the file was changed by another writer while it was appended to: nothing was written, try again")
        .in_file(path.display().to_string())
}

impl ReplacedFile {
    /// Locks the file the way the HDF5 library locks files that it writes.
    pub fn lock(path: &Path) -> Result<Self> {
        let shown = || path.display().to_string();
        let failed = |error: std::io::Error| Error::from(error).in_file(shown());
        let locked = open_regular(path).map_err(failed)?;
        match locked.try_lock() {
            // On a file system without locks, `check` still finds changes at the end.
            Ok(()) | Err(TryLockError::Error(_)) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(Error::busy("another program has the file open and locked: append when it is closed").in_file(shown()));
            }
        }
        let metadata = locked.metadata().map_err(failed)?;
        let base = Self { path: path.to_path_buf(), _locked: LockedFile::new(locked), bytes: metadata.len(), modified: modified(&metadata) };
        base.check()?;
        Ok(base)
    }

    /// Returns `Conflict` if the file has changed since it was locked.
    pub fn check(&self) -> Result<()> {
        let same = |metadata: Metadata| metadata.len() == self.bytes && modified(&metadata) == self.modified;
        if std::fs::metadata(&self.path).is_ok_and(same) { Ok(()) } else { Err(changed(&self.path)) }
    }
}
