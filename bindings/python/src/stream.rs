//! Stream: a scan as an Arrow C stream, for engines that read on threads of their own.
//!
//! Arrow's and DuckDB's threads must not enter the interpreter: one that comes back to it while it shuts down is parked
//! for good, and the process then waits for that thread in `exit`. So these threads run Rust only. The thread that asked
//! for the stream is Python's own; on it signals are handled while a batch is awaited.

use std::ffi::{c_int, c_void};
use std::sync::{Arc, Mutex};
use std::thread::ThreadId;

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use hyperslab::scan::Batches;
use hyperslab::{Cancellation, Error, ErrorKind, Result};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::exit::Registered;
use crate::wait::{caught, until};

/// A scan that several readers share: Python's loop and exported streams take the batches in turns.
#[derive(Clone)]
pub(crate) struct Shared {
    pub schema: SchemaRef,
    pub batches: Arc<Mutex<Batches>>,
    pub registered: Arc<Registered>,
    /// The first error that a stream returned: Arrow keeps only its text.
    pub failure: Arc<Mutex<Option<Error>>>,
}

impl Shared {
    pub fn new(batches: Batches, cancellation: Cancellation) -> Self {
        Self { schema: batches.schema(), batches: Arc::new(Mutex::new(batches)), registered: Arc::new(Registered::new(cancellation)), failure: Arc::default() }
    }

    /// The batches that are left, as an Arrow PyCapsule. The calling thread is the one that handles signals.
    pub fn stream<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let reading = Reading { scan: self.clone(), owner: std::thread::current().id() };
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(reading)), c"arrow_array_stream")
    }
}

/// What the stream's callbacks call.
struct Reading {
    scan: Shared,
    owner: ThreadId,
}

impl Reading {
    fn next_batch(&self) -> Option<Result<RecordBatch>> {
        if let Err(error) = self.scan.registered.cancellation().check() {
            return Some(Err(error));
        }
        let ready = self.scan.batches.try_lock().ok().and_then(|mut batches| batches.next_ready());
        if ready.is_some() {
            return ready;
        }
        let batches = Arc::clone(&self.scan.batches);
        let work = move || {
            let mut batches = batches.lock().map_err(|_| Error::internal("an earlier read of this scan failed"))?;
            batches.next_batch().transpose()
        };
        if self.owner != std::thread::current().id() {
            return caught(work).transpose();
        }
        let mut work = Some(work);
        // Not attached: the interpreter is gone, and with it the signals.
        let waited = Python::try_attach(|py| {
            work.take().map(|work| {
                until(py, self.scan.registered.cancellation(), work).unwrap_or_else(|interrupt| {
                    raise_later(interrupt);
                    Err(Error::cancelled())
                })
            })
        });
        match (waited.flatten(), work) {
            (Some(outcome), _) => outcome.transpose(),
            (None, Some(work)) => caught(work).transpose(),
            (None, None) => Some(Err(Error::internal("a batch that nobody read"))),
        }
    }
}

impl Iterator for Reading {
    type Item = std::result::Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let batch = self.next_batch()?;
        Some(batch.map_err(|error| {
            if let Ok(mut failure) = self.scan.failure.lock() {
                failure.get_or_insert_with(|| error.clone());
            }
            match error.kind() {
                ErrorKind::Io | ErrorKind::Corrupt | ErrorKind::Cancelled => ArrowError::IoError(error.to_string(), std::io::Error::other(error)),
                ErrorKind::LimitExceeded => ArrowError::MemoryError(error.to_string()),
                ErrorKind::Unsupported => ArrowError::NotYetImplemented(error.to_string()),
                _ => ArrowError::ExternalError(Box::new(error)),
            }
        }))
    }
}

impl RecordBatchReader for Reading {
    fn schema(&self) -> SchemaRef {
        self.scan.schema.clone()
    }
}

/// Raises what a signal handler raised once the interpreter has control again: an Arrow stream carries no Python
/// exception.
fn raise_later(interrupt: PyErr) {
    extern "C" fn raise_now(interrupt: *mut c_void) -> c_int {
        // SAFETY: `interrupt` is the box that was given away below, and Python makes each pending call once.
        let interrupt = unsafe { Box::from_raw(interrupt.cast::<PyErr>()) };
        // Pending calls are made by a thread that is attached.
        Python::try_attach(|py| interrupt.restore(py));
        -1
    }
    let given = Box::into_raw(Box::new(interrupt)).cast::<c_void>();
    // SAFETY: any thread may add a pending call at any time; the argument is owned by that call.
    if unsafe { pyo3::ffi::Py_AddPendingCall(Some(raise_now), given) } != 0 {
        // SAFETY: Python has refused the call, so the box is still ours.
        drop(unsafe { Box::from_raw(given.cast::<PyErr>()) });
    }
}
