//! Interrupts: threads that wait for a network look now and then whether their caller still wants the answer.

use std::cell::RefCell;
use std::sync::OnceLock;
use std::time::Duration;

use hyperslab_array::{Cancellation, Error, Result};

/// How often a waiting thread looks.
pub(super) const POLL: Duration = Duration::from_millis(50);

thread_local! {
    static CURRENT: RefCell<Option<Cancellation>> = const { RefCell::new(None) };
}

static CHECK: OnceLock<fn() -> bool> = OnceLock::new();

/// Calls `work`. While it waits for remote bytes in this thread, it ends with `Cancelled` once `cancellation` is set.
pub fn interruptible<T>(cancellation: &Cancellation, work: impl FnOnce() -> T) -> T {
    /// Restores the outer cancellation, also after a panic.
    struct Restore(Option<Cancellation>);
    impl Drop for Restore {
        fn drop(&mut self) {
            CURRENT.set(self.0.take());
        }
    }
    let _restore = Restore(CURRENT.replace(Some(cancellation.clone())));
    work()
}

/// The cancellation of the work that this thread does, if it can be cancelled.
pub fn current_cancellation() -> Option<Cancellation> {
    CURRENT.with_borrow(Clone::clone)
}

/// Sets what waiting threads call to find out whether the program was interrupted, by Ctrl-C for example. Only the first
/// function of a process is used.
pub fn set_interrupt_check(check: fn() -> bool) {
    let _ = CHECK.set(check);
}

/// `Cancelled` if the caller of this thread's work does not want it any more.
pub(super) fn check() -> Result<()> {
    if let Some(cancellation) = current_cancellation() {
        return cancellation.check();
    }
    match CHECK.get() {
        Some(is_interrupted) if is_interrupted() => Err(Error::cancelled()),
        _ => Ok(()),
    }
}
