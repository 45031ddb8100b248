//! Exit: scans that are under way are cancelled when the interpreter ends, so that no thread of Arrow's waits for one.

use std::collections::{BTreeMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};
use std::time::{Duration, Instant};

use hyperslab::Cancellation;
use pyo3::prelude::*;

/// How long the end of the interpreter waits for calls on threads that Python does not know.
const MAX_WAIT: Duration = Duration::from_secs(2);
/// How long it waits after that for those threads to give back what they have of Python's.
const GRACE: Duration = Duration::from_millis(1500);
const POLL: Duration = Duration::from_millis(1);
/// A forked child may find the lock taken by a thread that it does not have.
const MAX_TRIES: u32 = 10_000;

#[derive(Clone)]
struct Scan {
    cancellation: Cancellation,
    /// Python's name of the thread that is inside of a call, 0 without one.
    caller: Arc<AtomicU64>,
    /// The thread that called last. It may be in Python's code between two calls.
    last_caller: Arc<AtomicU64>,
    process: u32,
}

static SCANS: Mutex<BTreeMap<u64, Scan>> = Mutex::new(BTreeMap::new());
static NEXT: AtomicU64 = AtomicU64::new(0);

fn scans() -> Option<MutexGuard<'static, BTreeMap<u64, Scan>>> {
    for _ in 0..MAX_TRIES {
        match SCANS.try_lock() {
            Ok(scans) => return Some(scans),
            Err(TryLockError::Poisoned(poisoned)) => return Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => std::thread::yield_now(),
        }
    }
    None
}

/// A scan that is cancelled when the interpreter ends, as long as this lives.
pub(crate) struct Registered {
    number: u64,
    scan: Scan,
}

impl Registered {
    pub fn new(cancellation: Cancellation) -> Self {
        let scan = Scan { cancellation, caller: Arc::default(), last_caller: Arc::default(), process: std::process::id() };
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        if let Some(mut scans) = scans() {
            scans.insert(number, scan.clone());
        }
        Self { number, scan }
    }
    pub fn cancellation(&self) -> &Cancellation {
        &self.scan.cancellation
    }
    /// Notes which thread reads the scan, also for calls that need not wait.
    pub fn note_caller(&self, py: Python<'_>) -> PyResult<u64> {
        let thread: u64 = py.import("_thread")?.call_method0("get_ident")?.extract()?;
        self.scan.last_caller.store(thread, Ordering::Release);
        Ok(thread)
    }
    /// Until this is dropped, a thread of Python's (or one that is attached to it) waits for the scan.
    pub fn called(&self, py: Python<'_>) -> PyResult<Called> {
        let thread = self.note_caller(py)?;
        self.scan.caller.store(thread, Ordering::Release);
        Ok(Called(self.scan.caller.clone()))
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        if let Some(mut scans) = scans() {
            scans.remove(&self.number);
        }
    }
}

/// A call that waits for a scan.
pub(crate) struct Called(Arc<AtomicU64>);

impl Drop for Called {
    fn drop(&mut self) {
        self.0.store(0, Ordering::Release);
    }
}

/// Cancels what is being read, but not on threads that Python knows: a daemon thread is to end without an error of ours.
#[pyfunction]
pub(crate) fn stop_scans(py: Python<'_>) -> PyResult<()> {
    let mut known = HashSet::new();
    for thread in py.import("threading")?.call_method0("enumerate")?.try_iter()? {
        known.extend(thread?.getattr("ident")?.extract::<Option<u64>>()?);
    }
    let here = std::process::id();
    let open: BTreeMap<u64, Scan> = scans().map(|scans| scans.iter().filter(|(_, scan)| scan.process == here).map(|(&number, scan)| (number, scan.clone())).collect()).unwrap_or_default();
    let mut called = Vec::new();
    for (number, scan) in open {
        let caller = scan.caller.load(Ordering::Acquire);
        if known.contains(&caller) {
            continue;
        }
        scan.cancellation.cancel();
        let last_caller = scan.last_caller.load(Ordering::Acquire);
        if last_caller != 0 && !known.contains(&last_caller) {
            called.push((number, last_caller));
        }
    }
    let since = Instant::now();
    while inside(py, &called)? && since.elapsed() < MAX_WAIT {
        py.detach(|| std::thread::sleep(POLL));
    }
    // Out of the interpreter, a thread comes back to it once more, to drop the reader that it has read.
    let since = Instant::now();
    while called.iter().any(|(number, _)| scans().is_some_and(|scans| scans.contains_key(number))) && since.elapsed() < GRACE {
        py.detach(|| std::thread::sleep(POLL));
    }
    Ok(())
}

/// Whether one of the threads has a frame of Python's.
fn inside(py: Python<'_>, called: &[(u64, u64)]) -> PyResult<bool> {
    if called.is_empty() {
        return Ok(false);
    }
    let frames = py.import("sys")?.call_method0("_current_frames")?;
    for (_, thread) in called {
        if frames.contains(thread)? {
            return Ok(true);
        }
    }
    Ok(false)
}
