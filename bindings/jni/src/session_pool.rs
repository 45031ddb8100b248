//! Session pool: reuses sessions, so that a task that reads many small files starts its decoding threads once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hyperslab::{Result, Session};

use crate::native_files::RemoteCounters;
use crate::request::SessionRequest;

/// Maximum number of idle sessions in the pool. More concurrent readers than this are rare.
const MAX_IDLE: usize = 64;

/// Number of the counters of a session.
pub(crate) const COUNTERS: usize = 8;

static IDLE: Mutex<Option<HashMap<String, Vec<Counted>>>> = Mutex::new(None);

fn idle() -> MutexGuard<'static, Option<HashMap<String, Vec<Counted>>>> {
    IDLE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A session with what its files of Java have cost.
#[derive(Clone)]
struct Counted {
    session: Session,
    remote: Arc<RemoteCounters>,
}

/// A session from the pool for one reader. Dropping it returns the session to the pool.
pub(crate) struct PooledSession {
    options: String,
    counted: Counted,
    before: [u64; COUNTERS],
}

impl PooledSession {
    /// Takes an idle session with these options (JSON) from the pool, or creates one.
    pub fn new(options: String) -> Result<Self> {
        let pooled = idle().as_mut().and_then(|idle| idle.get_mut(&options)?.pop());
        let counted = match pooled {
            Some(counted) => counted,
            None => {
                let remote = Arc::<RemoteCounters>::default();
                Counted { session: SessionRequest::parse(&options)?.counted_session(remote.clone())?, remote }
            }
        };
        let before = counters_of(&counted);
        Ok(Self { options, counted, before })
    }
    /// The session.
    pub fn session(&self) -> &Session {
        &self.counted.session
    }
    /// Bytes read, chunks decoded, nanoseconds in filters, chunks skipped, requests of remote files, bytes that these brought, parts of chunks that
    /// were inflated from restart points, and bytes that need not be inflated because of that, since the session was taken from the pool.
    pub fn counters(&self) -> [u64; COUNTERS] {
        let mut now = counters_of(&self.counted);
        for (now, before) in now.iter_mut().zip(self.before) {
            *now = now.saturating_sub(before);
        }
        now
    }
}

fn counters_of(counted: &Counted) -> [u64; COUNTERS] {
    let counters = counted.session.counters();
    let [requests, bytes] = counted.remote.values();
    let (inflated, skipped) = (counters.parts_inflated(), counters.inflating_skipped_bytes());
    [counters.bytes_read(), counters.chunks_decoded(), counters.decode_nanoseconds(), counters.chunks_skipped(), requests, bytes, inflated, skipped]
}

impl Drop for PooledSession {
    fn drop(&mut self) {
        let mut idle = idle();
        let idle = idle.get_or_insert_default();
        if idle.values().map(Vec::len).sum::<usize>() < MAX_IDLE {
            idle.entry(std::mem::take(&mut self.options)).or_default().push(self.counted.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pooled_session_has_one_reader_and_fresh_counters() -> Result<()> {
        let options = || r#"{"threads": 1, "limits": {"depth": 17}}"#.to_owned();
        let idle_count = || idle().as_ref().and_then(|idle| Some(idle.get(&options())?.len())).unwrap_or(0);
        let (a, b) = (PooledSession::new(options())?, PooledSession::new(options())?);
        drop((a, b));
        assert_eq!(idle_count(), 2);
        let again = PooledSession::new(options())?;
        assert_eq!((idle_count(), again.counters()), (1, [0; COUNTERS]));
        assert!(PooledSession::new(r#"{"threds": 1}"#.to_owned()).is_err());
        Ok(())
    }
}
