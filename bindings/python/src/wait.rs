//! Wait: work without the interpreter. Long work runs on another thread while Python checks for Ctrl-C.

use std::cell::Cell;
use std::ffi::CString;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use hyperslab::{Cancellation, Error, Result, interruption};
use pyo3::prelude::*;

use crate::error::raise;
use crate::worker::Worker;

/// How often Python's signal handlers can run.
const POLL: Duration = Duration::from_millis(50);
/// From when on, and how often, waiting is shown to people.
const PATIENCE: Duration = Duration::from_secs(2);
const POLLS_PER_SHOW: u32 = 4;

/// Runs `work` on this thread, without the interpreter: for work that is short or cannot be cancelled. A panic becomes an
/// `Internal` error.
pub(crate) fn run<T: Send>(py: Python<'_>, work: impl FnOnce() -> Result<T> + Send) -> PyResult<T> {
    let done = py.detach(|| caught(work));
    warn(py)?;
    done.map_err(|error| taken_interruption().unwrap_or_else(|| raise(py, &error)))
}

thread_local! {
    /// The exception of a signal handler that ran while this thread waited for a network.
    static INTERRUPTION: Cell<Option<PyErr>> = const { Cell::new(None) };
}

/// Takes that exception.
fn taken_interruption() -> Option<PyErr> {
    INTERRUPTION.take()
}

/// Runs Python's signal handlers if this is the thread that may. Whether one raised an exception: Ctrl-C does.
pub(crate) fn is_interrupted() -> bool {
    let signal = Python::try_attach(|py| py.check_signals().err()).flatten();
    let is_interrupted = signal.is_some();
    if is_interrupted {
        INTERRUPTION.set(signal);
    }
    is_interrupted
}

/// As [`run`], for work that parses what a file names and may last: a signal ends it.
pub(crate) fn parse<T: Send>(py: Python<'_>, work: impl FnOnce() -> Result<T> + Send) -> PyResult<T> {
    let signal: Arc<Mutex<Option<PyErr>>> = Arc::default();
    let (done, found) = py.detach(|| {
        let found = signal.clone();
        let ask = move || match Python::attach(|py| py.check_signals()) {
            Ok(()) => false,
            Err(error) => {
                *found.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                true
            }
        };
        let done = interruption::watched(ask, || caught(work));
        (done, signal.lock().unwrap_or_else(PoisonError::into_inner).take())
    });
    warn(py)?;
    match found {
        Some(signal) => Err(signal),
        None => done.map_err(|error| raise(py, &error)),
    }
}

/// Gives Python the notices about indexes and the cache on disk as warnings. An error is a warning that the program has made one.
fn warn(py: Python<'_>) -> PyResult<()> {
    let kinds = [("IndexWarning", hyperslab::index::take_notices()), ("CacheWarning", hyperslab::storage::take_cache_notices())];
    for (kind, notices) in kinds {
        for notice in notices {
            let category = py.import("hyperslab.base.errors")?.getattr(kind)?;
            PyErr::warn(py, &category, &CString::new(notice)?, 2)?;
        }
    }
    Ok(())
}

/// Runs `work`; a panic becomes an `Internal` error.
pub(crate) fn caught<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| Err(Error::internal("a fault of Hyperslab's own (a panic): please report it")))
}

/// Runs `work` on another thread, without the interpreter. A signal cancels it; this returns only when `work` has ended,
/// so what it borrows from Python stays alive. A panic becomes an `Internal` error.
pub(crate) fn wait<T: Send + 'static>(py: Python<'_>, cancellation: &Cancellation, work: impl FnOnce() -> Result<T> + Send + 'static) -> PyResult<T> {
    until(py, cancellation, work)?.map_err(|error| raise(py, &error))
}

/// As [`wait`], for work that reads this many bytes of values.
pub(crate) fn wait_reading<T: Send + 'static>(
    py: Python<'_>,
    cancellation: &Cancellation,
    bytes: usize,
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> PyResult<T> {
    let shared = cancellation.clone();
    match Begun::new(move || interruption::cancellable(&shared, || caught(work))) {
        Ok(mut begun) => {
            begun.bytes = Some(bytes as u64);
            begun.finish(py, cancellation)?.map_err(|error| raise(py, &error))
        }
        Err(error) => Err(raise(py, &error)),
    }
}

/// As [`wait`], for work that writes: a signal ends it where it looks at `cancellation`, and where it waits for a network, but not
/// where it parses, for then what it writes would stay unfinished.
pub(crate) fn wait_writing<T: Send + 'static>(py: Python<'_>, cancellation: &Cancellation, work: impl FnOnce() -> Result<T> + Send + 'static) -> PyResult<T> {
    let shared = cancellation.clone();
    on_worker(py, cancellation, move || interruption::cancellable_waits(&shared, || caught(work)))?.map_err(|error| raise(py, &error))
}

/// As [`wait`], but the error of `work` is separate from an exception of a signal handler.
pub(crate) fn until<T: Send + 'static>(py: Python<'_>, cancellation: &Cancellation, work: impl FnOnce() -> Result<T> + Send + 'static) -> PyResult<Result<T>> {
    let shared = cancellation.clone();
    on_worker(py, cancellation, move || interruption::cancellable(&shared, || caught(work)))
}

fn on_worker<T: Send + 'static>(py: Python<'_>, cancellation: &Cancellation, work: impl FnOnce() -> Result<T> + Send + 'static) -> PyResult<Result<T>> {
    match Begun::new(work) {
        Ok(begun) => begun.finish(py, cancellation),
        Err(error) => Ok(Err(error)),
    }
}

/// Work that runs on another thread while Python goes on. It must not need the interpreter.
pub(crate) struct Begun<T> {
    /// The process that began it: a forked child never gets its outcome.
    process: u32,
    /// The thread, and where the outcome arrives. Missing once it is taken.
    running: Option<(Worker, Receiver<Result<T>>)>,
    /// Bytes of values that it will have read at the end, if they are known.
    bytes: Option<u64>,
}

impl<T: Send + 'static> Begun<T> {
    /// Begins `work`, which must not panic.
    pub fn new(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<Self> {
        let (sender, receiver) = channel();
        let worker = Worker::idle()?;
        worker.start(move || {
            // The caller that began it may have stopped waiting for the outcome.
            let _ = sender.send(work());
        })?;
        Ok(Self { process: std::process::id(), running: Some((worker, receiver)), bytes: None })
    }

    /// Whether this process began it.
    pub fn is_of_this_process(&self) -> bool {
        self.process == std::process::id()
    }

    /// Waits for the outcome; the error is an exception of a signal handler. A signal cancels the work.
    pub fn finish(mut self, py: Python<'_>, cancellation: &Cancellation) -> PyResult<Result<T>> {
        let Some((worker, mut receiver)) = self.running.take() else { return Ok(Err(Error::internal("an outcome that was taken"))) };
        let mut interrupted: Option<PyErr> = None;
        let mut shown = Shown::new(self.bytes);
        loop {
            // A Receiver may be moved to but not shared between threads, so it travels through `detach`.
            let (back, message) = py.detach(move || {
                let message = receiver.recv_timeout(POLL);
                (receiver, message)
            });
            receiver = back;
            match message {
                Ok(result) => {
                    worker.give_back();
                    shown.close(py)?;
                    warn(py)?;
                    return match interrupted {
                        Some(interrupt) => Err(interrupt),
                        None => Ok(result),
                    };
                }
                Err(RecvTimeoutError::Timeout) => {
                    // Not returned at once: the work may use memory of the caller's.
                    if let Err(error) = py.check_signals().and_then(|()| shown.update(py)) {
                        cancellation.cancel();
                        interrupted.get_or_insert(error);
                    }
                }
                Err(RecvTimeoutError::Disconnected) => {
                    return Ok(Err(Error::internal("a reading thread ended without a result")));
                }
            }
        }
    }
}

/// What people see of a wait: nothing for some time, then how much was read.
struct Shown {
    begin: Instant,
    before: u64,
    bytes: Option<u64>,
    polls: u32,
    is_open: bool,
}

impl Shown {
    fn new(bytes: Option<u64>) -> Self {
        Self { begin: Instant::now(), before: bytes_so_far(), bytes, polls: 0, is_open: false }
    }

    /// One more poll has passed.
    fn update(&mut self, py: Python<'_>) -> PyResult<()> {
        self.polls += 1;
        if self.begin.elapsed() < PATIENCE || !self.polls.is_multiple_of(POLLS_PER_SHOW) {
            return Ok(());
        }
        self.is_open = true;
        let done = bytes_so_far().saturating_sub(self.before);
        py.import("hyperslab.base.waiting")?.call_method1("show", (self.begin.elapsed().as_secs_f64(), done, self.bytes)).map(drop)
    }

    fn close(&self, py: Python<'_>) -> PyResult<()> {
        if !self.is_open {
            return Ok(());
        }
        py.import("hyperslab.base.waiting")?.call_method0("close").map(drop)
    }
}

/// Bytes that this process has read or decoded: the larger number, because compressed values are fewer when they are read.
fn bytes_so_far() -> u64 {
    let counters = crate::session::counters();
    counters.bytes_read.max(counters.decoded_bytes)
}

impl<T> Drop for Begun<T> {
    fn drop(&mut self) {
        if self.process != std::process::id() {
            // Dropping a channel locks it. If a thread of the parent held that lock during the fork, it stays locked in this process.
            std::mem::forget(self.running.take());
        }
    }
}
