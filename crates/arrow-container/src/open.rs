//! Files: creating, opening, publishing, and who has what open in this process.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::File;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex, OnceLock, Weak};

use super::archive::Archive;
use super::blob::Arena;
use super::catalog::{self, CATALOG, is_container};
use super::fault::{Result, fault, told};
use super::folder::Folder;
use super::guarded::{beside, remove_abandoned, may_write, remove_abandoned_beside, write_lock};
use super::kind::Kind;
use super::model::{Body, Dataset, Object, ObjectId, Tree, lock};
use super::plain;
use super::ranks::Ranks;

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
    /// Create one file, not a folder.
    pub(crate) one_file: bool,
}

/// An open file, shared by all that opened it.
#[derive(Debug)]
pub(crate) struct Container {
    /// The folder or the one file, without links on the way.
    pub(crate) path: PathBuf,
    pub(crate) folder: Folder,
    /// Whether it is one file.
    one_file: bool,
    pub(crate) number: u64,
    pub(crate) writable: AtomicBool,
    pub(crate) tree: Mutex<Tree>,
    /// Blobs that were written since it was opened.
    pub(crate) arena: Arc<Arena>,
    pub(crate) options: Options,
    /// The processes that have it open for writing together.
    pub(crate) ranks: OnceLock<Arc<Ranks>>,
    /// How many handles there are, and how many of them a program got from `H5Fopen` or `H5Fcreate`.
    pub(crate) handles: AtomicUsize,
    pub(crate) file_handles: AtomicUsize,
    pub(super) changed: AtomicBool,
    pub(super) generation: AtomicU64,
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
    #[expect(clippy::too_many_arguments, reason = "each is a field, named at three calls")]
    pub(super) fn assemble(path: PathBuf, folder: Folder, one_file: bool, tree: Tree, generation: u64, writable: bool, options: Options, lock: Option<File>) -> Arc<Self> {
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
            changed: AtomicBool::new(false),
            generation: AtomicU64::new(generation),
            lock: Mutex::new(lock),
        })
    }

    fn already_open(path: &Path) -> Option<Arc<Self>> {
        lock(&OPEN).get(path).and_then(Weak::upgrade)
    }

    /// A file that is none: what a datatype is located in while a file is being opened.
    pub(crate) fn nowhere() -> Arc<Self> {
        Self::assemble(PathBuf::new(), Folder::plain(""), false, Tree::default(), 0, false, Options::default(), None)
    }

    /// What is at a path makes way for a new file, or is refused; the generation of a container that was there.
    fn give_way(path: &Path, how: Create) -> Result<u64> {
        let shown = path.display();
        if std::fs::symlink_metadata(path).is_err() {
            return Ok(0);
        }
        if how == Create::New {
            return Err(fault!("cannot create {shown}: errno = {}, error message = 'File exists'", libc::EEXIST));
        }
        if let Some(open) = path.canonicalize().ok().and_then(|real| Self::already_open(&real)) {
            if open.file_handles.load(Ordering::Relaxed) > 0 {
                return Err(fault!("{shown} is open in this program; close it before it is created anew"));
            }
            open.writable.store(false, Ordering::Relaxed);
            drop(lock(&open.lock).take());
        }
        if is_container(path) {
            return Ok(generation_of(path));
        }
        if path.is_dir() {
            return match std::fs::read_dir(path)?.next() {
                Some(_) => Err(fault!("{shown} is a folder that holds other files; it is not replaced: remove it, or choose another name")),
                None => Ok(0),
            };
        }
        let bytes = std::fs::metadata(path).map_or(0, |metadata| metadata.len());
        if bytes > 0 && !is_hdf5(path) && !Archive::is_claimed(path) {
            return Err(fault!("{shown} is a file, and no HDF5 file; it is not replaced: remove it, or choose another name"));
        }
        Ok(0)
    }

    /// Creates a file; readers see it at once, and what it held before until the first publishing.
    pub(crate) fn create(path: &Path, how: Create, root: Object, creation: Vec<u8>, options: Options) -> Result<Arc<Self>> {
        let shown = path.display();
        let cannot = |error: std::io::Error| fault!("cannot create {shown}: {}", told(&error));
        let mut generation = Self::give_way(path, how)?;
        let (was_file, was_folder) = (path.is_file(), path.is_dir());
        if was_file && !options.one_file {
            std::fs::remove_file(path).map_err(|error| fault!("cannot replace {shown}: {}", told(&error)))?;
        }
        if options.one_file && !was_file && !was_folder {
            // Nobody takes the name for a folder meanwhile, and there is something to lock.
            File::create_new(path).map_err(cannot)?;
        } else if !options.one_file && !was_folder {
            std::fs::create_dir(path).map_err(cannot)?;
        }
        if (options.one_file && was_folder) || (!options.one_file && was_file) {
            generation = 0;
        }
        let real = path.canonicalize()?;
        // What is there stays until the first publishing, which must not be the first to find out.
        may_write(&real).map_err(cannot)?;
        let held = write_lock(&real)?;
        let folder = if options.one_file {
            if held.is_some() {
                remove_abandoned_beside(&real);
            }
            let work = beside(&real, "open");
            std::fs::create_dir(&work).map_err(cannot)?;
            Folder::plain(work)
        } else {
            mark(&real);
            if held.is_some() {
                remove_abandoned(&real);
            }
            Folder::plain(real.clone())
        };
        let container = Self::assemble(real.clone(), folder, options.one_file, Tree::new(creation, root), generation, true, options, held);
        container.changed.store(true, Ordering::Relaxed);
        if generation == 0 {
            container.publish()?;
        }
        register(&container);
        Ok(container)
    }

    /// Opens a file; `kind_of` reads an encoded datatype.
    pub(crate) fn open(path: &Path, writable: bool, options: Options, kind_of: &dyn Fn(&[u8]) -> Result<Kind>) -> Result<Arc<Self>> {
        Self::open_as(path, writable, true, options, kind_of)
    }

    /// As [`Container::open`]; `alone`: no other process may write.
    pub(super) fn open_as(path: &Path, writable: bool, alone: bool, options: Options, kind_of: &dyn Fn(&[u8]) -> Result<Kind>) -> Result<Arc<Self>> {
        let shown = path.display();
        let real = path.canonicalize().map_err(|error| fault!("cannot open {shown}: {}", told(&error)))?;
        // What is open without a file, such as a reference that was never given back, keeps the state that it has.
        let open = Self::already_open(&real).filter(|open| open.writable.load(Ordering::Relaxed) || open.file_handles.load(Ordering::Relaxed) > 0);
        if let Some(container) = open {
            if writable && !container.writable.load(Ordering::Relaxed) {
                return Err(fault!("{shown} is open for reading in this program; close it before it is opened for writing"));
            }
            return Ok(container);
        }
        let one_file = Archive::is_claimed(&real);
        if !one_file && plain::is_plain(&real) {
            if writable {
                return Err(fault!("{shown} is a plain Arrow or Parquet file, which opens for reading only; copy it into a container with h5repack to change it"));
            }
            let container = Self::assemble(real.clone(), Folder::plain(real.parent().unwrap_or(&real)), false, plain::open(&real, kind_of)?, 0, false, options, None);
            register(&container);
            return Ok(container);
        }
        if !real.is_dir() && !one_file {
            return Err(match (is_hdf5(&real), plain::other_form(&real)) {
                (_, Some(form)) => fault!("{shown} is {form}"),
                (true, _) => fault!("{shown} is a native HDF5 file; unset HDF5_VOL_CONNECTOR to open it, or copy it into a container with h5repack"),
                (false, _) => fault!("{shown} is no container of Arrow files, and no plain Arrow or Parquet file"),
            });
        }
        if real.is_dir() && !real.join(CATALOG).exists() {
            return Err(fault!("{shown} is a folder without {CATALOG}: no container, or one whose creation was cut short"));
        }
        let held = if writable && alone { write_lock(&real)? } else { None };
        if writable && (std::fs::metadata(&real)?.permissions().readonly() || may_write(&real).is_err()) {
            return Err(fault!("{shown} cannot be written; open it for reading: errno = {}, error message = 'Permission denied'", libc::EACCES));
        }
        let folder = match (one_file, writable) {
            (false, _) => {
                if held.is_some() {
                    remove_abandoned(&real);
                }
                Folder::plain(real.clone())
            }
            (true, false) => Folder::of_archive(real.clone(), Archive::open(&real)?),
            (true, true) => {
                if held.is_some() {
                    remove_abandoned_beside(&real);
                }
                let archive = Archive::open(&real)?;
                let work = beside(&real, "open");
                std::fs::create_dir(&work).map_err(|error| fault!("{shown} cannot be written: the folder beside it cannot be made: {}", told(&error)))?;
                Folder::of_archive(work, archive)
            }
        };
        let loaded = catalog::load(&folder, kind_of);
        if loaded.is_err() && one_file && writable {
            drop(std::fs::remove_dir(&*folder));
        }
        let (tree, generation) = loaded?;
        let container = Self::assemble(real.clone(), folder, one_file, tree, generation, writable, options, held);
        register(&container);
        Ok(container)
    }

    /// Says that there is something to publish; an error where the file is open for reading.
    pub(crate) fn change(&self) -> Result<()> {
        if !self.writable.load(Ordering::Relaxed) {
            return Err(fault!("{} is open for reading only", self.path.display()));
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
        let super::model::Extent { space, table, file, .. } = &mut *extent;
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
        if lock(&dataset.extent).plain.is_some() {
            lock(&dataset.extent).table = None;
            return Ok(());
        }
        // Several processes publish together, when the file is closed.
        if self.ranks.get().is_some() || !lock(&dataset.extent).table.as_ref().is_some_and(super::table::Table::in_file) {
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
        match self.ranks.get() {
            Some(ranks) if self.writable.load(Ordering::Relaxed) => self.publish_together(ranks),
            _ => self.publish_alone(),
        }
    }

    /// As [`Container::publish`], by one process.
    pub(super) fn publish_alone(&self) -> Result<()> {
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
            if self.one_file {
                self.publish_one_file(&kept)?;
                kept.clear();
                drop(std::fs::remove_file(self.folder.join(CATALOG)));
            }
            remove_superseded(&self.folder, &kept);
            Ok(())
        };
        work().inspect_err(|_| self.changed.store(true, Ordering::Relaxed))
    }

    /// Puts a new file in the place of the one file; its rename is the moment that readers see.
    fn publish_one_file(&self, names: &BTreeSet<String>) -> Result<()> {
        let pieces = names.iter().map(|name| Ok((name.clone(), self.folder.piece(name)?))).collect::<Result<Vec<_>>>()?;
        let aside = beside(&self.path, "part");
        let work = || -> Result<()> {
            let archive = Archive::write(&aside, &pieces, self.options.sync)?;
            // The lock goes over to the new file before anybody can see it.
            let held = if lock(&self.lock).is_some() { write_lock(&aside)? } else { None };
            if self.path.is_dir() {
                let old = beside(&self.path, "open");
                std::fs::rename(&self.path, &old)?;
                std::fs::rename(&aside, &self.path)?;
                std::fs::remove_dir_all(&old)?;
            } else {
                std::fs::rename(&aside, &self.path)?;
            }
            *lock(&self.lock) = held;
            self.folder.replace_archive(archive);
            Ok(())
        };
        work().map_err(|error| {
            let _ = std::fs::remove_file(&aside);
            fault!("cannot write {}: {}", self.path.display(), error.message)
        })?;
        if let (true, Some(parent)) = (self.options.sync, self.path.parent()) {
            File::open(parent)?.sync_all()?;
        }
        Ok(())
    }
}

/// Says that a file is open in this process.
pub(super) fn register(container: &Arc<Container>) {
    lock(&OPEN).insert(container.path.clone(), Arc::downgrade(container));
}

impl Drop for Container {
    fn drop(&mut self) {
        let mut open = lock(&OPEN);
        if open.get(&self.path).is_some_and(|weak| weak.strong_count() == 0) {
            open.remove(&self.path);
        }
        if self.one_file && *self.folder != *self.path {
            drop(std::fs::remove_dir_all(&*self.folder));
        }
        drop(lock(&self.lock).take());
    }
}

fn generation_of(path: &Path) -> u64 {
    let number = |name: &str| name.strip_prefix("links.")?.strip_suffix(".arrow")?.parse().ok();
    let known = match std::fs::read_dir(path) {
        Ok(entries) => entries.flatten().filter_map(|entry| entry.file_name().to_str().and_then(number)).max(),
        Err(_) => Archive::open(path).ok().and_then(|archive| archive.names().filter_map(number).max()),
    };
    known.unwrap_or(1)
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
    let shown = path.display();
    let cannot = |error: std::io::Error| fault!("cannot delete {shown}: {}", told(&error));
    let real = path.canonicalize().map_err(cannot)?;
    if Container::already_open(&real).is_some() {
        return Err(fault!("{shown} is open in this program; close it before it is deleted"));
    }
    if !is_container(&real) {
        return Err(fault!("{shown} is no container of Arrow files; it is not deleted"));
    }
    if real.is_dir() { std::fs::remove_dir_all(&real) } else { std::fs::remove_file(&real) }.map_err(cannot)
}

/// Whether a file can be opened with this connector.
pub(crate) fn is_accessible(path: &Path) -> bool {
    is_container(path) || plain::is_plain(path)
}
