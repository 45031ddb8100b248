//! Pool: which parked files of this process are in memory. Those that were not used lately make room for others.

use std::collections::VecDeque;
use std::sync::{Arc, LazyLock, Weak};

use hyperslab_storage::ForkMutex;

/// From this number of files on that are opened together, they are parked: opening a few thousand again would cost more than their memory.
pub(crate) const MIN_PARKED: usize = 4096;
/// Most parked files that are in memory.
pub(super) const MAX_OPEN: usize = 1024;

/// A file that can be dropped from memory.
pub(super) trait Park: Send + Sync {
    /// Drops what is in memory.
    fn park(&self);
    /// Whether it was used since the last call.
    fn take_used(&self) -> bool;
}

static POOL: LazyLock<ForkMutex<Pool>> = LazyLock::new(ForkMutex::default);

/// Counts a file that was opened again, and parks others if there are too many now. In a child that was forked while a thread of its parent
/// held the lock, files stay in memory.
pub(super) fn admit(file: &Arc<dyn Park>) {
    if let Some(mut pool) = POOL.lock() {
        pool.admit(file, MAX_OPEN);
    }
}

/// Files in the order in which they were opened, or found to be in use (a clock, as in page caches).
#[derive(Default)]
struct Pool {
    files: VecDeque<Weak<dyn Park>>,
}

impl Pool {
    fn admit(&mut self, file: &Arc<dyn Park>, max_open: usize) {
        self.files.push_back(Arc::downgrade(file));
        // Twice around: the first turn may find each of them used.
        let mut left = 2 * self.files.len();
        while self.files.len() > max_open && left > 0 {
            left -= 1;
            let Some(oldest) = self.files.pop_front() else { break };
            let Some(known) = oldest.upgrade() else { continue };
            if known.take_used() {
                self.files.push_back(oldest);
            } else {
                known.park();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    #[derive(Default)]
    struct Known {
        is_used: AtomicBool,
        is_parked: AtomicBool,
    }

    impl Park for Known {
        fn park(&self) {
            self.is_parked.store(true, Ordering::Relaxed);
        }
        fn take_used(&self) -> bool {
            self.is_used.swap(false, Ordering::Relaxed)
        }
    }

    #[test]
    fn files_not_used_lately_are_parked_first() {
        let files: Vec<Arc<Known>> = (0..6).map(|_| Arc::default()).collect();
        let mut pool = Pool::default();
        let mut admit = |index: usize| pool.admit(&(files[index].clone() as Arc<dyn Park>), 4);
        (0..4).for_each(&mut admit);
        files[0].is_used.store(true, Ordering::Relaxed);
        (4..6).for_each(&mut admit);
        let parked: Vec<bool> = files.iter().map(|file| file.is_parked.load(Ordering::Relaxed)).collect();
        assert_eq!(parked, [false, true, true, false, false, false]);
    }

    #[test]
    fn one_file_stays_even_if_all_were_used() {
        let files: Vec<Arc<Known>> = (0..3).map(|_| Arc::default()).collect();
        let mut pool = Pool::default();
        for file in &files {
            file.is_used.store(true, Ordering::Relaxed);
            pool.admit(&(file.clone() as Arc<dyn Park>), 1);
        }
        assert_eq!(pool.files.len(), 1);
    }
}
