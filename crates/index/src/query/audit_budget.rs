//! How much time audits may take: first ones of an index are made at once, all others share a fraction of the process's time.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Instant;

use hyperslab_array::Result;

/// Audits other than first ones take at most 1/50 of the time since the process's first audit.
const TIME_PER_AUDIT_TIME: i64 = 50;
/// Maximum time without queries that counts, in nanoseconds, so that the first queries after a pause are not all audited.
const MAX_SAVED_TIME: i64 = 1_000_000_000;
/// Time that an audit is taken to need while it runs: others do not begin meanwhile.
const RESERVED_TIME: i64 = 2 * MAX_SAVED_TIME;
/// Number of first audits of a session that may decode chunks whatever they take.
const MAX_FREE_COSTLY_AUDITS: u64 = 16;

static PROCESS: AuditTime = AuditTime { paid_until: AtomicI64::new(0) };

/// Which audits a session has made that are not counted against the process's time.
#[derive(Default)]
pub(crate) struct AuditBudget {
    costly: AtomicU64,
}

/// The time of a process that its audits have used up. Times are in nanoseconds since its first audit.
struct AuditTime {
    /// Until then, no further audit begins.
    paid_until: AtomicI64,
}

/// Nanoseconds since the process's first audit.
fn now() -> i64 {
    static FIRST: OnceLock<Instant> = OnceLock::new();
    nanoseconds(*FIRST.get_or_init(Instant::now))
}

fn nanoseconds(since: Instant) -> i64 {
    i64::try_from(since.elapsed().as_nanos()).unwrap_or(i64::MAX)
}

impl AuditTime {
    fn spend(&self, now: i64, time: i64) {
        let _ = self.paid_until.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |until| Some(until.max(now - MAX_SAVED_TIME).saturating_add(time)));
    }

    /// Reserves time for an audit, if there is some.
    fn reserve(&self, now: i64) -> bool {
        let reserve = |until: i64| (until <= now).then(|| until.max(now - MAX_SAVED_TIME) + RESERVED_TIME);
        self.paid_until.fetch_update(Ordering::Relaxed, Ordering::Relaxed, reserve).is_ok()
    }
}

impl AuditBudget {
    /// Runs an audit if there is time for it. `is_first`: the first one of its index in this process.
    pub fn spend(&self, is_first: bool, is_costly: bool, audit: impl FnOnce() -> Result<()>) -> Result<()> {
        let begin = now();
        let is_free = is_first && (!is_costly || self.costly.fetch_add(1, Ordering::Relaxed) < MAX_FREE_COSTLY_AUDITS);
        if !is_free && !PROCESS.reserve(begin) {
            return Ok(());
        }
        let clock = Instant::now();
        let outcome = audit();
        let taken = nanoseconds(clock).saturating_mul(TIME_PER_AUDIT_TIME);
        PROCESS.spend(begin, if is_free { taken } else { taken - RESERVED_TIME });
        outcome
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MILLISECOND: i64 = 1_000_000;

    /// Audits of `cost` that a process makes when a query asks at each of these times; returns the time that they took.
    fn audited(time: &AuditTime, cost: i64, queries: impl Iterator<Item = i64>) -> i64 {
        queries.fold(0, |sum, now| {
            if !time.reserve(now) {
                return sum;
            }
            time.spend(now, cost * TIME_PER_AUDIT_TIME - RESERVED_TIME);
            sum + cost
        })
    }

    #[test]
    fn audits_share_a_fiftieth_of_the_time_of_all_sessions() {
        for cost in [MILLISECOND / 100, MILLISECOND, 20 * MILLISECOND, 300 * MILLISECOND] {
            let time = AuditTime { paid_until: AtomicI64::new(0) };
            let span = 100_000 * MILLISECOND;
            let taken = audited(&time, cost, (0..span / MILLISECOND).map(|query| query * MILLISECOND));
            assert!(taken <= span / TIME_PER_AUDIT_TIME + cost, "{cost}: {taken}");
            assert!(taken >= cost.min(MILLISECOND / 100) * (span / MILLISECOND) / 2, "{cost}: {taken} of {span}");
        }
    }

    #[test]
    fn a_pause_of_hours_saves_no_more_than_a_second() {
        let time = AuditTime { paid_until: AtomicI64::new(0) };
        let later = 10_000_000 * MILLISECOND;
        let taken = audited(&time, MILLISECOND, (0..100_000).map(|query| later + query));
        assert!(taken <= MAX_SAVED_TIME / TIME_PER_AUDIT_TIME + 2 * MILLISECOND, "{taken}");
    }

    #[test]
    fn one_audit_runs_at_a_time() {
        let time = AuditTime { paid_until: AtomicI64::new(0) };
        assert!(time.reserve(5000 * MILLISECOND) && !time.reserve(5000 * MILLISECOND) && !time.reserve(5900 * MILLISECOND));
    }

    #[test]
    fn first_audits_are_always_made_up_to_a_number_that_decodes() -> Result<()> {
        let session = AuditBudget::default();
        let count = AtomicU64::new(0);
        let count_one = || {
            count.fetch_add(1, Ordering::Relaxed);
            Ok(())
        };
        for _ in 0..100 {
            session.spend(true, false, count_one)?;
        }
        assert_eq!(count.swap(0, Ordering::Relaxed), 100);
        // The process's time is used up by an audit of a day.
        PROCESS.spend(now(), 86_400_000 * MILLISECOND);
        for _ in 0..100 {
            session.spend(true, true, count_one)?;
            session.spend(false, false, count_one)?;
        }
        assert_eq!(count.load(Ordering::Relaxed), MAX_FREE_COSTLY_AUDITS);
        Ok(())
    }
}
