//! Folders: the folder of a file, syncing a folder to disk, and a lock on a folder.

use std::fs::File;
use std::path::{Path, PathBuf};

use hyperslab_array::{Error, Result};

use crate::locked_file::LockedFile;

/// The folder that contains `path`; `.` for a bare file name.
pub fn folder_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_path_buf(),
        _ => PathBuf::from("."),
    }
}

/// Waits until the names in a folder are on disk.
pub fn sync_folder(folder: &Path) -> Result<()> {
    let synced = File::open(folder).and_then(|folder| folder.sync_all());
    synced.map_err(|error| Error::io(error, "cannot bring to the disk").in_file(folder.display().to_string()))
}

/// Waits until the name of a complete file is on disk. The error says that the file is in place.
pub fn sync_place(file: &Path) -> Result<()> {
    let synced = File::open(folder_of(file)).and_then(|folder| folder.sync_all());
    synced.map_err(|error| Error::io(error, "the new file is in place, but it is not known to be on the disk").in_file(file.display().to_string()))
}

/// An advisory lock on a folder: at most one process holds it, and it is released when that process ends in any way.
/// Without effect on file systems without locks; on network file systems it may hold for this machine only.
#[derive(Debug)]
pub struct FolderLock(#[expect(dead_code, reason = "the lock lives as long as this")] LockedFile);

impl FolderLock {
    /// Takes the lock without waiting; `Conflict` while another process holds it. Always succeeds on file systems without
    /// locks.
    pub fn take(folder: &Path) -> Result<Self> {
        use rustix::io::Errno;
        let shown = folder.display().to_string();
        let file = File::open(folder).map_err(|error| Error::from(error).in_file(&shown))?;
        match rustix::fs::flock(&file, rustix::fs::FlockOperation::NonBlockingLockExclusive) {
            Ok(()) | Err(Errno::NOSYS | Errno::NOLCK | Errno::OPNOTSUPP | Errno::INVAL | Errno::BADF) => Ok(Self(LockedFile::new(file))),
            Err(Errno::WOULDBLOCK) => Err(Error::busy("another commit is under way: try again").in_file(shown)),
            Err(error) => Err(Error::io(error.into(), "cannot lock").in_file(shown)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Outcome = std::result::Result<(), Box<dyn std::error::Error>>;

    #[test]
    fn a_folder_is_locked_once() -> Outcome {
        let folder = tempfile::tempdir()?;
        let lock = FolderLock::take(folder.path())?;
        assert!(matches!(FolderLock::take(folder.path()), Err(error) if error.retryable()));
        drop(lock);
        FolderLock::take(folder.path())?;
        Ok(())
    }
}
