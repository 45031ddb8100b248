//! Cancellation: stops work from any thread.

use pyo3::prelude::*;

/// A flag that work looks at.
#[pyclass(frozen, module = "hyperslab._native")]
pub(crate) struct Cancellation(hyperslab::Cancellation);

impl Cancellation {
    /// The flag of a call: the given one, or one of its own.
    pub(crate) fn of(given: Option<&Self>) -> hyperslab::Cancellation {
        given.map_or_else(hyperslab::Cancellation::new, |given| given.0.clone())
    }
}

#[pymethods]
impl Cancellation {
    #[new]
    fn new() -> Self {
        Self(hyperslab::Cancellation::new())
    }

    /// Makes work that has this flag end with `Cancelled`, now and later.
    fn cancel(&self) {
        self.0.cancel();
    }
}
