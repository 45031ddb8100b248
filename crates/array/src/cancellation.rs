//! Cancellation: a flag that the caller sets and long loops check.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::{Error, Result};

/// A shared flag; once set, reads that carry it end with `Cancelled`.
#[derive(Debug, Clone, Default)]
pub struct Cancellation(Arc<AtomicBool>);

impl Cancellation {
    /// A flag that is not set.
    pub fn new() -> Self {
        Self::default()
    }
    /// Asks every read that carries this flag to stop.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
    /// Returns an error once the flag is set.
    ///
    /// # Errors
    /// `Cancelled` once the flag is set.
    pub fn check(&self) -> Result<()> {
        if self.0.load(Ordering::Relaxed) { Err(Error::cancelled()) } else { Ok(()) }
    }
}
