//! Session: threads and limits, shared by all files that it opens.

use std::sync::{Arc, PoisonError, RwLock};

use hyperslab_array::{Error, Result};
use hyperslab_formats::{Interpretation, Limits, OpenOptions};

use crate::{Counters, Extensions, MissingSources, PathPolicy, buffer_pool};

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
pub struct Session(Arc<Shared>);

/// What all handles of a session share.
struct Shared {
    threads: Option<usize>,
    pool: RwLock<Option<Started>>,
    options: OpenOptions,
    paths: PathPolicy,
    missing_sources: MissingSources,
    values: Arc<buffer_pool::BufferPool>,
    counters: Counters,
    extensions: Extensions,
}

/// Threads, and the process that they live in: a forked child has none of its parent's.
#[derive(Clone)]
struct Started {
    process: u32,
    pool: Arc<rayon::ThreadPool>,
}

impl Session {
    /// A session without extensions; its threads start when they are first needed.
    pub fn new(options: SessionOptions) -> Result<Self> {
        Self::with_extensions(options, Extensions::default())
    }
    /// A session that keeps `extensions` for crates above the reader.
    pub fn with_extensions(options: SessionOptions, extensions: Extensions) -> Result<Self> {
        if options.threads == Some(0) {
            return Err(Error::invalid_input("0 threads decode nothing: give 1 or more, or leave it out"));
        }
        let open = OpenOptions { limits: options.limits, interpretation: options.interpretation };
        Ok(Self(Arc::new(Shared {
            threads: options.threads,
            pool: RwLock::default(),
            options: open,
            paths: options.paths,
            missing_sources: options.missing_sources,
            values: Arc::default(),
            counters: Counters::new(),
            extensions,
        })))
    }
    /// What the reads of this session have cost so far.
    pub fn counters(&self) -> &Counters {
        &self.0.counters
    }
    /// The extension of type `T` that the session was made with, if any.
    pub fn extension<T: Send + Sync + 'static>(&self) -> Option<&T> {
        self.0.extensions.get()
    }
    pub(crate) fn path_policy(&self) -> PathPolicy {
        self.0.paths
    }
    pub(crate) fn missing_sources(&self) -> MissingSources {
        self.0.missing_sources
    }
    /// The decoding threads of this process.
    pub fn pool(&self) -> Result<Arc<rayon::ThreadPool>> {
        let process = std::process::id();
        let here = |started: &Started| started.process == process;
        if let Some(started) = self.0.pool.read().unwrap_or_else(PoisonError::into_inner).as_ref().filter(|s| here(s)) {
            return Ok(started.pool.clone());
        }
        let mut slot = self.0.pool.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(started) = slot.as_ref().filter(|s| here(s)) {
            return Ok(started.pool.clone());
        }
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(self.0.threads.unwrap_or(0))
            .thread_name(|number| format!("hyperslab-{number}"))
            .build()
            .map_err(|e| Error::internal(format!("cannot start threads: {e}")))?;
        let pool = Arc::new(pool);
        // A parent's pool in a forked child cannot be stopped, for its threads are not there.
        std::mem::forget(slot.replace(Started { process, pool: pool.clone() }));
        Ok(pool)
    }
    /// Runs `work` on the decoding threads of this process; its parallel iterators use them all.
    ///
    /// A thread of somebody else's rayon pool waits without taking up other work of that pool, as it
    /// would in `install`: each such piece could read another file and wait in turn, until the stack ends.
    pub fn compute<T: Send>(&self, work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
        let pool = self.pool()?;
        if pool.current_thread_index().is_some() {
            return work();
        }
        let mut outcome = None;
        pool.in_place_scope(|scope| scope.spawn(|_| outcome = Some(work())));
        outcome.unwrap_or_else(|| Err(Error::internal("work on the decoding threads ended without a result")))
    }
    /// How many threads decode.
    pub fn thread_count(&self) -> Result<usize> {
        match self.0.threads {
            Some(count) => Ok(count),
            None => Ok(self.pool()?.current_num_threads()),
        }
    }
    /// Memory for values, used again from read to read.
    pub fn values(&self) -> &Arc<buffer_pool::BufferPool> {
        &self.0.values
    }
    pub(crate) fn open_options(&self) -> &OpenOptions {
        &self.0.options
    }
    pub(crate) fn limits(&self) -> &Limits {
        &self.0.options.limits
    }
}
