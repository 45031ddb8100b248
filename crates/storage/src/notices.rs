//! Notices: what users must hear although their read succeeds. Bindings show them as warnings.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

/// Maximum number of notices kept until they are taken.
const MAX_NOTICES: usize = 100;

/// Notices of one kind that wait to be taken.
#[derive(Debug, Default)]
pub struct Notices {
    any: AtomicBool,
    waiting: Mutex<Vec<String>>,
}

impl Notices {
    /// No notices.
    pub const fn new() -> Self {
        Self { any: AtomicBool::new(false), waiting: Mutex::new(Vec::new()) }
    }

    /// Adds a notice.
    pub fn add(&self, notice: String) {
        // A forked child must not wait for a lock that a thread of its parent holds.
        if let Ok(mut waiting) = self.waiting.try_lock()
            && waiting.len() < MAX_NOTICES
            && !waiting.contains(&notice)
        {
            waiting.push(notice);
            self.any.store(true, Ordering::Release);
        }
    }

    /// Takes the notices that were added since the last call.
    pub fn take(&self) -> Vec<String> {
        if !self.any.load(Ordering::Acquire) {
            return Vec::new();
        }
        let Ok(mut waiting) = self.waiting.try_lock() else { return Vec::new() };
        self.any.store(false, Ordering::Release);
        std::mem::take(&mut *waiting)
    }
}

static OF_CACHE: Notices = Notices::new();

/// Adds a notice about the cache on disk or a chunk index.
pub(crate) fn add_of_cache(notice: String) {
    OF_CACHE.add(notice);
}

/// Takes the notices of this process about the cache on disk and chunk indexes since the last call: what is not used, and why.
pub fn take_cache_notices() -> Vec<String> {
    OF_CACHE.take()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_notice_waits_once_until_it_is_taken() {
        let notices = Notices::new();
        assert!(notices.take().is_empty());
        for text in ["a", "b", "a"] {
            notices.add(text.to_owned());
        }
        assert_eq!(notices.take(), ["a", "b"]);
        assert!(notices.take().is_empty());
        (0..2 * MAX_NOTICES).for_each(|number| notices.add(number.to_string()));
        assert_eq!(notices.take().len(), MAX_NOTICES);
    }
}
