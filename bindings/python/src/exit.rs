//! Exit: cancels running scans when the interpreter ends, so that no thread of Arrow waits for one.

use std::collections::{BTreeMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};

use hyperslab::Cancellation;
use pyo3::prelude::*;

/// A forked child may find the lock taken by a thread that it does not have.
const MAX_TRIES: u32 = 10_000;

#[derive(Clone)]
struct Scan {
    cancellation: Cancellation,
    /// Python's identifier of the thread that is in a call, 0 if there is none.
    caller: Arc<AtomicU64>,
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

/// A scan that is cancelled if the interpreter ends while this exists.
pub(crate) struct Registered {
    number: u64,
    scan: Scan,
}

impl Registered {
    pub fn new(cancellation: Cancellation) -> Self {
        let scan = Scan { cancellation, caller: Arc::default(), process: std::process::id() };
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        if let Some(mut scans) = scans() {
            scans.insert(number, scan.clone());
        }
        Self { number, scan }
    }
    pub fn cancellation(&self) -> &Cancellation {
        &self.scan.cancellation
    }
    /// Records that the calling thread, which is attached to the interpreter, waits for the scan until the result is dropped.
    pub fn called(&self, py: Python<'_>) -> PyResult<Called> {
        let thread: u64 = py.import("_thread")?.call_method0("get_ident")?.extract()?;
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

/// Cancels running scans, except those that threads of Python wait for: a daemon thread must end without an error.
#[pyfunction]
pub(crate) fn stop_scans(py: Python<'_>) -> PyResult<()> {
    let mut known = HashSet::new();
    for thread in py.import("threading")?.call_method0("enumerate")?.try_iter()? {
        known.extend(thread?.getattr("ident")?.extract::<Option<u64>>()?);
    }
    let here = std::process::id();
    let open: Vec<Scan> = scans().map(|scans| scans.values().filter(|scan| scan.process == here).cloned().collect()).unwrap_or_default();
    for scan in open {
        if !known.contains(&scan.caller.load(Ordering::Acquire)) {
            scan.cancellation.cancel();
        }
    }
    Ok(())
}
