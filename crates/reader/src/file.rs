//! File: an open file with its session. Finding objects, describing and reading them are in files of their own:
//! `find`, `objects`, `walk`, `dataset`, `read`.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, MutexGuard, OnceLock};

use hyperslab_array::{Error, Result};
use hyperslab_formats::{ArrayFile, Dataset, Format, ObjectId};
use hyperslab_storage::{ForkMutex, shown_address};

use crate::Session;
use crate::kept::chunk_cache::{ChunkCache, FileIdentity};
use crate::kept::chunk_places::ChunkPlaces;
use crate::kept::linked_files::LinkedFiles;
use crate::kept::look_ahead::LookAhead;
use crate::kept::paths::Paths;

/// Most links followed from a virtual dataset to its sources, and from those to theirs, in one read.
const MAX_STEPS: u64 = 1 << 18;

/// An open HDF5 or netCDF file. Cheap to clone; any number of threads read it at once.
#[derive(Clone)]
pub struct File {
    opened: Arc<Opened>,
    /// Number of links followed from the file that was opened first, to other files or back into this one.
    depth: u32,
    /// Whether virtual datasets have the extent that was written: while present extents are being determined.
    as_written: bool,
    /// Cache of decoded chunks, in a scan whose windows share chunks.
    chunks: Option<Arc<ChunkCache>>,
    /// While a virtual dataset is read: the number of links that may still be followed, shared by all of its sources.
    steps: Option<Arc<AtomicU64>>,
}

/// Current descriptions of virtual datasets; `None` for one whose extent is as written.
pub(crate) type PresentExtents = HashMap<ObjectId, Option<Arc<Dataset>>>;

/// State shared by all handles of an opened file.
struct Opened {
    /// Identifies it among all openings of this process, also those that have ended.
    number: u64,
    session: Session,
    path: Arc<Path>,
    array_file: Arc<dyn ArrayFile>,
    linked_files: OnceLock<LinkedFiles<File>>,
    /// Virtual datasets whose extent was determined.
    present_extents: ForkMutex<PresentExtents>,
    /// State that crates above keep with the file, by type.
    kept: ForkMutex<HashMap<TypeId, Arc<dyn Any + Send + Sync>>>,
    paths: Paths,
    chunk_places: ChunkPlaces,
    look_ahead: LookAhead,
    /// Whether the session may keep decoded chunks of it.
    has_kept_chunks: AtomicBool,
    /// The opening under which scans keep its chunks.
    scan_opening: OnceLock<u64>,
}

/// The number of the next opening.
static NEXT: AtomicU64 = AtomicU64::new(0);

impl Drop for Opened {
    fn drop(&mut self) {
        self.forget_chunks();
    }
}

impl Opened {
    /// Drops the decoded chunks that the session keeps of it.
    fn forget_chunks(&self) {
        if self.has_kept_chunks.load(Ordering::Relaxed)
            && let Some(cache) = self.session.chunk_cache()
        {
            cache.forget(self.number);
        }
    }
}

/// Two handles are equal if they come from the same opening.
impl PartialEq for File {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.opened.array_file, &other.opened.array_file)
    }
}
impl Eq for File {}
impl std::hash::Hash for File {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        Arc::as_ptr(&self.opened.array_file).cast::<()>().hash(state);
    }
}

impl File {
    pub(crate) fn new(session: Session, path: impl Into<Arc<Path>>, array_file: Arc<dyn ArrayFile>, depth: u32) -> Self {
        let path = path.into();
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let (linked_files, present_extents, kept, paths, chunk_places, look_ahead, has_kept_chunks, scan_opening) = Default::default();
        let opened = Arc::new(Opened {
            number,
            session,
            path,
            array_file,
            linked_files,
            present_extents,
            kept,
            paths,
            chunk_places,
            look_ahead,
            has_kept_chunks,
            scan_opening,
        });
        Self { opened, depth, as_written: false, chunks: None, steps: None }
    }
    pub(crate) fn linked_files(&self) -> &LinkedFiles<Self> {
        self.opened.linked_files.get_or_init(LinkedFiles::default)
    }
    /// The other files that were opened because this one names them, if there are some.
    pub(crate) fn known_linked_files(&self) -> Option<&LinkedFiles<Self>> {
        self.opened.linked_files.get()
    }
    /// The virtual datasets whose extent was determined.
    /// State that a crate above the reader keeps with this opened file, at most one value of each type: the default at first.
    /// It is dropped with the file. In a forked process it may be a fresh value.
    pub fn kept<T: Default + Send + Sync + 'static>(&self) -> Arc<T> {
        let Some(mut kept) = self.opened.kept.lock() else { return Arc::default() };
        let value = kept.entry(TypeId::of::<T>()).or_insert_with(|| Arc::<T>::default()).clone();
        value.downcast().unwrap_or_default()
    }

    pub(crate) fn present_extents(&self) -> Option<MutexGuard<'_, PresentExtents>> {
        self.opened.present_extents.lock()
    }
    /// The paths of objects that are known.
    pub(crate) fn paths(&self) -> &Paths {
        &self.opened.paths
    }
    /// This file, showing virtual datasets with the extent that was written.
    pub(crate) fn as_written(&self) -> Self {
        Self { as_written: true, ..self.clone() }
    }
    /// Whether virtual datasets have the extent that was written.
    pub(crate) fn is_as_written(&self) -> bool {
        self.as_written
    }
    /// This file with a cache for decoded chunks.
    pub fn with_chunks(&self, chunks: Arc<ChunkCache>) -> Self {
        Self { chunks: Some(chunks), ..self.clone() }
    }
    /// The cache of decoded chunks of a scan, if this handle belongs to one.
    pub(crate) fn scan_chunks(&self) -> Option<&ChunkCache> {
        self.chunks.as_deref()
    }
    /// The cache of decoded chunks for small reads, if there is one.
    pub(crate) fn small_read_chunks(&self) -> Option<&ChunkCache> {
        let cache = self.session().chunk_cache()?;
        self.opened.has_kept_chunks.store(true, Ordering::Relaxed);
        Some(cache)
    }
    /// Drops the decoded chunks that the session keeps of it.
    pub(crate) fn forget_chunks(&self) {
        self.opened.forget_chunks();
    }
    /// Identifies this opening among all of this process.
    pub fn opening(&self) -> u64 {
        self.opened.number
    }
    /// The opening under which scans keep the chunks of this file while it is unchanged: if sessions share a cache, that of the first
    /// opening of the same version.
    pub(crate) fn scan_opening(&self) -> u64 {
        *self.opened.scan_opening.get_or_init(|| {
            let shared = self.session().scan_chunks().zip(self.version().ok());
            match shared.filter(|(_, version)| version.modified_nanoseconds.is_some() || version.tag.is_some()) {
                Some((cache, version)) => {
                    let version = (version.bytes, version.modified_nanoseconds, version.tag);
                    cache.first_opening(FileIdentity { path: self.opened.path.clone(), format: self.format().name(), version }, self.opening())
                }
                None => self.opening(),
            }
        })
    }
    /// Where its chunks are, as far as reads have asked.
    pub(crate) fn chunk_places(&self) -> &ChunkPlaces {
        &self.opened.chunk_places
    }
    /// The order in which small reads went through its datasets.
    pub(crate) fn look_ahead(&self) -> &LookAhead {
        &self.opened.look_ahead
    }
    /// This file with a budget of links to follow, unless it has one: for a read that goes from source to source.
    pub(crate) fn with_steps(&self) -> Self {
        let steps = self.steps.clone().unwrap_or_else(|| Arc::new(AtomicU64::new(MAX_STEPS)));
        Self { steps: Some(steps), ..self.clone() }
    }
    /// Follows a link from this file to another file or back into this one. Files that point at each other in a cycle, or
    /// through more links than the budget allows, are `LimitExceeded`.
    pub(crate) fn step_to(&self, name: &str, open: impl FnOnce(u32) -> Result<Self>) -> Result<Self> {
        let depth = self.depth + 1;
        let paid = self.steps.as_ref().is_none_or(|steps| steps.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok());
        if depth > self.session().limits().links_followed || !paid {
            return Err(Error::limit_exceeded(format!("{name} is too many files away: do they point at each other in a circle?")));
        }
        Ok(Self { depth, steps: self.steps.clone(), ..open(depth)? })
    }
    /// Number of links followed from the file that was opened first.
    pub(crate) fn depth(&self) -> u32 {
        self.depth
    }
    /// The path it was opened by.
    pub fn path(&self) -> &Path {
        &self.opened.path
    }
    /// The path as text, for messages and the `_file` column. Of an address, what may be shown: no query and no password.
    pub fn name(&self) -> String {
        shown_address(&self.path().to_string_lossy()).into_owned()
    }
    /// Whether each read of it may wait for a network.
    pub fn is_remote(&self) -> bool {
        self.array_file().storage().is_remote()
    }
    /// HDF5, netCDF classic or netCDF-4.
    pub fn format(&self) -> Format {
        self.array_file().format()
    }
    /// The session it was opened in.
    pub fn session(&self) -> &Session {
        &self.opened.session
    }
    /// The parsed file, in which links to other files and virtual datasets are not resolved.
    pub fn array_file(&self) -> &dyn ArrayFile {
        self.opened.array_file.as_ref()
    }
}
