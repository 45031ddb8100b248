//! Keeps the files of a generation while readers have it open: each holds a shared lock on the file of its links.

use std::fs::{File, TryLockError};
use std::path::Path;

use super::writer_lock::{is_same, uses_locks};
use crate::error::{Result, error};
use crate::files::regular::open_named;

/// Holds the generation whose links are at `path`, until the result is dropped. `None` if locks are switched off or the file system
/// has none.
///
/// # Errors
/// If the generation was replaced meanwhile.
pub fn hold(path: &Path) -> Result<Option<File>> {
    if !uses_locks() {
        return Ok(None);
    }
    let replaced = || error!("{} was replaced while it was read", path.display());
    let file = open_named(path).map_err(|error| replaced().with_source(error))?;
    match file.try_lock_shared() {
        // A writer removes it at this moment.
        Err(TryLockError::WouldBlock) => Err(replaced()),
        Err(TryLockError::Error(_)) => Ok(None),
        Ok(()) if is_same(&file, path) => Ok(Some(file)),
        Ok(()) => Err(replaced()),
    }
}

/// Locks a generation that no reader has open, so that none opens it until the result is dropped. `None` if one has it open.
pub(crate) fn without_readers(path: &Path) -> Option<Option<File>> {
    let Ok(file) = open_named(path) else { return Some(None) };
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => None,
        Err(TryLockError::Error(_)) => Some(None),
        Ok(()) => Some(Some(file)),
    }
}
