//! Session: threads and limits, shared by all files that it opens.

use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use hyperslab_array::{Error, ErrorKind, Result};
use hyperslab_formats::{Interpretation, Limits, OpenOptions, hdf5};
use hyperslab_storage::LocalFile;

use crate::{Counters, File, MissingSources, PathPolicy};

/// How often a file is read anew whose writer (SWMR) was in the middle of a change, and how long to wait.
const MOST_TRIES: u32 = 50;
const BETWEEN_TRIES: Duration = Duration::from_millis(2);

/// What a session may use.
#[derive(Debug, Clone, Default)]
pub struct SessionOptions {
    /// Threads that decode; `None` is one a core.
    pub threads: Option<usize>,
    /// What a file may cost.
    pub limits: Limits,
    /// Whether netCDF-4 conventions apply.
    pub interpretation: Interpretation,
    /// Which files a file may make us open.
    pub paths: PathPolicy,
    /// What to do about sources of virtual datasets that are not there.
    pub missing_sources: MissingSources,
}

/// Threads and limits. Cheap to clone.
#[derive(Clone)]
pub struct Session {
    threads: Option<usize>,
    pool: Arc<RwLock<Option<Started>>>,
    options: OpenOptions,
    paths: PathPolicy,
    missing_sources: MissingSources,
    counters: Arc<Counters>,
}

/// Threads, and the process that they live in: a forked child has none of its parent's.
#[derive(Clone)]
struct Started {
    process: u32,
    pool: Arc<rayon::ThreadPool>,
}

impl Session {
    /// A session; its threads start when they are first needed.
    pub fn new(options: SessionOptions) -> Result<Self> {
        if options.threads == Some(0) {
            return Err(Error::invalid_input("0 threads decode nothing: give 1 or more, or leave it out"));
        }
        let open = OpenOptions { limits: options.limits, interpretation: options.interpretation };
        Ok(Self {
            threads: options.threads,
            pool: Arc::default(),
            options: open,
            paths: options.paths,
            missing_sources: options.missing_sources,
            counters: Arc::default(),
        })
    }
    /// Opens a local file; the bytes tell its format.
    pub fn open(&self, path: impl AsRef<Path>) -> Result<File> {
        self.open_at_depth(path.as_ref(), 0)
    }
    /// Opens a file that another one points at, `depth` files away from the first.
    pub(crate) fn open_at_depth(&self, path: &Path, depth: u32) -> Result<File> {
        for _ in 0..MOST_TRIES {
            let storage = Arc::new(LocalFile::open(path)?);
            match hyperslab_formats::open(storage.clone(), &self.options) {
                Err(error) if error.kind() == ErrorKind::Corrupt && hdf5::is_being_written(storage.as_ref())? => {
                    std::thread::sleep(BETWEEN_TRIES);
                }
                array_file => return Ok(File::new(self.clone(), path.to_path_buf(), array_file?, depth)),
            }
        }
        let array_file = hyperslab_formats::open(Arc::new(LocalFile::open(path)?), &self.options)?;
        Ok(File::new(self.clone(), path.to_path_buf(), array_file, depth))
    }
    /// What the reads of this session have cost so far.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }
    pub(crate) fn path_policy(&self) -> PathPolicy {
        self.paths
    }
    pub(crate) fn missing_sources(&self) -> MissingSources {
        self.missing_sources
    }
    /// The decoding threads of this process.
    pub(crate) fn pool(&self) -> Result<Arc<rayon::ThreadPool>> {
        let process = std::process::id();
        let here = |started: &Started| started.process == process;
        if let Some(started) = self.pool.read().unwrap_or_else(PoisonError::into_inner).as_ref().filter(|s| here(s)) {
            return Ok(started.pool.clone());
        }
        let mut slot = self.pool.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(started) = slot.as_ref().filter(|s| here(s)) {
            return Ok(started.pool.clone());
        }
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(self.threads.unwrap_or(0))
            .thread_name(|number| format!("hyperslab-{number}"))
            .build()
            .map_err(|e| Error::internal(format!("cannot start threads: {e}")))?;
        let pool = Arc::new(pool);
        // A parent's pool in a forked child cannot be stopped, for its threads are not there.
        std::mem::forget(slot.replace(Started { process, pool: pool.clone() }));
        Ok(pool)
    }
    pub(crate) fn limits(&self) -> &Limits {
        &self.options.limits
    }
}
