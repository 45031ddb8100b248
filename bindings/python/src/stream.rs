//! Stream: a scan as an Arrow C stream, for engines that read on threads of their own.
//!
//! Arrow's and DuckDB's threads must not enter the interpreter: one that comes back to it while it shuts down is parked
//! for good, and the process then waits for that thread in `exit`. So these threads run Rust only. The thread that made
//! the stream is Python's own; on it signals are handled while a batch is awaited.

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

use crate::error::raise;
use crate::exit::Registered;
use crate::wait::{caught, until};

/// The scan behind an Arrow stream, as Python sees it: hands out the stream, and keeps its error.
#[pyclass(frozen, module = "hyperslab._native")]
pub(crate) struct Stream {
    reader: Mutex<Option<Reading>>,
    failure: Arc<Mutex<Option<Error>>>,
}

impl Stream {
    pub(crate) fn new(batches: Batches, cancellation: Cancellation) -> Self {
        let failure = Arc::default();
        let reading = Reading {
            schema: batches.schema(),
            batches: Arc::new(Mutex::new(batches)),
            registered: Registered::new(cancellation),
            failure: Arc::clone(&failure),
            owner: std::thread::current().id(),
        };
        Self { reader: Mutex::new(Some(reading)), failure }
    }
}

#[pymethods]
impl Stream {
    /// The stream (the Arrow PyCapsule interface); it can be taken once. Another schema is not offered.
    #[pyo3(signature = (_requested_schema=None))]
    fn __arrow_c_stream__<'py>(&self, py: Python<'py>, _requested_schema: Option<Bound<'py, PyAny>>) -> PyResult<Bound<'py, PyCapsule>> {
        let taken = self.reader.lock().ok().and_then(|mut reader| reader.take());
        let reading = taken.ok_or_else(|| raise(py, &Error::invalid_input("this stream was read already: start another scan")))?;
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(reading)), c"arrow_array_stream")
    }

    /// Raises the error that ended the stream, with its own class; Arrow keeps only its text.
    fn check(&self, py: Python<'_>) -> PyResult<()> {
        match self.failure.lock().ok().and_then(|failure| failure.clone()) {
            Some(error) => Err(raise(py, &error)),
            None => Ok(()),
        }
    }
}

/// What the stream's callbacks call.
struct Reading {
    schema: SchemaRef,
    batches: Arc<Mutex<Batches>>,
    registered: Registered,
    failure: Arc<Mutex<Option<Error>>>,
    owner: ThreadId,
}

impl Reading {
    fn next_batch(&self) -> Option<Result<RecordBatch>> {
        if let Err(error) = self.registered.cancellation().check() {
            return Some(Err(error));
        }
        let ready = self.batches.try_lock().ok().and_then(|mut batches| batches.next_ready());
        if ready.is_some() {
            return ready;
        }
        let batches = Arc::clone(&self.batches);
        let work = move || {
            let mut batches = batches.lock().map_err(|_| Error::internal("an earlier read of this scan failed"))?;
            batches.next_batch().transpose()
        };
        if self.owner != std::thread::current().id() {
            return caught(work).transpose();
        }
        let mut work = Some(work);
        // Not attached: the interpreter is gone, and with it the signals.
        let waited = Python::try_attach(|py| work.take().map(|work| {
            until(py, self.registered.cancellation(), work).unwrap_or_else(|interrupt| {
                raise_later(interrupt);
                Err(Error::cancelled())
            })
        }));
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
            if let Ok(mut failure) = self.failure.lock() {
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
        self.schema.clone()
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
