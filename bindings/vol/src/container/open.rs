//! Files: creating, opening, publishing, and who has what open in this process.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::File;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex, Weak};

use super::blob::Arena;
use super::catalog::{self, CATALOG, is_container};
use super::fault::{Result, fault};
use super::kind::Kind;
use super::ranks::Ranks;
use super::model::{Body, Dataset, Object, ObjectId, Tree, lock};

/// A name that no other call gives, on no machine.
pub(crate) fn unique_name() -> String {
    let mut text = String::new();
    for salt in [0u32, 1] {
        let mut hasher = RandomState::new().build_hasher();
        hasher.write_u32(std::process::id() ^ salt);
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        hasher.write_u128(now.map_or(0, |time| time.as_nanos()));
        text.push_str(&format!("{:016x}", hasher.finish()));
    }
    text
}

/// What a user may ask of a file, in the connector's info string.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Options {
    /// Wait until what is published is on the disk.
    pub(crate) sync: bool,
}

/// An open file, shared by all that opened it.
#[derive(Debug)]
pub(crate) struct Container {
    pub(crate) folder: PathBuf,
    pub(crate) number: u64,
    pub(crate) writable: AtomicBool,
    pub(crate) tree: Mutex<Tree>,
    /// Blobs that were written since it was opened.
    pub(crate) arena: Arc<Arena>,
    pub(crate) options: Options,
    /// The processes that have it open for writing together.
    pub(crate) ranks: Option<Arc<Ranks>>,
    /// How many handles there are, and how many of them a program got from `H5Fopen` or `H5Fcreate`.
    pub(crate) handles: AtomicUsize,
    pub(crate) file_handles: AtomicUsize,
    changed: AtomicBool,
    generation: AtomicU64,
    lock: Mutex<Option<File>>,
}

static OPEN: LazyLock<Mutex<HashMap<PathBuf, Weak<Container>>>> = LazyLock::new(Default::default);
static NUMBERS: AtomicU64 = AtomicU64::new(1);

/// How to create a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Create {
    /// There must be nothing of this name.
    New,
    /// What is there is replaced.
    Truncate,
}

fn write_lock(folder: &Path) -> Result<Option<File>> {
    if std::env::var("HDF5_USE_FILE_LOCKING").is_ok_and(|value| matches!(value.as_str(), "FALSE" | "0")) {
        return Ok(None);
    }
    let file = File::open(folder)?;
    // SAFETY: the descriptor is open as long as `file` lives.
    if unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } == 0 {
        return Ok(Some(file));
    }
    let error = std::io::Error::last_os_error();
    match error.raw_os_error() {
        Some(libc::EWOULDBLOCK) => Err(fault!("{} is open for writing in another process; close it there, or set HDF5_USE_FILE_LOCKING=FALSE", folder.display())),
        // A file system without locks.
        _ => Ok(None),
    }
}

/// Removes what a writer left that was killed under way. Only who holds the lock may, before it writes itself.
fn remove_abandoned(folder: &Path) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let left = name.to_str().and_then(|name| name.strip_prefix('.')?.strip_suffix(".part")).is_some_and(|name| name.len() == 32 && name.bytes().all(|byte| byte.is_ascii_hexdigit()));
        if left {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// netCDF-C asks HDF5 to open a folder only where an extended attribute has a name that ends in `.daos`.
fn mark(folder: &Path) {
    use std::os::unix::ffi::OsStrExt;
    let Ok(path) = std::ffi::CString::new(folder.as_os_str().as_bytes()) else { return };
    let value = b"Hyperslab";
    // SAFETY: strings that end with a zero, and a value of its length. A file system without attributes has none.
    unsafe { libc::setxattr(path.as_ptr(), c"user.hyperslab.daos".as_ptr(), value.as_ptr().cast(), value.len(), 0) };
}

fn is_hdf5(path: &Path) -> bool {
    use std::io::Read;
    let mut start = [0; 8];
    File::open(path).and_then(|mut file| file.read_exact(&mut start)).is_ok() && start == *b"\x89HDF\r\n\x1a\n"
}

impl Container {
    fn assemble(folder: PathBuf, tree: Tree, generation: u64, writable: bool, options: Options, lock: Option<File>) -> Arc<Self> {
        Arc::new(Self {
            folder,
            number: NUMBERS.fetch_add(1, Ordering::Relaxed),
            writable: AtomicBool::new(writable),
            tree: Mutex::new(tree),
            arena: Arena::new(),
            options,
            ranks: None,
            handles: AtomicUsize::new(0),
            file_handles: AtomicUsize::new(0),
            changed: AtomicBool::new(false),
            generation: AtomicU64::new(generation),
            lock: Mutex::new(lock),
        })
    }

    fn already_open(folder: &Path) -> Option<Arc<Self>> {
        lock(&OPEN).get(folder).and_then(Weak::upgrade)
    }

    /// A file that is none: what a datatype is located in while a file is being opened.
    pub(crate) fn nowhere() -> Arc<Self> {
        Self::assemble(PathBuf::new(), Tree::default(), 0, false, Options::default(), None)
    }

    /// Creates a file; readers see it at once, and what it held before until the first publishing.
    pub(crate) fn create(path: &Path, how: Create, root: Object, creation: Vec<u8>, options: Options) -> Result<Arc<Self>> {
        let shown = path.display();
        let mut generation = 0;
        match std::fs::symlink_metadata(path) {
            Ok(_) if how == Create::New => return Err(fault!("{shown} exists already")),
            Ok(_) if path.is_dir() => {
                let folder = path.canonicalize()?;
                if let Some(open) = Self::already_open(&folder) {
                    if open.file_handles.load(Ordering::Relaxed) > 0 {
                        return Err(fault!("{shown} is open in this program; close it before it is created anew"));
                    }
                    open.writable.store(false, Ordering::Relaxed);
                    drop(lock(&open.lock).take());
                }
                if is_container(path) {
                    generation = generation_of(path);
                } else if std::fs::read_dir(path)?.next().is_some() {
                    return Err(fault!("{shown} is a folder that holds other files; it is not replaced: remove it, or choose another name"));
                }
            }
            Ok(_) => {
                let bytes = std::fs::metadata(path).map_or(0, |metadata| metadata.len());
                if bytes > 0 && !is_hdf5(path) {
                    return Err(fault!("{shown} is a file, and no HDF5 file; it is not replaced: remove it, or choose another name"));
                }
                std::fs::remove_file(path).map_err(|error| fault!("cannot replace {shown}: {error}"))?;
                std::fs::create_dir(path).map_err(|error| fault!("cannot create {shown}: {error}"))?;
            }
            Err(_) => std::fs::create_dir(path).map_err(|error| fault!("cannot create {shown}: {error}"))?,
        }
        let folder = path.canonicalize()?;
        mark(&folder);
        let held = write_lock(&folder)?;
        if held.is_some() {
            remove_abandoned(&folder);
        }
        let container = Self::assemble(folder.clone(), Tree::new(creation, root), generation, true, options, held);
        container.changed.store(true, Ordering::Relaxed);
        if generation == 0 {
            container.publish()?;
        }
        lock(&OPEN).insert(folder, Arc::downgrade(&container));
        Ok(container)
    }

    /// Opens a file; `kind_of` reads an encoded datatype.
    pub(crate) fn open(path: &Path, writable: bool, options: Options, kind_of: &dyn Fn(&[u8]) -> Result<Kind>) -> Result<Arc<Self>> {
        let shown = path.display();
        let folder = path.canonicalize().map_err(|error| fault!("cannot open {shown}: {error}"))?;
        // What is open without a file, such as a reference that was never given back, keeps the state that it has.
        let open = Self::already_open(&folder).filter(|open| open.writable.load(Ordering::Relaxed) || open.file_handles.load(Ordering::Relaxed) > 0);
        if let Some(container) = open {
            if writable && !container.writable.load(Ordering::Relaxed) {
                return Err(fault!("{shown} is open for reading in this program; close it before it is opened for writing"));
            }
            return Ok(container);
        }
        if !folder.is_dir() {
            return Err(match is_hdf5(&folder) {
                true => fault!("{shown} is a native HDF5 file; unset HDF5_VOL_CONNECTOR to open it, or copy it into a container with h5repack"),
                false => fault!("{shown} is no container of Arrow files"),
            });
        }
        if !folder.join(CATALOG).exists() {
            return Err(fault!("{shown} is a folder without {CATALOG}: no container, or one whose creation was cut short"));
        }
        let held = if writable { write_lock(&folder)? } else { None };
        if writable && std::fs::metadata(&folder)?.permissions().readonly() {
            return Err(fault!("{shown} cannot be written; open it for reading"));
        }
        if held.is_some() {
            remove_abandoned(&folder);
        }
        let (tree, generation) = catalog::load(&folder, kind_of)?;
        let container = Self::assemble(folder.clone(), tree, generation, writable, options, held);
        lock(&OPEN).insert(folder, Arc::downgrade(&container));
        Ok(container)
    }

    /// Says that there is something to publish; an error where the file is open for reading.
    pub(crate) fn change(&self) -> Result<()> {
        if !self.writable.load(Ordering::Relaxed) {
            return Err(fault!("{} is open for reading only", self.folder.display()));
        }
        self.changed.store(true, Ordering::Relaxed);
        Ok(())
    }

    fn value_name(id: ObjectId, path: &str, generation: u64) -> String {
        let last = path.rsplit('/').next().unwrap_or_default();
        let safe: String = last.chars().take(64).map(|c| if c.is_alphanumeric() || c == '_' || c == '-' { c } else { '_' }).collect();
        format!("{safe}-{id}.{generation}.arrow")
    }

    /// Brings the values of a dataset that nobody has open into its file; readers see them with the next publishing.
    pub(crate) fn settle(&self, id: ObjectId, path: &str, dataset: &Dataset) -> Result<()> {
        let mut extent = lock(&dataset.extent);
        let super::model::Extent { space, table, file } = &mut *extent;
        if let Some(values) = table
            && values.changed && self.writable.load(Ordering::Relaxed) {
                let generation = self.generation.load(Ordering::Relaxed) + 1;
                let mut name = Self::value_name(id, path, generation);
                let mut more = 0;
                while self.folder.join(&name).exists() {
                    more += 1;
                    name = Self::value_name(id, path, generation).replace(".arrow", &format!(".{more}.arrow"));
                }
                values.publish(&name, space, self.options.sync)?;
                *file = Some(name);
                self.changed.store(true, Ordering::Relaxed);
            }
        Ok(())
    }

    /// Brings values that lie in a file to rest when nobody has the dataset open, and closes that file.
    pub(crate) fn rest(&self, id: ObjectId, path: &str, dataset: &Dataset) -> Result<()> {
        if !lock(&dataset.extent).table.as_ref().is_some_and(super::table::Table::in_file) {
            return Ok(());
        }
        self.settle(id, path, dataset)?;
        let mut extent = lock(&dataset.extent);
        if extent.file.is_some() && extent.table.as_ref().is_some_and(|table| !table.changed) {
            extent.table = None;
        }
        Ok(())
    }

    /// Makes all that was written visible to those that open the file from now on.
    pub(crate) fn publish(&self) -> Result<()> {
        if !self.writable.load(Ordering::Relaxed) || !self.changed.swap(false, Ordering::Relaxed) {
            return Ok(());
        }
        let work = || -> Result<()> {
            let tree = lock(&self.tree);
            let mut files = BTreeMap::new();
            for (id, path) in tree.reachable() {
                if let Body::Dataset(dataset) = &tree.object(id)?.body {
                    self.settle(id, &path, dataset)?;
                    if let Some(name) = &lock(&dataset.extent).file {
                        files.insert(id, name.clone());
                    }
                }
            }
            let generation = self.generation.load(Ordering::Relaxed) + 1;
            let mut kept: BTreeSet<String> = catalog::save(&tree, &self.folder, generation, &files, self.options.sync)?.into_iter().collect();
            self.generation.store(generation, Ordering::Relaxed);
            self.changed.store(false, Ordering::Relaxed);
            kept.extend(files.into_values());
            // An object without a link lives on while it is open.
            kept.extend(tree.objects.values().filter_map(|object| match &object.body {
                Body::Dataset(dataset) => lock(&dataset.extent).file.clone(),
                _ => None,
            }));
            remove_superseded(&self.folder, &kept);
            Ok(())
        };
        work().inspect_err(|_| self.changed.store(true, Ordering::Relaxed))
    }
}

impl Drop for Container {
    fn drop(&mut self) {
        let mut open = lock(&OPEN);
        if open.get(&self.folder).is_some_and(|weak| weak.strong_count() == 0) {
            open.remove(&self.folder);
        }
        drop(lock(&self.lock).take());
    }
}

fn generation_of(folder: &Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(folder) else { return 1 };
    entries.flatten().filter_map(|entry| entry.file_name().to_str().and_then(|name| name.strip_prefix("links.")?.strip_suffix(".arrow")?.parse().ok())).max().unwrap_or(1)
}

/// Removes files of the forms that this connector writes and that no catalog names any more.
fn remove_superseded(folder: &Path, kept: &BTreeSet<String>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let Some(name) = name.to_str() else { continue };
        let stem = name.strip_suffix(".arrow").unwrap_or_default();
        let numbered = stem.rsplit_once('.').is_some_and(|(front, number)| !front.is_empty() && !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()));
        if numbered && !kept.contains(name) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// Removes a file whole.
pub(crate) fn delete(path: &Path) -> Result<()> {
    let folder = path.canonicalize().map_err(|error| fault!("cannot delete {}: {error}", path.display()))?;
    if Container::already_open(&folder).is_some() {
        return Err(fault!("{} is open in this program; close it before it is deleted", path.display()));
    }
    if !is_container(&folder) {
        return Err(fault!("{} is no container of Arrow files; it is not deleted", path.display()));
    }
    std::fs::remove_dir_all(&folder).map_err(|error| fault!("cannot delete {}: {error}", path.display()))
}

/// Whether a file can be opened with this connector.
pub(crate) fn is_accessible(path: &Path) -> bool {
    is_container(path)
}
