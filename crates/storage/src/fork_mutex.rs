//! A mutex that gives up after some time. A forked child inherits its parent's locks, but not the threads that would release
//! them.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, TryLockError};
use std::time::Duration;

/// Attempts without and with a pause: together far longer than any of these locks is held.
const YIELDS: u32 = 1_000;
const PAUSES: u32 = 200;
const PAUSE: Duration = Duration::from_millis(1);

/// A mutex around a cache that can be done without.
#[derive(Debug, Default)]
pub struct ForkMutex<T> {
    mutex: Mutex<T>,
    /// Whether an attempt has failed for long.
    is_abandoned: AtomicBool,
}

impl<T> ForkMutex<T> {
    /// Around `value`.
    pub fn new(value: T) -> Self {
        Self { mutex: Mutex::new(value), is_abandoned: AtomicBool::new(false) }
    }

    /// The value. `None` in a process that was forked while another thread held the lock.
    pub fn lock(&self) -> Option<MutexGuard<'_, T>> {
        for turn in 0..YIELDS + PAUSES {
            match self.mutex.try_lock() {
                Ok(value) => return Some(value),
                Err(TryLockError::Poisoned(poisoned)) => return Some(poisoned.into_inner()),
                Err(TryLockError::WouldBlock) if self.is_abandoned.load(Ordering::Relaxed) => return None,
                Err(TryLockError::WouldBlock) if turn < YIELDS => std::thread::yield_now(),
                Err(TryLockError::WouldBlock) => std::thread::sleep(PAUSE),
            }
        }
        self.is_abandoned.store(true, Ordering::Relaxed);
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_that_is_never_released_is_given_up() {
        let cache = ForkMutex::new(1);
        let held = cache.lock();
        assert!(cache.lock().is_none(), "as in a forked child");
        let start = std::time::Instant::now();
        assert!(cache.lock().is_none() && start.elapsed() < Duration::from_millis(100), "waited for once");
        drop(held);
        assert_eq!(cache.lock().as_deref(), Some(&1));
    }
}
