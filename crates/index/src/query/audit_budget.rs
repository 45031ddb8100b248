//! How much time a session may spend on audits.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use hyperslab_array::Result;

/// Audits take at most this fraction of the time since the session began, beyond the first ones.
const MAX_SHARE: u64 = 50;
/// Number of audits that decode chunks before the time is looked at.
const FREE_COSTLY_AUDITS: u64 = 16;

/// How much time a session has spent on audits.
pub(crate) struct AuditBudget {
    since: Instant,
    nanoseconds: AtomicU64,
    costly: AtomicU64,
}

impl Default for AuditBudget {
    fn default() -> Self {
        Self { since: Instant::now(), nanoseconds: AtomicU64::new(0), costly: AtomicU64::new(0) }
    }
}

impl AuditBudget {
    /// Runs an audit if there is time for it. `is_first`: the first one of its dataset.
    pub fn spend(&self, is_first: bool, is_costly: bool, audit: impl FnOnce() -> Result<()>) -> Result<()> {
        let is_free = is_first && (!is_costly || self.costly.fetch_add(1, Ordering::Relaxed) < FREE_COSTLY_AUDITS);
        let nanoseconds = |since: Instant| u64::try_from(since.elapsed().as_nanos()).unwrap_or(u64::MAX);
        if !is_free && self.nanoseconds.load(Ordering::Relaxed).saturating_mul(MAX_SHARE) > nanoseconds(self.since) {
            return Ok(());
        }
        let begin = Instant::now();
        let outcome = audit();
        self.nanoseconds.fetch_add(nanoseconds(begin), Ordering::Relaxed);
        outcome
    }
}
