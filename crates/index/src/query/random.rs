//! Random places that audits look at.

use std::hash::{BuildHasher, Hasher, RandomState};

/// An unpredictable number, so that forged blocks cannot avoid the audit.
fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// A random number below `end`, which is not 0.
pub(super) fn below(end: u64) -> u64 {
    random() % end.max(1)
}
