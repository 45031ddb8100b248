//! Session: threads and limits, shared by all files that it opens.

use std::sync::{Arc, OnceLock};

use hyperslab_array::{Error, Result};
use hyperslab_formats::{Interpretation, Limits, OpenOptions};

use hyperslab_storage::{PerProcess, RangesVersion, RemoteFile, RemoteOpener, StorageOptions};

use crate::kept::buffer_pool;
use crate::{ChunkCache, Counters, Extensions, MissingSources, PathPolicy};

/// Default of [`SessionOptions::chunk_cache_bytes`].
const CHUNK_CACHE_BYTES: u64 = 64 << 20;
/// A chunk of more than 1/8 of the cache is not kept.
const KEPT_CHUNK_SHARE: u64 = 8;

/// Options of a session.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct SessionOptions {
    /// Decoding threads; `None` is as many as the profile of this machine says, or one per core.
    pub threads: Option<usize>,
    /// Limits on what a file may cost.
    pub limits: Limits,
    /// Whether netCDF-4 conventions are applied.
    pub interpretation: Interpretation,
    /// Which files a file may cause to be opened.
    pub paths: PathPolicy,
    /// What to do about missing sources of virtual datasets.
    pub missing_sources: MissingSources,
    /// Bytes of decoded chunks that are kept for small reads of neighboring elements, over all files of the session; 0 keeps
    /// none. A chunk of more than an eighth of it is not kept.
    pub chunk_cache_bytes: u64,
    /// A cache of decoded chunks that the scans of several sessions share; without one, each scan has its own.
    pub scan_chunks: Option<Arc<ChunkCache>>,
    /// Options of object stores and HTTP servers.
    pub storage: StorageOptions,
    /// Opens addresses instead of the stores that are built in.
    pub opener: Option<Arc<dyn RemoteOpener>>,
}

impl Default for SessionOptions {
    fn default() -> Self {
        let (threads, limits, interpretation, paths, missing_sources, scan_chunks, storage, opener) = Default::default();
        Self { threads, limits, interpretation, paths, missing_sources, chunk_cache_bytes: CHUNK_CACHE_BYTES, scan_chunks, storage, opener }
    }
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

    /// With these options of object stores and HTTP servers.
    #[must_use]
    pub fn with_storage(self, storage: StorageOptions) -> Self {
        Self { storage, ..self }
    }

    /// With an opener of addresses, such as of a Hadoop file system, instead of the stores that are built in.
    #[must_use]
    pub fn with_opener(self, opener: Option<Arc<dyn RemoteOpener>>) -> Self {
        Self { opener, ..self }
    }

    /// With this many bytes of decoded chunks kept for small reads; 0 keeps none.
    #[must_use]
    pub fn with_chunk_cache_bytes(self, chunk_cache_bytes: u64) -> Self {
        Self { chunk_cache_bytes, ..self }
    }

    /// With a cache of decoded chunks that scans share with those of other sessions; `None` gives each scan its own.
    #[must_use]
    pub fn with_scan_chunks(self, scan_chunks: Option<Arc<ChunkCache>>) -> Self {
        Self { scan_chunks, ..self }
    }
}

/// Threads and limits. Cheap to clone.
#[derive(Clone)]
pub struct Session(Arc<Shared>);

/// State shared by all handles of a session.
struct Shared {
    threads: Option<usize>,
    pool: PerProcess<OnceLock<Started>>,
    options: OpenOptions,
    paths: PathPolicy,
    missing_sources: MissingSources,
    values: Arc<buffer_pool::BufferPool>,
    chunk_cache_bytes: u64,
    chunk_cache: PerProcess<ChunkCache>,
    scan_chunks: Option<Arc<ChunkCache>>,
    counters: Counters,
    extensions: Extensions,
    storage: StorageOptions,
    opener: Option<Arc<dyn RemoteOpener>>,
}

/// A thread pool and the process that it was started in: a forked child has none of its parent's threads.
struct Started {
    process: u32,
    pool: Option<Arc<rayon::ThreadPool>>,
}

impl Drop for Started {
    /// In a forked child, the parent's pool cannot be stopped, because its threads do not exist.
    fn drop(&mut self) {
        if self.process != std::process::id() {
            std::mem::forget(self.pool.take());
        }
    }
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
        let open = OpenOptions::new(options.limits, options.interpretation).with_members(options.paths != PathPolicy::Nowhere);
        Ok(Self(Arc::new(Shared {
            threads: options.threads.or(hyperslab_storage::profile().settings.threads),
            pool: PerProcess::new(OnceLock::new()),
            options: open,
            paths: options.paths,
            missing_sources: options.missing_sources,
            values: Arc::default(),
            chunk_cache_bytes: options.chunk_cache_bytes,
            chunk_cache: PerProcess::new(ChunkCache::new(options.chunk_cache_bytes)),
            scan_chunks: options.scan_chunks,
            counters: Counters::new(),
            extensions,
            storage: options.storage,
            opener: options.opener,
        })))
    }
    /// Options of the object stores and HTTP servers that files are read from.
    pub fn storage_options(&self) -> &StorageOptions {
        &self.0.storage
    }
    /// Opens the file at an address.
    pub(crate) fn open_remote(&self, address: &str) -> Result<RemoteFile> {
        match &self.0.opener {
            Some(opener) => RemoteFile::open_by(address, opener),
            None => RemoteFile::open_within(address, &self.0.storage, self.limits().metadata_bytes),
        }
    }
    /// Whether addresses are opened by a program's own opener, which gives names in them another meaning than URLs do.
    pub(crate) fn has_opener(&self) -> bool {
        self.0.opener.is_some()
    }
    /// The version of the file at an address; `None` if only opening it tells.
    ///
    /// # Errors
    /// Those of the opener.
    pub fn remote_version(&self, address: &str) -> Result<Option<RangesVersion>> {
        self.0.opener.as_ref().map(|opener| RemoteFile::version_by(address, opener)).transpose()
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
    /// Whether a file may cause others to be opened.
    pub fn may_open_others(&self) -> bool {
        self.0.paths != PathPolicy::Nowhere
    }
    pub(crate) fn missing_sources(&self) -> MissingSources {
        self.0.missing_sources
    }
    /// The decoding threads of this process.
    ///
    /// # Errors
    /// `Internal` if the system starts no threads.
    pub fn pool(&self) -> Result<Arc<rayon::ThreadPool>> {
        let started = self.0.pool.get(OnceLock::new);
        if let Some(pool) = started.get().and_then(|started| started.pool.clone()) {
            return Ok(pool);
        }
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(self.0.threads.unwrap_or(0))
            .thread_name(|index| format!("hyperslab-{index}"))
            .build()
            .map_err(|e| Error::internal(format!("cannot start threads: {e}")))?;
        let pool = Some(Arc::new(pool));
        // Another thread may have started one meanwhile; then this one stops.
        let started = started.get_or_init(|| Started { process: std::process::id(), pool });
        started.pool.clone().ok_or_else(|| Error::internal("a thread pool without threads"))
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
    /// Decoded chunks of small reads; `None` if none are kept.
    pub(crate) fn chunk_cache(&self) -> Option<&ChunkCache> {
        let max_bytes = self.0.chunk_cache_bytes;
        (max_bytes > 0).then(|| self.0.chunk_cache.get(|| ChunkCache::new(max_bytes)))
    }
    /// The cache of decoded chunks that scans share with those of other sessions, if there is one.
    pub fn scan_chunks(&self) -> Option<&Arc<ChunkCache>> {
        self.0.scan_chunks.as_ref()
    }
    /// Bytes of the largest chunk that is kept for small reads.
    pub(crate) fn max_kept_chunk_bytes(&self) -> u64 {
        self.0.chunk_cache_bytes / KEPT_CHUNK_SHARE
    }
    pub(crate) fn open_options(&self) -> &OpenOptions {
        &self.0.options
    }
    /// What a file may cost.
    pub fn limits(&self) -> &Limits {
        &self.0.options.limits
    }
}
