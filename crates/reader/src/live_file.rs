//! Files that a writer changes while they are read (SWMR): metadata read in the middle of a change is read again.

use std::time::Duration;

use hyperslab_array::Result;
use hyperslab_formats::hdf5;
use hyperslab_storage::Storage;

/// How often a file is read anew whose writer (SWMR) was in the middle of a change, and how long to wait.
const MAX_TRIES: u32 = 50;
const BETWEEN_TRIES: Duration = Duration::from_millis(2);

/// The outcome of `attempt`, made anew as long as it `is_torn`: seen in the middle of a writer's change.
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

/// Whether a writer has the file open; what cannot tell is not being written.
pub(crate) fn being_written(storage: &dyn Storage) -> bool {
    hdf5::is_being_written(storage).unwrap_or(false)
}
