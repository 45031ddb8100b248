//! Poison: garbage in the memory that a read or a filter is about to fill.
//!
//! Buffers are reused from read to read, and Python's are uninitialized: code that left a part of its output
//! unwritten would expose older values. With the environment variable `HYPERSLAB_POISON` set, as in the tests,
//! each read first fills its buffer with different garbage, so that such a value differs from the reference
//! and from one read to the next.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

/// Longest buffer that is made only to be poisoned.
const MAX_BYTES: usize = 1 << 20;
/// Longer buffers are not poisoned: a file may claim more than fits into memory.
const MAX_OUTPUT_BYTES: usize = 64 << 20;

/// Different garbage at each call; `None` unless the environment variable is set.
fn garbage() -> Option<u8> {
    static WANTED: OnceLock<bool> = OnceLock::new();
    static NEXT: AtomicU8 = AtomicU8::new(0xA5);
    // Odd steps visit all 256 bytes.
    WANTED.get_or_init(|| std::env::var_os("HYPERSLAB_POISON").is_some()).then(|| NEXT.fetch_add(0x3B, Relaxed))
}

/// Fills `out` with garbage if the environment asks for it.
pub fn poison(out: &mut [u8]) {
    if out.len() <= MAX_OUTPUT_BYTES
        && let Some(garbage) = garbage()
    {
        out.fill(garbage);
    }
}

/// As `poison`, of a buffer whose old content its next user may see: as if `length` bytes had been in it.
pub(crate) fn poison_buffer(out: &mut Vec<u8>, length: usize) {
    if let Some(garbage) = garbage() {
        let length = out.len().max(length.min(MAX_BYTES));
        out.clear();
        out.resize(length, garbage);
    }
}
