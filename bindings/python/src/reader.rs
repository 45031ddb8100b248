//! Reader: record batches one after the other, as pairs of Arrow PyCapsules.

use std::sync::{Arc, Mutex};

use arrow_array::ffi::to_ffi;
use arrow_array::{Array, RecordBatch, StructArray};
use arrow_schema::ffi::FFI_ArrowSchema;
use hyperslab::scan::Batches;
use hyperslab::{Cancellation, Error};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::error::raise;
use crate::exit::Registered;
use crate::wait::wait;

/// A schema and an array capsule (the Arrow PyCapsule interface).
type Capsules<'py> = (Bound<'py, PyCapsule>, Bound<'py, PyCapsule>);

/// Batches of a scan; threads that share it take turns.
#[pyclass(frozen, module = "hyperslab._native")]
pub(crate) struct Reader {
    batches: Arc<Mutex<Batches>>,
    registered: Registered,
}

impl Reader {
    pub(crate) fn new(batches: Batches, cancellation: Cancellation) -> Self {
        Self { batches: Arc::new(Mutex::new(batches)), registered: Registered::new(cancellation) }
    }
}

#[pymethods]
impl Reader {
    /// The next batch, or `None` at the end.
    fn next_batch<'py>(&self, py: Python<'py>) -> PyResult<Option<Capsules<'py>>> {
        self.registered.note_caller(py)?;
        self.registered.cancellation().check().map_err(|error| raise(py, &error))?;
        if let Some(batch) = self.batches.try_lock().ok().and_then(|mut batches| batches.next_ready()) {
            return batch.map_err(|error| raise(py, &error)).and_then(|batch| capsules(py, batch)).map(Some);
        }
        let batches = self.batches.clone();
        let _called = self.registered.called(py)?;
        let next = wait(py, self.registered.cancellation(), move || {
            let mut batches = batches.lock().map_err(|_| Error::internal("an earlier read of this scan failed"))?;
            batches.next_batch().transpose()
        })?;
        next.map(|batch| capsules(py, batch)).transpose()
    }

    /// Stops the scan: what reads now ends with `Cancelled`.
    fn cancel(&self) {
        self.registered.cancellation().cancel();
    }
}

fn capsules<'py>(py: Python<'py>, batch: RecordBatch) -> PyResult<Capsules<'py>> {
    let (array, schema) = to_ffi(&StructArray::from(batch).to_data())
        .map_err(|e| raise(py, &Error::internal(format!("a batch cannot leave Rust: {e}"))))?;
    Ok((PyCapsule::new_with_value(py, schema, c"arrow_schema")?, PyCapsule::new_with_value(py, array, c"arrow_array")?))
}

/// The capsule of a schema.
pub(crate) fn schema_capsule<'py>(py: Python<'py>, schema: &arrow_schema::Schema) -> PyResult<Bound<'py, PyCapsule>> {
    let schema = FFI_ArrowSchema::try_from(schema)
        .map_err(|e| raise(py, &Error::internal(format!("a schema cannot leave Rust: {e}"))))?;
    PyCapsule::new_with_value(py, schema, c"arrow_schema")
}
