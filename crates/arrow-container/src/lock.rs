//! Locks that a panic elsewhere does not poison.

use std::sync::{Mutex, MutexGuard};

/// Locks without fear of a panic elsewhere: what a lock guards is whole between any two statements here.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}
