//! What the file system says of a file.

use pyo3::prelude::*;

use crate::layout::{Part, part};

/// Where the bytes of a file lie.
#[pyclass(frozen, module = "hyperslab._native")]
pub(crate) struct StorageLayout(pub hyperslab::storage::TargetLayout);

#[pymethods]
impl StorageLayout {
    /// Name of the file system, empty if it is not known.
    #[getter]
    fn file_system(&self) -> &str {
        &self.0.file_system
    }

    /// The preferred block size in bytes.
    #[getter]
    fn block_bytes(&self) -> u64 {
        self.0.block_bytes
    }

    /// Major and minor number of the device.
    #[getter]
    fn device(&self) -> Option<(u32, u32)> {
        self.0.device
    }

    /// Start, end, stripe size, number of stripes, targets and pool of each part.
    #[getter]
    fn parts(&self) -> Vec<Part> {
        self.0.components.iter().map(part).collect()
    }

    /// Why something that the file system says is not used.
    #[getter]
    fn warning(&self) -> Option<&str> {
        self.0.warning.as_deref()
    }

    /// The target that holds a byte.
    fn target(&self, offset: u64) -> Option<u32> {
        self.0.target(offset)
    }
}
