//! Session: threads and limits, shared by all files that it opens.

use std::path::Path;
use std::sync::Arc;

use hyperslab_array::{Error, Result};
use hyperslab_formats::{Interpretation, Limits, OpenOptions};
use hyperslab_storage::LocalFile;

use crate::File;

/// What a session may use.
#[derive(Debug, Clone, Default)]
pub struct SessionOptions {
    /// Threads that decode; `None` is one a core.
    pub threads: Option<usize>,
    /// What a file may cost.
    pub limits: Limits,
    /// Whether netCDF-4 conventions apply.
    pub interpretation: Interpretation,
}

/// Threads and limits. Cheap to clone.
#[derive(Clone)]
pub struct Session {
    pool: Arc<rayon::ThreadPool>,
    options: OpenOptions,
}

impl Session {
    /// Starts the session's threads.
    pub fn new(options: SessionOptions) -> Result<Self> {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(options.threads.unwrap_or(0))
            .thread_name(|number| format!("hyperslab-{number}"))
            .build()
            .map_err(|e| Error::internal(format!("cannot start threads: {e}")))?;
        let open = OpenOptions { limits: options.limits, interpretation: options.interpretation };
        Ok(Self { pool: Arc::new(pool), options: open })
    }
    /// Opens a local file; the bytes tell its format.
    pub fn open(&self, path: impl AsRef<Path>) -> Result<File> {
        let storage = Arc::new(LocalFile::open(path.as_ref())?);
        let array_file = hyperslab_formats::open(storage, &self.options)?;
        Ok(File::new(self.clone(), path.as_ref().to_path_buf(), array_file))
    }
    /// Number of decoding threads.
    pub fn threads(&self) -> usize {
        self.pool.current_num_threads()
    }
    pub(crate) fn pool(&self) -> &rayon::ThreadPool {
        &self.pool
    }
    pub(crate) fn limits(&self) -> &Limits {
        &self.options.limits
    }
}
