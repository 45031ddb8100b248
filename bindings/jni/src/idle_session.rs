//! Idle session: a task that reads many small files starts its decoding threads once.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use hyperslab::{Result, Session};

use crate::request::SessionRequest;

/// Sessions that wait for the next reader, at most. More readers than this side by side are rare.
const MOST_IDLE: usize = 64;

static IDLE: Mutex<Option<HashMap<String, Vec<Session>>>> = Mutex::new(None);

fn idle() -> MutexGuard<'static, Option<HashMap<String, Vec<Session>>>> {
    IDLE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A session for one reader at a time; goes back to the others like it when dropped.
pub(crate) struct LentSession {
    options: String,
    session: Session,
    before: [u64; 4],
}

impl LentSession {
    /// A session with these options (JSON): one that waits, else a new one.
    pub fn new(options: String) -> Result<Self> {
        let waiting = idle().as_mut().and_then(|idle| idle.get_mut(&options)?.pop());
        let session = match waiting {
            Some(session) => session,
            None => SessionRequest::parse(&options)?.session()?,
        };
        let before = counted(&session);
        Ok(Self { options, session, before })
    }
    /// The session.
    pub fn session(&self) -> &Session {
        &self.session
    }
    /// Bytes read, chunks decoded, nanoseconds in filters and chunks skipped since it was lent.
    pub fn counters(&self) -> [u64; 4] {
        let mut now = counted(&self.session);
        for (now, before) in now.iter_mut().zip(self.before) {
            *now = now.saturating_sub(before);
        }
        now
    }
}

fn counted(session: &Session) -> [u64; 4] {
    let counters = session.counters();
    [counters.bytes_read(), counters.chunks_decoded(), counters.decode_nanoseconds(), counters.chunks_skipped()]
}

impl Drop for LentSession {
    fn drop(&mut self) {
        let mut idle = idle();
        let idle = idle.get_or_insert_default();
        if idle.values().map(Vec::len).sum::<usize>() < MOST_IDLE {
            idle.entry(std::mem::take(&mut self.options)).or_default().push(self.session.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_lent_to_one_at_a_time_and_counts_anew() -> Result<()> {
        let options = || r#"{"threads": 1, "limits": {"depth": 17}}"#.to_owned();
        let waiting = || idle().as_ref().and_then(|idle| Some(idle.get(&options())?.len())).unwrap_or(0);
        let (a, b) = (LentSession::new(options())?, LentSession::new(options())?);
        drop((a, b));
        assert_eq!(waiting(), 2);
        let again = LentSession::new(options())?;
        assert_eq!((waiting(), again.counters()), (1, [0; 4]));
        assert!(LentSession::new(r#"{"threds": 1}"#.to_owned()).is_err());
        Ok(())
    }
}
