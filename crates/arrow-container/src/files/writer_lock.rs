//! One writer of a container at a time, and what a writer left that was killed.

use std::fs::{File, TryLockError};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::error::{Result, error};

/// Whether two open files, or an open file and a path, are the same.
fn is_same(file: &File, path: &Path) -> bool {
    let id = |metadata: std::fs::Metadata| (metadata.dev(), metadata.ino());
    matches!((file.metadata().map(id), std::fs::metadata(path).map(id)), (Ok(one), Ok(other)) if one == other)
}

/// Takes the lock of a folder or a file, which holds as long as the result lives; `None` where there are no locks.
pub(crate) fn write_lock(path: &Path) -> Result<Option<File>> {
    if std::env::var("HDF5_USE_FILE_LOCKING").is_ok_and(|value| matches!(value.as_str(), "FALSE" | "0")) {
        return Ok(None);
    }
    loop {
        let file = File::open(path)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(error!("{} is open for writing in another process; close it there, or set HDF5_USE_FILE_LOCKING=FALSE", path.display()));
            }
            // A file system without locks.
            Err(TryLockError::Error(_)) => return Ok(None),
        }
        // Who published in between has put another file there, and this lock is of the old one.
        if is_same(&file, path) {
            return Ok(Some(file));
        }
    }
}

/// Whether this process may change what is at a path: rights, and file systems that are for reading.
pub(crate) fn check_writable(path: &Path) -> std::io::Result<()> {
    Ok(rustix::fs::access(path, rustix::fs::Access::WRITE_OK)?)
}

fn is_digits(text: &str) -> bool {
    text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Removes what a writer left in a folder that was killed under way. Only who holds the lock may, before it writes
/// itself.
pub(crate) fn remove_leftovers(folder: &Path) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        if name.to_str().and_then(|name| name.strip_prefix('.')?.strip_suffix(".part")).is_some_and(is_digits) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// As [`remove_abandoned`], of what lies beside the one file.
pub(crate) fn remove_leftovers_next_to(path: &Path) {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name().and_then(|name| name.to_str())) else { return };
    let Ok(entries) = std::fs::read_dir(parent) else { return };
    for entry in entries.flatten() {
        let found = entry.file_name();
        let rest = found.to_str().and_then(|found| found.strip_prefix('.')?.strip_prefix(name)?.strip_prefix('.'));
        match rest.and_then(|rest| rest.split_once('.')) {
            Some((digits, "part")) if is_digits(digits) => drop(std::fs::remove_file(entry.path())),
            Some((digits, "open")) if is_digits(digits) => drop(std::fs::remove_dir_all(entry.path())),
            _ => {}
        }
    }
}
