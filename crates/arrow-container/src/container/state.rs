//! Open containers, and the list of those that this process has open.

use std::collections::HashMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex, OnceLock, Weak};

use crate::elements::blob::Arena;
use crate::error::{Result, error};
use crate::files::Folder;
use crate::lock;
use crate::model::Tree;
use crate::ranks::Ranks;

/// Options of a container, which users set in the connector's info string.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Options {
    /// Whether publishing waits until the data are on disk.
    pub sync: bool,
    /// Whether to create one file instead of a folder.
    pub one_file: bool,
}

/// An open container, shared by all handles that this process has of it.
#[derive(Debug)]
pub struct Container {
    /// The folder or the one file, with symbolic links resolved.
    pub path: PathBuf,
    /// Its Arrow files.
    pub folder: Folder,
    /// Whether it is one file, not a folder.
    pub(super) one_file: bool,
    /// Identifies the container while it is open (`H5Fget_fileno`).
    pub number: u64,
    /// Whether it is open for writing.
    pub writable: AtomicBool,
    /// Its objects.
    pub tree: Mutex<Tree>,
    /// The blobs that were written since it was opened.
    pub arena: Arc<Arena>,
    /// The options that it was opened with.
    pub options: Options,
    /// The MPI ranks that have it open for writing together.
    pub ranks: OnceLock<Arc<Ranks>>,
    /// Number of open handles.
    pub handles: AtomicUsize,
    /// Number of open handles from `H5Fopen` and `H5Fcreate`.
    pub file_handles: AtomicUsize,
    /// Whether this process removes the folder next to the one file: no other rank has made it.
    pub(super) owns_folder: bool,
    pub(super) changed: AtomicBool,
    /// Whether several ranks have flushed changes into the folder next to the one file, which the file does not have yet.
    pub(super) flushed: AtomicBool,
    /// Whether the file at the path is empty, or a container without objects that this process has created.
    pub(super) replaces_nothing: AtomicBool,
    pub(super) generation: AtomicU64,
    pub(super) lock: Mutex<Option<File>>,
}

/// What a container is assembled from.
pub(super) struct Parts {
    pub path: PathBuf,
    pub folder: Folder,
    pub one_file: bool,
    pub owns_folder: bool,
    pub tree: Tree,
    /// Which version of the catalog is the current one.
    pub generation: u64,
    pub writable: bool,
    pub options: Options,
    /// Holds the lock of the only writer.
    pub lock: Option<File>,
}

static OPEN: LazyLock<Mutex<HashMap<PathBuf, Weak<Container>>>> = LazyLock::new(Default::default);
static NUMBERS: AtomicU64 = AtomicU64::new(1);

impl Container {
    pub(super) fn assemble(parts: Parts) -> Arc<Self> {
        let Parts { path, folder, one_file, owns_folder, tree, generation, writable, options, lock } = parts;
        Arc::new(Self {
            path,
            folder,
            one_file,
            number: NUMBERS.fetch_add(1, Ordering::Relaxed),
            writable: AtomicBool::new(writable),
            tree: Mutex::new(tree),
            arena: Arena::new(),
            options,
            ranks: OnceLock::new(),
            handles: AtomicUsize::new(0),
            file_handles: AtomicUsize::new(0),
            owns_folder,
            changed: AtomicBool::new(false),
            flushed: AtomicBool::new(false),
            replaces_nothing: AtomicBool::new(false),
            generation: AtomicU64::new(generation),
            lock: Mutex::new(lock),
        })
    }

    pub(super) fn already_open(path: &Path) -> Option<Arc<Self>> {
        lock(&OPEN).get(path).and_then(Weak::upgrade)
    }

    /// A container without files, in which datatypes are located while a container is being opened.
    pub fn placeholder() -> Arc<Self> {
        Self::assemble(Parts {
            path: PathBuf::new(),
            folder: Folder::plain(""),
            one_file: false,
            owns_folder: false,
            tree: Tree::default(),
            generation: 0,
            writable: false,
            options: Options::default(),
            lock: None,
        })
    }

    /// Records that there are changes to publish.
    ///
    /// # Errors
    /// If the container is open for reading.
    pub fn change(&self) -> Result<()> {
        if !self.writable.load(Ordering::Relaxed) {
            return Err(error!("{} is open for reading only", self.path.display()));
        }
        self.changed.store(true, Ordering::Relaxed);
        Ok(())
    }
}

/// Adds a container to those that are open in this process.
pub(super) fn register(container: &Arc<Container>) {
    lock(&OPEN).insert(container.path.clone(), Arc::downgrade(container));
}

impl Drop for Container {
    fn drop(&mut self) {
        let mut open = lock(&OPEN);
        if open.get(&self.path).is_some_and(|weak| weak.strong_count() == 0) {
            open.remove(&self.path);
        }
        // What was flushed, and could not be put into the file, stays for the next writer.
        let is_published = !self.flushed.load(Ordering::Relaxed);
        if self.one_file && self.owns_folder && is_published && *self.folder != *self.path {
            drop(std::fs::remove_dir_all(&*self.folder));
        }
        drop(lock(&self.lock).take());
    }
}
