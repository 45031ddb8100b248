//! The files of a container: in a folder, or all in one file.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hyperslab_array::{Error, ErrorKind, Result};
use hyperslab_arrow_container::catalog::CATALOG;
use hyperslab_arrow_container::files::archive::{self, MARK_AT, MARK_BYTES};
use hyperslab_arrow_container::files::ipc::{Found, find_with};
use hyperslab_arrow_container::files::reader_lock;
use hyperslab_storage::{ForkMutex, LocalFile, Opening, Storage, modified};

/// Whether a folder is a container.
pub fn is_folder(path: &Path) -> bool {
    path.is_dir() && path.join(CATALOG).is_file()
}

/// The catalog of a container that is a folder; `None` for other paths.
pub fn catalog_of(path: &Path) -> Option<PathBuf> {
    is_folder(path).then(|| path.join(CATALOG))
}

/// Whether these bytes are a container that is one file.
///
/// # Errors
/// `Io` if they cannot be read.
pub fn is_one_file(storage: &dyn Storage) -> Result<bool> {
    const MAGIC: [u8; 6] = *b"ARROW1";
    if storage.len() < MARK_AT + MARK_BYTES as u64 {
        return Ok(false);
    }
    let (mut magic, mut mark) = ([0; MAGIC.len()], [0; MARK_BYTES]);
    storage.read_exact_at(0, &mut magic)?;
    if magic != MAGIC {
        return Ok(false);
    }
    storage.read_exact_at(MARK_AT, &mut mark)?;
    Ok(archive::is_mark(&mark))
}

/// One file of a container: a range of a storage.
#[derive(Clone)]
pub(crate) struct Part {
    pub storage: Arc<dyn Storage>,
    pub start: u64,
    pub length: u64,
}

/// What identifies the state of the catalog.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    device: u64,
    inode: u64,
    bytes: u64,
    modified_nanoseconds: Option<u64>,
}

impl Stamp {
    fn of(path: &Path) -> Result<Self> {
        let metadata = std::fs::metadata(path).map_err(|error| Error::from(error).in_file(path.display().to_string()))?;
        Ok(Self { device: metadata.dev(), inode: metadata.ino(), bytes: metadata.len(), modified_nanoseconds: modified(&metadata) })
    }
}

/// Where the files of a container are.
pub(crate) enum Place {
    /// Files of a folder. If the container must lie beneath another folder, no symbolic link leads out of that.
    Folder { path: PathBuf, beneath: Option<PathBuf>, stamp: FolderStamp, held: ForkMutex<Option<File>>, packs: Vec<Pack> },
    /// Ranges of one file, by name.
    OneFile { storage: Arc<dyn Storage>, members: BTreeMap<String, (u64, u64)> },
}

/// The files of small datasets, in one file of the folder.
pub(crate) struct Pack {
    storage: Arc<dyn Storage>,
    members: BTreeMap<String, (u64, u64)>,
}

/// The state of a folder's catalog when it was opened.
pub(crate) struct FolderStamp(Stamp);

impl Place {
    pub fn folder(path: &Path, beneath: Option<&Path>) -> Result<Self> {
        let stamp = FolderStamp(Stamp::of(&path.join(CATALOG))?);
        Ok(Self::Folder { path: path.to_path_buf(), beneath: beneath.map(Path::to_path_buf), stamp, held: ForkMutex::new(None), packs: Vec::new() })
    }

    pub fn one_file(storage: Arc<dyn Storage>, max_bytes: u64) -> Result<Self> {
        let read = |offset: u64, bytes: usize| read_part(storage.as_ref(), offset, bytes, max_bytes);
        let members = archive::members(&read, storage.len()).map_err(|error| Error::corrupt(error.message))?;
        Ok(Self::OneFile { storage, members })
    }

    /// Keeps the files of the generation whose links have this name, as long as the container is open.
    ///
    /// # Errors
    /// `Conflict` if it was replaced meanwhile.
    pub fn hold(&mut self, links: &str) -> Result<()> {
        if let Self::Folder { path, held, .. } = self {
            *held = ForkMutex::new(reader_lock::hold(&path.join(links)).map_err(|error| Error::busy(error.message))?);
        }
        Ok(())
    }

    /// Opens the packs of a container that is a folder.
    ///
    /// # Errors
    /// As for [`Place::open`]; `Corrupt` if a pack is damaged.
    pub fn open_packs(&mut self, names: &[String], max_bytes: u64) -> Result<()> {
        let opened = names.iter().map(|name| {
            let Part { storage, length, .. } = self.open(name)?;
            let read = |offset: u64, bytes: usize| read_part(storage.as_ref(), offset, bytes, max_bytes);
            let members = archive::members(&read, length).map_err(|error| Error::corrupt(format!("{name}: {}", error.message)))?;
            Ok(Pack { storage, members })
        });
        let opened = opened.collect::<Result<Vec<_>>>()?;
        if let Self::Folder { packs, .. } = self {
            *packs = opened;
        }
        Ok(())
    }

    /// The container's path or name, for messages.
    pub fn name(&self) -> String {
        match self {
            Self::Folder { path, .. } => path.display().to_string(),
            Self::OneFile { storage, .. } => storage.name().to_owned(),
        }
    }

    /// Whether another state was published since it was opened. That of one file is not: it stays what was opened.
    pub fn has_changed(&self) -> bool {
        match self {
            Self::Folder { path, stamp, .. } => Stamp::of(&path.join(CATALOG)).map_or(true, |now| now != stamp.0),
            Self::OneFile { .. } => false,
        }
    }

    /// Whether each read of it may wait for a network.
    pub fn is_remote(&self) -> bool {
        match self {
            Self::Folder { .. } => false,
            Self::OneFile { storage, .. } => storage.is_remote(),
        }
    }

    /// Closes the one file, or lets writers remove the files of a folder's generation. Files of a folder are closed by those who
    /// opened them.
    pub fn close(&self) {
        match self {
            Self::Folder { held, packs, .. } => {
                drop(held.lock().and_then(|mut held| held.take()));
                packs.iter().for_each(|pack| pack.storage.close());
            }
            Self::OneFile { storage, .. } => storage.close(),
        }
    }

    /// Time of the last publishing, in nanoseconds since 1970, if known.
    pub fn modified_nanoseconds(&self) -> Option<u64> {
        match self {
            Self::Folder { stamp, .. } => stamp.0.modified_nanoseconds,
            Self::OneFile { storage, .. } => storage.modified_nanoseconds(),
        }
    }

    /// Length of the catalog, or of the one file.
    pub fn stamped_bytes(&self) -> u64 {
        match self {
            Self::Folder { stamp, .. } => stamp.0.bytes,
            Self::OneFile { storage, .. } => storage.len(),
        }
    }

    /// Opens the file of this name.
    ///
    /// # Errors
    /// `Conflict` if another program has replaced the container's state since it was opened; `NotFound`, `Corrupt` or `Io`.
    pub fn open(&self, name: &str) -> Result<Part> {
        match self {
            Self::OneFile { storage, members } => {
                let (start, length) = *members.get(name).ok_or_else(|| Error::corrupt(format!("the file '{name}' is missing in the container")))?;
                Ok(Part { storage: storage.clone(), start, length })
            }
            Self::Folder { path, beneath, stamp, packs, .. } => {
                let packed = packs.iter().rev().find_map(|pack| pack.members.get(name).map(|place| (pack, *place)));
                if let Some((pack, (start, length))) = packed {
                    return Ok(Part { storage: Arc::clone(&pack.storage), start, length });
                }
                if name.contains('/') || matches!(name, "" | "." | "..") {
                    return Err(Error::corrupt(format!("the file name '{name}' leads out of the container")));
                }
                let file = match LocalFile::open_as(&path.join(name), Opening::Source, beneath.as_deref()) {
                    Ok(file) => file,
                    Err(error) if error.kind() == ErrorKind::NotFound && self.has_changed() => return Err(changed()),
                    Err(error) if error.kind() == ErrorKind::NotFound => return Err(Error::corrupt(format!("the file '{name}' of the container is missing"))),
                    Err(error) => return Err(error),
                };
                // A container that was made again may have files of the same names.
                let is_later = || file.modified_nanoseconds().zip(stamp.0.modified_nanoseconds).is_none_or(|(file, catalog)| file > catalog);
                if self.has_changed() && is_later() {
                    return Err(changed());
                }
                let length = file.len();
                Ok(Part { storage: Arc::new(file), start: 0, length })
            }
        }
    }
}

fn changed() -> Error {
    Error::new(ErrorKind::Conflict, "another program has rewritten the container since it was opened: open it again")
}

fn read_part(storage: &dyn Storage, offset: u64, bytes: usize, max_bytes: u64) -> hyperslab_arrow_container::error::Result<Vec<u8>> {
    let failed = |error: Error| hyperslab_arrow_container::error::Error::new(error.message()).with_source(std::io::Error::other(error.to_string()));
    if bytes as u64 > max_bytes {
        return Err(failed(Error::limit_exceeded(format!("{bytes} bytes of metadata (limit metadata_block_bytes)"))));
    }
    let mut out = Vec::new();
    out.try_reserve_exact(bytes).map_err(|_| failed(Error::limit_exceeded(format!("no memory for {bytes} bytes of metadata"))))?;
    out.resize(bytes, 0);
    storage.read_exact_at(offset, &mut out).map_err(failed)?;
    Ok(out)
}

impl Part {
    /// Where the record batches of this Arrow file are. Offsets count from the beginning of the storage.
    ///
    /// # Errors
    /// `Corrupt` if it is damaged; `Unsupported` if it is compressed.
    pub fn batches(&self, max_bytes: u64) -> Result<Found> {
        let read = |offset: u64, bytes: usize| read_part(self.storage.as_ref(), offset, bytes, max_bytes);
        let found = find_with(&read, self.start, self.length).map_err(|error| Error::corrupt(error.message))?;
        if found.has_dictionaries || found.batches.iter().any(|batch| batch.compressed) {
            return Err(Error::unsupported("compressed or dictionary-encoded values in a container"));
        }
        Ok(found)
    }
}

/// Reads a part from its beginning.
pub(crate) struct PartReader {
    pub part: Part,
    pub at: u64,
}

impl Read for PartReader {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        let left = usize::try_from(self.part.length.saturating_sub(self.at)).unwrap_or(usize::MAX);
        let length = out.len().min(left);
        let out = out.get_mut(..length).unwrap_or_default();
        if !out.is_empty() {
            self.part.storage.read_exact_at(self.part.start + self.at, out).map_err(|error| std::io::Error::other(error.to_string()))?;
        }
        self.at += length as u64;
        Ok(length)
    }
}

impl Seek for PartReader {
    fn seek(&mut self, to: SeekFrom) -> std::io::Result<u64> {
        let at = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::End(by) => self.part.length.checked_add_signed(by),
            SeekFrom::Current(by) => self.at.checked_add_signed(by),
        };
        self.at = at.ok_or_else(|| std::io::Error::from(std::io::ErrorKind::InvalidInput))?;
        Ok(self.at)
    }
}
