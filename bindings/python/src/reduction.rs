//! Reductions: aggregates of a plan by groups, and what groups are made of.

use std::sync::Arc;

use arrow_array::RecordBatch;
use hyperslab::scan::SegmentClasses;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;

use crate::reader::{Capsules, capsules};

/// A record batch (the Arrow PyCapsule interface).
#[pyclass(frozen, module = "hyperslab._native")]
pub(crate) struct Batch(pub RecordBatch);

#[pymethods]
impl Batch {
    /// A schema and an array capsule. A requested schema is ignored.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(&self, py: Python<'py>, requested_schema: Option<Bound<'py, PyAny>>) -> PyResult<Capsules<'py>> {
        let _ = requested_schema;
        capsules(py, self.0.clone())
    }
}

/// The shape of a segment's rows, the names of the columns along each dimension, and of those with one value.
pub(crate) type SegmentDimensions = (Vec<u64>, Vec<Vec<String>>, Vec<String>);

/// The class of a segment, the classes of the indexes along each dimension (4 bytes each), and the vectors (doubles).
pub(crate) type GivenClasses = (u32, Vec<Option<PyBackedBytes>>, Vec<PyBackedBytes>);

pub(crate) fn segment_classes((class, axes, vectors): GivenClasses) -> SegmentClasses {
    let of_axis = |bytes: PyBackedBytes| -> Arc<[u32]> { bytes.as_chunks::<4>().0.iter().map(|class| u32::from_le_bytes(*class)).collect() };
    let vector = |bytes: PyBackedBytes| -> Arc<[f64]> { bytes.as_chunks::<8>().0.iter().map(|value| f64::from_le_bytes(*value)).collect() };
    SegmentClasses { class, axes: axes.into_iter().map(|axis| axis.map(of_axis)).collect(), vectors: vectors.into_iter().map(vector).collect() }
}
