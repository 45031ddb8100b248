//! Descriptor pool: the descriptors of this process that can be opened again. If there are more than half as many as the
//! process may have open, those that were not used lately are closed.

use std::collections::VecDeque;
use std::sync::{Arc, LazyLock, Weak};

use crate::ForkMutex;
use crate::descriptor::Descriptor;

/// Descriptors that are kept open however few the process may have.
const MIN_OPEN: usize = 16;

static POOL: LazyLock<ForkMutex<Pool>> = LazyLock::new(ForkMutex::default);

/// How many files this process may have open at once.
pub fn max_open_files() -> usize {
    let allowed = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    allowed.and_then(|allowed| usize::try_from(allowed).ok()).unwrap_or(usize::MAX)
}

/// Counts an open descriptor, and parks others if there are too many now. A forked child may find the pool locked by a thread
/// that it does not have: then its descriptors stay open.
pub(crate) fn admit(descriptor: &Arc<Descriptor>) {
    let max_open = (max_open_files() / 2).max(MIN_OPEN);
    if let Some(mut pool) = POOL.lock() {
        pool.admit(descriptor, max_open);
    }
}

/// Parks all descriptors that no thread uses at the moment, since the process cannot open any more files.
pub(crate) fn park_all() {
    if let Some(mut pool) = POOL.lock() {
        pool.descriptors.retain(|known| known.upgrade().is_some_and(|descriptor| !descriptor.park()));
    }
}

/// Open descriptors in the order in which they were opened, or found to be in use (a clock, as in page caches).
#[derive(Debug, Default)]
struct Pool {
    descriptors: VecDeque<Weak<Descriptor>>,
    /// Number of descriptors left after the last removal of dropped files' descriptors, and number admitted since.
    kept: usize,
    admitted: usize,
}

impl Pool {
    fn admit(&mut self, descriptor: &Arc<Descriptor>, max_open: usize) {
        self.descriptors.push_back(Arc::downgrade(descriptor));
        self.admitted += 1;
        // Looking at all of them is amortized over the admissions.
        if self.admitted > self.kept.max(MIN_OPEN) || (self.descriptors.len() > max_open && self.admitted > max_open / 4) {
            self.descriptors.retain(|known| known.strong_count() > 0);
            (self.kept, self.admitted) = (self.descriptors.len(), 0);
        }
        // Twice around: the first turn may find each of them used.
        let mut left = 2 * self.descriptors.len();
        while self.descriptors.len() > max_open && left > 0 {
            left -= 1;
            let Some(oldest) = self.descriptors.pop_front() else { break };
            let Some(known) = oldest.upgrade() else { continue };
            if known.take_used() || !known.park() {
                self.descriptors.push_back(oldest);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;

    fn opened() -> std::io::Result<Arc<Descriptor>> {
        Ok(Arc::new(Descriptor::new(File::open("/dev/zero")?)))
    }

    #[test]
    fn those_not_used_lately_are_parked_first() -> std::io::Result<()> {
        let mut pool = Pool::default();
        let known: Vec<_> = (0..4).map(|_| opened()).collect::<std::io::Result<_>>()?;
        known.iter().for_each(|descriptor| pool.admit(descriptor, 4));
        assert!(known.iter().all(|descriptor| !descriptor.is_none()));
        known[0].with(|_| ());
        let other = opened()?;
        pool.admit(&other, 4);
        assert_eq!(known.iter().map(|descriptor| descriptor.is_none()).collect::<Vec<_>>(), [false, true, false, false]);
        assert!(!other.is_none());
        Ok(())
    }

    #[test]
    fn a_descriptor_in_use_is_not_parked() -> std::io::Result<()> {
        let mut pool = Pool::default();
        let (busy, idle) = (opened()?, opened()?);
        pool.admit(&busy, 1);
        busy.with(|_| pool.admit(&idle, 1));
        assert!(!busy.is_none() && idle.is_none());
        Ok(())
    }

    #[test]
    fn descriptors_that_are_gone_take_no_place() -> std::io::Result<()> {
        let mut pool = Pool::default();
        let kept = opened()?;
        pool.admit(&kept, 2);
        for _ in 0..1000 {
            pool.admit(&opened()?, 2);
        }
        assert!(!kept.is_none(), "only what is still there counts");
        assert!(pool.descriptors.len() <= 3);
        Ok(())
    }
}
