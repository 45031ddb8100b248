//! Files that a writer changes while they are read (SWMR): metadata read during a change is read again.

use std::path::Path;
use std::time::Duration;

use hyperslab_array::{Error, ErrorKind, Result};
use hyperslab_formats::hdf5;
use hyperslab_storage::Storage;

/// How often metadata is read again if a writer (SWMR) was changing it, and the pause between attempts.
const MAX_TRIES: u32 = 50;
const BETWEEN_TRIES: Duration = Duration::from_millis(2);

/// The outcome of `attempt`, which is repeated while it `is_torn`: read during a writer's change.
pub(crate) fn retry_while_torn<T>(mut attempt: impl FnMut() -> Result<T>, is_torn: impl Fn(&T) -> bool) -> Result<T> {
    for _ in 1..MAX_TRIES {
        let outcome = attempt()?;
        if !is_torn(&outcome) {
            return Ok(outcome);
        }
        std::thread::sleep(BETWEEN_TRIES);
    }
    attempt()
}

/// Whether a writer has the file open (SWMR); `false` if that cannot be determined.
pub(crate) fn being_written(storage: &dyn Storage) -> bool {
    hdf5::is_being_written(storage).unwrap_or(false)
}

/// `error`, or the one for a file that is inconsistent because it is being written, not damaged.
pub(crate) fn unfinished_if_locked(path: &Path, error: Error) -> Error {
    if error.kind() == ErrorKind::Corrupt && is_locked(path) { unfinished(&error) } else { error }
}

/// Whether another program, or another handle in this process, has locked the file for writing, as the HDF5 library does.
pub(crate) fn is_locked(path: &Path) -> bool {
    let Ok(file) = std::fs::File::open(path) else { return false };
    matches!(file.try_lock_shared(), Err(std::fs::TryLockError::WouldBlock))
}

/// The error for a file that is inconsistent because it is being written, not damaged.
fn unfinished(error: &Error) -> Error {
    let message = format!("the file is open for writing elsewhere, and not complete on the disk: close or flush it there first ({})", error.message());
    let named = Error::busy(message);
    match error.file() {
        Some(file) => named.in_file(file),
        None => named,
    }
}
