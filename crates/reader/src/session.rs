//! Session: threads and limits, shared by all files that it opens.

use std::sync::{Arc, PoisonError, RwLock};

use hyperslab_array::{Error, Result};
use hyperslab_formats::{Interpretation, Limits, OpenOptions};

use crate::{Counters, Extensions, MissingSources, PathPolicy, buffer_pool};

/// Options of a session.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct SessionOptions {
    /// Decoding threads; `None` is one per core.
    pub threads: Option<usize>,
    /// Limits on what a file may cost.
    pub limits: Limits,
    /// Whether netCDF-4 conventions are applied.
    pub interpretation: Interpretation,
    /// Which files a file may cause to be opened.
    pub paths: PathPolicy,
    /// What to do about missing sources of virtual datasets.
    pub missing_sources: MissingSources,
}

impl SessionOptions {
    /// With this number of decoding threads; `None` is one per core.
    #[must_use]
    pub fn with_threads(self, threads: Option<usize>) -> Self {
        Self { threads, ..self }
    }

    /// With these limits on what a file may cost.
    #[must_use]
    pub fn with_limits(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    /// With netCDF-4 conventions applied or not.
    #[must_use]
    pub fn with_interpretation(self, interpretation: Interpretation) -> Self {
        Self { interpretation, ..self }
    }

    /// With this policy on files that a file may cause to be opened.
    #[must_use]
    pub fn with_paths(self, paths: PathPolicy) -> Self {
        Self { paths, ..self }
    }

    /// With this answer to missing sources of virtual datasets.
    #[must_use]
    pub fn with_missing_sources(self, missing_sources: MissingSources) -> Self {
        Self { missing_sources, ..self }
    }
}

/// Threads and limits. Cheap to clone.
#[derive(Clone)]
pub struct Session(Arc<Shared>);

/// State shared by all handles of a session.
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

/// A thread pool and the process that it was started in: a forked child has none of its parent's threads.
#[derive(Clone)]
struct Started {
    process: u32,
    pool: Arc<rayon::ThreadPool>,
}

impl Session {
    /// A session without extensions; its threads start on first use.
    ///
    /// # Errors
    /// `InvalidInput` for 0 threads.
    pub fn new(options: SessionOptions) -> Result<Self> {
        Self::with_extensions(options, Extensions::default())
    }
    /// A session that keeps `extensions` for crates above the reader.
    ///
    /// # Errors
    /// `InvalidInput` for 0 threads.
    pub fn with_extensions(options: SessionOptions, extensions: Extensions) -> Result<Self> {
        if options.threads == Some(0) {
            return Err(Error::invalid_input("0 threads decode nothing: give 1 or more, or leave it out"));
        }
        let open = OpenOptions::new(options.limits, options.interpretation);
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
    /// Counters of the work that this session's reads have done.
    pub fn counters(&self) -> &Counters {
        &self.0.counters
    }
    /// The extension of type `T` that the session was created with, if any.
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
    ///
    /// # Errors
    /// `Internal` if the system starts no threads.
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
            .thread_name(|index| format!("hyperslab-{index}"))
            .build()
            .map_err(|e| Error::internal(format!("cannot start threads: {e}")))?;
        let pool = Arc::new(pool);
        // In a forked child the parent's pool cannot be stopped, because its threads do not exist.
        std::mem::forget(slot.replace(Started { process, pool: pool.clone() }));
        Ok(pool)
    }
    /// Runs `work` on the decoding threads of this process; its parallel iterators use them all.
    ///
    /// A thread of another rayon pool waits without taking other work of that pool, unlike in `install`: each such piece
    /// could read another file and wait in turn, until the stack overflows.
    ///
    /// # Errors
    /// That of `work`; `Internal` if the system starts no threads.
    pub fn compute<T: Send>(&self, work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
        let pool = self.pool()?;
        if pool.current_thread_index().is_some() {
            return work();
        }
        let mut outcome = None;
        pool.in_place_scope(|scope| scope.spawn(|_| outcome = Some(work())));
        outcome.unwrap_or_else(|| Err(Error::internal("work on the decoding threads ended without a result")))
    }
    /// Number of decoding threads.
    ///
    /// # Errors
    /// `Internal` if the system starts no threads.
    pub fn thread_count(&self) -> Result<usize> {
        match self.0.threads {
            Some(count) => Ok(count),
            None => Ok(self.pool()?.current_num_threads()),
        }
    }
    /// Memory for values, reused from read to read.
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
