//! Interruption: parsers ask now and then whether the thread that they run on should go on, without a flag that each of them
//! is given. What reads values has a [`Cancellation`](crate::Cancellation) instead, because it runs on several threads.

use std::cell::{Cell, RefCell};
use std::time::{Duration, Instant};

use crate::{Error, Result};

/// How often the question is asked.
const INTERVAL: Duration = Duration::from_millis(50);
/// Checks from one look at the clock to the next: looking costs more than most of what is between two checks.
const CHECKS: u32 = 64;

type Question = Box<dyn FnMut() -> bool>;

thread_local! {
    static QUESTION: RefCell<Option<Question>> = const { RefCell::new(None) };
    static STATE: Cell<State> = const { Cell::new(State { is_watched: false, is_over: false, checks: 0, asked: None }) };
}

#[derive(Clone, Copy)]
struct State {
    is_watched: bool,
    is_over: bool,
    checks: u32,
    asked: Option<Instant>,
}

/// Runs `work`. While it runs, [`check`] asks every 50 ms on this thread; once `should_end` answers `true`, all checks fail until
/// `work` has returned.
///
/// # Example
/// ```
/// use hyperslab_array::interruption;
///
/// let endless = || loop {
///     interruption::check()?;
/// };
/// let ended: hyperslab_array::Result<()> = interruption::watched(|| true, endless);
/// assert!(ended.is_err());
/// assert!(interruption::check().is_ok());
/// ```
pub fn watched<T>(should_end: impl FnMut() -> bool + 'static, work: impl FnOnce() -> T) -> T {
    /// Brings back what was there before, after a panic too.
    struct Before(State, Option<Question>);
    impl Drop for Before {
        fn drop(&mut self) {
            STATE.set(self.0);
            QUESTION.replace(self.1.take());
        }
    }
    let state = State { is_watched: true, is_over: false, checks: 0, asked: Some(Instant::now()) };
    let _before = Before(STATE.replace(state), QUESTION.replace(Some(Box::new(should_end))));
    work()
}

/// Fails if the work on this thread should end.
///
/// # Errors
/// `Cancelled` if so.
pub fn check() -> Result<()> {
    let mut state = STATE.get();
    if !state.is_watched {
        return Ok(());
    }
    if state.is_over {
        return Err(Error::cancelled());
    }
    state.checks = state.checks.wrapping_add(1);
    STATE.set(state);
    if !state.checks.is_multiple_of(CHECKS) || state.asked.is_some_and(|asked| asked.elapsed() < INTERVAL) {
        return Ok(());
    }
    // Answering may run other work on this thread, which is not watched.
    let Some(mut question) = QUESTION.replace(None) else { return Ok(()) };
    STATE.set(State { is_watched: false, ..state });
    let is_over = question();
    QUESTION.replace(Some(question));
    STATE.set(State { is_over, asked: Some(Instant::now()), ..state });
    if is_over { Err(Error::cancelled()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_ends_once_it_should_and_the_next_is_not_touched() {
        let mut asked = 0;
        let steps = Cell::new(0u64);
        let work = || -> Result<()> {
            loop {
                steps.set(steps.get() + 1);
                check()?;
            }
        };
        let third = move || {
            asked += 1;
            asked == 3
        };
        let start = Instant::now();
        let ended = watched(third, || {
            let ended = work();
            assert!(check().is_err(), "once over, every check fails");
            ended
        });
        assert!(ended.is_err_and(|error| error.kind() == crate::ErrorKind::Cancelled));
        assert!(start.elapsed() >= 2 * INTERVAL && steps.get() > 100);
        assert!(check().is_ok());
        assert!(watched(|| false, check).is_ok());
    }
}
