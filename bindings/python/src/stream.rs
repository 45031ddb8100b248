//! Stream: a scan as an Arrow C stream, for engines that read on threads of their own.
//!
//! Threads of Arrow and DuckDB must not enter the interpreter: a thread that returns to it during shutdown blocks forever, and
//! the process then waits for that thread in `exit`. So these threads run Rust only. The thread that requested the stream
//! belongs to Python; it handles signals while it waits for a batch.

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

/// A scan that several readers share: each batch goes to Python's loop or to one of the exported streams.
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

    /// The remaining batches as an Arrow PyCapsule. The calling thread is the one that handles signals.
    pub fn stream<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let reading = Reading { scan: self.clone(), owner: std::thread::current().id() };
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(reading)), c"arrow_array_stream")
    }
}

/// The state of the stream's callbacks.
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
        // If attaching fails, the interpreter is gone, and there are no signals to handle.
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

/// Raises the exception of a signal handler as soon as the interpreter runs again: an Arrow stream cannot carry a Python
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
