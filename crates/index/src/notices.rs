//! Notices: what users must hear about indexes although their query succeeds. Bindings show them as warnings.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

/// More notices than this are not kept until they are taken.
const MAX_NOTICES: usize = 100;

static ANY: AtomicBool = AtomicBool::new(false);
static NOTICES: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Adds a notice.
pub(crate) fn add(notice: String) {
    // A forked child must not wait for a lock that a thread of its parent holds.
    if let Ok(mut notices) = NOTICES.try_lock()
        && notices.len() < MAX_NOTICES
    {
        notices.push(notice);
        ANY.store(true, Ordering::Release);
    }
}

/// Takes the notices of this process since the last call: an index that disagrees with its data, and is not used any more.
pub fn take_notices() -> Vec<String> {
    if !ANY.load(Ordering::Acquire) {
        return Vec::new();
    }
    let Ok(mut notices) = NOTICES.try_lock() else { return Vec::new() };
    ANY.store(false, Ordering::Release);
    std::mem::take(&mut *notices)
}
