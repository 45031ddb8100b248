//! Reader: the record batches of a scan, for Python as pairs of Arrow PyCapsules, for engines as an Arrow C stream.

use std::sync::Arc;

use arrow_array::ffi::to_ffi;
use arrow_array::{Array, RecordBatch, StructArray};
use arrow_schema::ffi::FFI_ArrowSchema;
use hyperslab::scan::Batches;
use hyperslab::{Cancellation, Error};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::error::raise;
use crate::stream::Shared;
use crate::wait::wait;

/// A schema and an array capsule (the Arrow PyCapsule interface).
pub(crate) type Capsules<'py> = (Bound<'py, PyCapsule>, Bound<'py, PyCapsule>);

/// Batches of a scan: Python takes them one by one, engines take them as an Arrow stream. Each batch goes to one of them.
#[pyclass(frozen, module = "hyperslab._native")]
pub(crate) struct Reader(Shared);

impl Reader {
    pub(crate) fn new(batches: Batches, cancellation: Cancellation) -> Self {
        Self(Shared::new(batches, cancellation))
    }
}

#[pymethods]
impl Reader {
    /// The next batch, or `None` at the end.
    fn next_batch<'py>(&self, py: Python<'py>) -> PyResult<Option<Capsules<'py>>> {
        let Shared { batches, registered, .. } = &self.0;
        registered.cancellation().check().map_err(|error| raise(py, &error))?;
        if let Some(batch) = batches.try_lock().ok().and_then(|mut batches| batches.next_ready()) {
            return batch.map_err(|error| raise(py, &error)).and_then(|batch| capsules(py, batch)).map(Some);
        }
        let batches = Arc::clone(batches);
        let _called = registered.called(py)?;
        let next = wait(py, registered.cancellation(), move || {
            let mut batches = batches.lock().map_err(|_| Error::internal("an earlier read of this scan failed"))?;
            batches.next_batch().transpose()
        })?;
        next.map(|batch| capsules(py, batch)).transpose()
    }

    /// The remaining batches as an Arrow stream (the Arrow PyCapsule interface). A requested schema is ignored.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(&self, py: Python<'py>, requested_schema: Option<Bound<'py, PyAny>>) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        self.0.stream(py)
    }

    /// The schema as an Arrow PyCapsule.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        schema_capsule(py, &self.0.schema)
    }

    /// Raises the error that ended an exported stream, with its own class; Arrow keeps only its text.
    fn check(&self, py: Python<'_>) -> PyResult<()> {
        match self.0.failure.lock().ok().and_then(|failure| failure.clone()) {
            Some(error) => Err(raise(py, &error)),
            None => Ok(()),
        }
    }

    /// Stops the scan: a running read ends with `Cancelled`.
    fn cancel(&self) {
        self.0.registered.cancellation().cancel();
    }
}

/// The capsules of a batch.
pub(crate) fn capsules<'py>(py: Python<'py>, batch: RecordBatch) -> PyResult<Capsules<'py>> {
    let (array, schema) = to_ffi(&StructArray::from(batch).to_data()).map_err(|e| raise(py, &Error::internal(format!("a batch cannot leave Rust: {e}"))))?;
    Ok((PyCapsule::new_with_value(py, schema, c"arrow_schema")?, PyCapsule::new_with_value(py, array, c"arrow_array")?))
}

/// The capsule of a schema.
pub(crate) fn schema_capsule<'py>(py: Python<'py>, schema: &arrow_schema::Schema) -> PyResult<Bound<'py, PyCapsule>> {
    let schema = FFI_ArrowSchema::try_from(schema).map_err(|e| raise(py, &Error::internal(format!("a schema cannot leave Rust: {e}"))))?;
    PyCapsule::new_with_value(py, schema, c"arrow_schema")
}
