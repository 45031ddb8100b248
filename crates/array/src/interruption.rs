//! Interruption: whether the work of this thread should go on. Parsers ask now and then ([`check`]), and threads that wait for a
//! network ask while they wait ([`check_wait`]), without a flag that each of them is given. What reads values has a
//! [`Cancellation`] instead, because it runs on several threads.

use std::cell::{Cell, RefCell};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use crate::{Cancellation, Error, Result};

/// How often the question is asked.
const INTERVAL: Duration = Duration::from_millis(50);
/// Checks from one look at the clock and the flag to the next: looking costs more than most of what is between two checks.
const CHECKS: u32 = 64;

type Question = Box<dyn FnMut() -> bool>;

thread_local! {
    static QUESTION: RefCell<Option<Question>> = const { RefCell::new(None) };
    static CANCELLATION: RefCell<Option<Cancellation>> = const { RefCell::new(None) };
    static STATE: Cell<State> = const { Cell::new(State::UNWATCHED) };
}

static PROCESS: OnceLock<fn() -> bool> = OnceLock::new();

#[derive(Clone, Copy)]
struct State {
    /// Whether there is a question.
    has_question: bool,
    /// Whether parsers look at the cancellation.
    is_cancellable: bool,
    is_over: bool,
    checks: u32,
    asked: Option<Instant>,
}

impl State {
    const UNWATCHED: Self = Self { has_question: false, is_cancellable: false, is_over: false, checks: 0, asked: None };
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
    let state = State { has_question: true, is_over: false, checks: 0, asked: Some(Instant::now()), ..STATE.get() };
    let _before = Before(STATE.replace(state), QUESTION.replace(Some(Box::new(should_end))));
    work()
}

/// Runs `work`. While it runs, checks on this thread fail once `cancellation` is set; a question that was asked before is still
/// asked.
///
/// # Example
/// ```
/// use hyperslab_array::{Cancellation, interruption};
///
/// let flag = Cancellation::new();
/// flag.cancel();
/// assert!(interruption::cancellable(&flag, interruption::check_wait).is_err());
/// ```
pub fn cancellable<T>(cancellation: &Cancellation, work: impl FnOnce() -> T) -> T {
    with_cancellation(cancellation, true, work)
}

/// As [`cancellable`], for work that should not end where it parses, but only where it waits for a network: what it writes would
/// stay unfinished.
pub fn cancellable_waits<T>(cancellation: &Cancellation, work: impl FnOnce() -> T) -> T {
    with_cancellation(cancellation, false, work)
}

fn with_cancellation<T>(cancellation: &Cancellation, is_cancellable: bool, work: impl FnOnce() -> T) -> T {
    struct Before(State, Option<Cancellation>);
    impl Drop for Before {
        fn drop(&mut self) {
            STATE.set(self.0);
            CANCELLATION.set(self.1.take());
        }
    }
    let state = State { is_cancellable, ..STATE.get() };
    let _before = Before(STATE.replace(state), CANCELLATION.replace(Some(cancellation.clone())));
    work()
}

/// The cancellation of the work that this thread does, if it can be cancelled.
pub fn current_cancellation() -> Option<Cancellation> {
    CANCELLATION.with_borrow(Clone::clone)
}

/// `work` for other threads, on which parsers look at the cancellation of this thread.
///
/// # Example
/// ```
/// use hyperslab_array::{Cancellation, interruption};
///
/// let flag = Cancellation::new();
/// flag.cancel();
/// let work = interruption::cancellable(&flag, || interruption::carried(|()| interruption::check_wait()));
/// assert!(std::thread::spawn(move || work(())).join().unwrap().is_err());
/// ```
pub fn carried<A, T>(work: impl Fn(A) -> T) -> impl Fn(A) -> T {
    let cancellation = current_cancellation().filter(|_| STATE.get().is_cancellable);
    move |argument| match &cancellation {
        Some(cancellation) => cancellable(cancellation, || work(argument)),
        None => work(argument),
    }
}

/// Sets what waiting threads ask if nothing watches their work: whether the program was interrupted, by Ctrl-C for example. Only
/// the first function of a process is used.
pub fn set_process_question(should_end: fn() -> bool) {
    let _ = PROCESS.set(should_end);
}

/// Fails if the work on this thread should end. For parsers: cheap, so that it may be asked for each thing that is parsed.
///
/// # Errors
/// `Cancelled` if so.
pub fn check() -> Result<()> {
    let mut state = STATE.get();
    if !state.has_question && !state.is_cancellable {
        return Ok(());
    }
    if state.is_over {
        return Err(Error::cancelled());
    }
    state.checks = state.checks.wrapping_add(1);
    STATE.set(state);
    if !state.checks.is_multiple_of(CHECKS) {
        return Ok(());
    }
    if state.is_cancellable {
        check_cancellation()?;
    }
    if !state.has_question || state.asked.is_some_and(|asked| asked.elapsed() < INTERVAL) {
        return Ok(());
    }
    ask(state)
}

/// Fails if the work on this thread should end. For threads that wait, about every 50 ms: always looks and asks.
///
/// # Errors
/// `Cancelled` if so.
pub fn check_wait() -> Result<()> {
    let state = STATE.get();
    if state.is_over {
        return Err(Error::cancelled());
    }
    check_cancellation()?;
    if state.has_question {
        return ask(state);
    }
    match PROCESS.get() {
        // A cancellation is set by the thread that runs signal handlers.
        Some(should_end) if current_cancellation().is_none() && should_end() => Err(Error::cancelled()),
        _ => Ok(()),
    }
}

fn check_cancellation() -> Result<()> {
    CANCELLATION.with_borrow(|cancellation| cancellation.as_ref().map_or(Ok(()), Cancellation::check))
}

fn ask(state: State) -> Result<()> {
    // Answering may run other work on this thread, which is not watched.
    let Some(mut question) = QUESTION.replace(None) else { return Ok(()) };
    STATE.set(State::UNWATCHED);
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

    /// What `CHECKS` checks say.
    fn checks() -> Result<()> {
        (0..CHECKS).try_for_each(|_| check())
    }

    #[test]
    fn a_cancellation_ends_what_parses_and_what_waits_and_keeps_the_outer_question() {
        let flag = Cancellation::new();
        cancellable(&flag, || {
            assert!(checks().is_ok() && check_wait().is_ok());
            flag.cancel();
            assert!(checks().is_err() && check_wait().is_err());
            assert!(watched(|| false, checks).is_err(), "an inner question does not hide the flag");
        });
        assert!(checks().is_ok() && check_wait().is_ok());
        assert!(watched(|| true, || cancellable(&Cancellation::new(), check_wait)).is_err());
    }

    #[test]
    fn what_writes_ends_only_where_it_waits() {
        let flag = Cancellation::new();
        flag.cancel();
        cancellable_waits(&flag, || {
            assert!(checks().is_ok() && check_wait().is_err());
            assert!(std::thread::scope(|scope| scope.spawn(|| carried(|()| checks())(())).join().is_ok_and(|checked| checked.is_ok())));
        });
    }

    #[test]
    fn other_threads_look_at_the_same_flag() {
        let flag = Cancellation::new();
        flag.cancel();
        let work = cancellable(&flag, || carried(|()| checks()));
        assert!(std::thread::scope(|scope| scope.spawn(|| work(())).join().is_ok_and(|checked| checked.is_err())));
        assert!(checks().is_ok());
    }
}
