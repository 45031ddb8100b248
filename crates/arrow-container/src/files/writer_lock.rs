//! Admits one writer of a container at a time, and removes leftover files of a killed writer.

use std::fs::{File, TryLockError};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::error::{Result, error};

/// Whether an open file is still the one at `path`.
pub(super) fn is_same(file: &File, path: &Path) -> bool {
    let id = |metadata: std::fs::Metadata| (metadata.dev(), metadata.ino());
    matches!((file.metadata().map(id), std::fs::metadata(path).map(id)), (Ok(one), Ok(other)) if one == other)
}

/// Whether files are locked. HDF5's variable switches locks off.
pub(super) fn uses_locks() -> bool {
    !std::env::var("HDF5_USE_FILE_LOCKING").is_ok_and(|value| matches!(value.as_str(), "FALSE" | "0"))
}

/// Locks a folder or file for writing, until the result is dropped. `None` if locks are switched off or the file system
/// has none.
///
/// # Errors
/// If another process holds the lock.
pub(crate) fn write_lock(path: &Path) -> Result<Option<File>> {
    if !uses_locks() {
        return Ok(None);
    }
    loop {
        let file = File::open(path)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(error!("{} is open for writing in another process; close it there, or set HDF5_USE_FILE_LOCKING=FALSE", path.display()));
            }
            // The file system has no locks.
            Err(TryLockError::Error(_)) => return Ok(None),
        }
        // If another process published in between, the path names a new file, and this lock is on the old one.
        if is_same(&file, path) {
            return Ok(Some(file));
        }
    }
}

/// Checks that this process may write to a path: permissions, and file systems that are mounted read-only.
pub(crate) fn check_writable(path: &Path) -> std::io::Result<()> {
    Ok(rustix::fs::access(path, rustix::fs::Access::WRITE_OK)?)
}

fn is_digits(text: &str) -> bool {
    text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Removes temporary files that a killed writer left in a folder. Only the holder of the lock may call this, before it
/// writes itself.
pub(crate) fn remove_leftovers(folder: &Path) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        if name.to_str().and_then(|name| name.strip_prefix('.')?.strip_suffix(".part")).is_some_and(is_digits) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// As [`remove_leftovers`], for temporary files and folders next to an archive, but not the folder `kept`.
pub(crate) fn remove_leftovers_next_to(path: &Path, kept: Option<&Path>) {
    for file in next_to(path, "part") {
        drop(std::fs::remove_file(file));
    }
    for folder in folders_next_to(path).iter().filter(|folder| Some(folder.as_path()) != kept) {
        drop(std::fs::remove_dir_all(folder));
    }
}

/// The folders next to an archive in which writers keep what they have not put into it yet.
pub(crate) fn folders_next_to(path: &Path) -> Vec<PathBuf> {
    next_to(path, "open")
}

/// The temporary files or folders with this ending next to an archive.
fn next_to(path: &Path, ending: &str) -> Vec<PathBuf> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name().and_then(|name| name.to_str())) else { return Vec::new() };
    let Ok(entries) = std::fs::read_dir(parent) else { return Vec::new() };
    let is_temporary = |found: &str| {
        let rest = found.strip_prefix('.').and_then(|found| found.strip_prefix(name)?.strip_prefix('.'));
        rest.and_then(|rest| rest.split_once('.')).is_some_and(|(digits, found)| found == ending && is_digits(digits))
    };
    entries.flatten().filter(|entry| entry.file_name().to_str().is_some_and(is_temporary)).map(|entry| entry.path()).collect()
}
