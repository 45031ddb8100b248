//! Session: threads and limits, shared by all files that it opens.

use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use hyperslab_array::{Error, ErrorKind, Result};
use hyperslab_formats::{Content, Interpretation, Limits, OpenOptions, Tree, hdf5};
use hyperslab_storage::{LocalFile, Memory, Storage};
use rayon::prelude::*;

use crate::{Counters, Extensions, File, MissingSources, PathPolicy, buffer_pool};

/// How often a file is read anew whose writer (SWMR) was in the middle of a change, and how long to wait.
const MAX_TRIES: u32 = 50;
const BETWEEN_TRIES: Duration = Duration::from_millis(2);

/// The outcome of `attempt`, made anew as long as it `is_torn`: seen in the middle of a writer's change.
pub(crate) fn retry_while_torn<T>(mut attempt: impl FnMut() -> Result<T>, is_torn: impl Fn(&T) -> bool) -> Result<T> {
    for _ in 1..MAX_TRIES {
        let outcome = attempt()?;
        if !is_torn(&outcome) {
            return Ok(outcome);
        }
        std::thread::sleep(BETWEEN_TRIES);
    }
    attempt()
}

/// Whether a writer has the file open; what cannot tell is not being written.
pub(crate) fn being_written(storage: &dyn Storage) -> bool {
    hdf5::is_being_written(storage).unwrap_or(false)
}

/// Whether another program, or another handle of this one, has locked the file for writing, as the HDF5 library does.
fn is_locked(path: &Path) -> bool {
    let Ok(file) = std::fs::File::open(path) else { return false };
    matches!(file.try_lock_shared(), Err(std::fs::TryLockError::WouldBlock))
}

/// What a file that is being written contradicts is not damage.
fn unfinished(error: &Error) -> Error {
    let message = format!("the file is open for writing elsewhere, and not complete on the disk: close or flush it there first ({})", error.message());
    let named = Error::new(ErrorKind::Conflict, message);
    match error.file() {
        Some(file) => named.in_file(file),
        None => named,
    }
}

/// Whether some object was unreadable for damage.
fn has_damage(tree: &Tree) -> bool {
    let corrupt = |error: &Error| error.kind() == ErrorKind::Corrupt;
    tree.objects.iter().any(|object| {
        matches!(&object.content, Content::Unreadable(error) if corrupt(error))
            || object.attributes_error.as_ref().is_some_and(corrupt)
    })
}

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
    /// Opens a local file; the bytes tell its format.
    pub fn open(&self, path: impl AsRef<Path>) -> Result<File> {
        self.open_at_depth(path.as_ref(), 0, |path| LocalFile::open(path))
    }
    /// Opens the content of a file that is not on the disk; `path` is for messages.
    pub fn open_content(&self, path: &Path, content: &[u8]) -> Result<File> {
        let storage = Arc::new(Memory::new(path.display().to_string(), content.to_vec()));
        Ok(File::new(self.clone(), path.to_path_buf(), hyperslab_formats::open(storage, &self.0.options)?, 0))
    }
    /// Opens many local files side by side, in the given order; the first error in that order names its file.
    pub fn open_all(&self, paths: &[impl AsRef<Path> + Sync]) -> Result<Vec<File>> {
        let open = |path: &_| {
            let path: &Path = AsRef::as_ref(path);
            self.open(path).map_err(|error| error.in_file(path.display().to_string()))
        };
        if let [one] = paths {
            return Ok(vec![open(one)?]);
        }
        let opened: Vec<Result<File>> = self.compute(|| Ok(paths.par_iter().map(open).collect()))?;
        opened.into_iter().collect()
    }
    /// Opens a file that another one points at, `depth` files away from the first.
    pub(crate) fn open_at_depth(&self, path: &Path, depth: u32, open: fn(&Path) -> Result<LocalFile>) -> Result<File> {
        let (storage, opened) = retry_while_torn(
            || {
                let mut storage = Arc::new(open(path)?);
                if being_written(storage.as_ref()) {
                    storage = Arc::new(LocalFile::open_growing(path)?);
                }
                let opened = hyperslab_formats::open(storage.clone(), &self.0.options);
                Ok((storage, opened))
            },
            |(storage, opened)| match opened {
                Err(error) => error.kind() == ErrorKind::Corrupt && being_written(storage.as_ref()),
                Ok(array_file) => has_damage(array_file.tree()) && being_written(storage.as_ref()),
            },
        )?;
        drop(storage);
        let opened = opened.map_err(|error| if error.kind() == ErrorKind::Corrupt && is_locked(path) { unfinished(&error) } else { error })?;
        Ok(File::new(self.clone(), path.to_path_buf(), opened, depth))
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
    pub(crate) fn limits(&self) -> &Limits {
        &self.0.options.limits
    }
}
