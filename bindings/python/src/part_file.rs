//! Part file: a file that a library of Python writes, under a temporary name until it is complete.

use std::os::fd::IntoRawFd;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use hyperslab::Error;
use hyperslab::storage::{Output, StorageOptions};
use hyperslab::write::Existing;
use pyo3::prelude::*;

use crate::error::raise;
use crate::wait::run;

/// A file that gets its name when it is published. It takes over permissions and owner of the file that it replaces, and
/// what killed writers of the same file have left is removed.
#[pyclass(frozen, module = "hyperslab._native")]
pub(crate) struct PartFile {
    output: Mutex<Option<Output>>,
    temporary: PathBuf,
}

impl PartFile {
    fn output(&self) -> std::sync::MutexGuard<'_, Option<Output>> {
        self.output.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl PartFile {
    /// Begins a file that will be at `path`, in a folder that exists, or at an address of an object store. Symbolic links are followed.
    #[new]
    #[pyo3(signature = (path, storage_options=Vec::new()))]
    fn new(py: Python<'_>, path: PathBuf, storage_options: Vec<(String, String)>) -> PyResult<Self> {
        let output = run(py, move || Output::create_at(path, Existing::Replace, &StorageOptions::new(storage_options)))?;
        Ok(Self { temporary: output.temporary().to_path_buf(), output: Mutex::new(Some(output)) })
    }

    /// A descriptor to write with, which the caller closes.
    fn descriptor(&self, py: Python<'_>) -> PyResult<i32> {
        let output = self.output();
        let handle = output.as_ref().map_or_else(|| Err(Error::internal("a part file that has ended")), Output::handle);
        handle.map(IntoRawFd::into_raw_fd).map_err(|error| raise(py, &error))
    }

    /// Brings the bytes to the disk and gives the file its name.
    fn publish(&self, py: Python<'_>) -> PyResult<()> {
        let output = self.output().take();
        run(py, move || {
            let output = output.ok_or_else(|| Error::internal("a part file that has ended"))?;
            let length = output.storage()?.len();
            output.publish(length, Existing::Replace)
        })
    }

    /// Removes the file, also while another thread publishes it, which then fails.
    fn discard(&self) {
        drop(self.output().take());
        let _ = std::fs::remove_file(&self.temporary);
    }
}
