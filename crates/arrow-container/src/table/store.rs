//! Storage of values: memory, or the record batches of a file. Each batch holds a contiguous range of elements.
#![expect(unsafe_code, reason = "maps published files, which are never modified")]

use std::fs::{File, OpenOptions};
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use crate::error::{Result, error};
use crate::files::Region;

/// The place of a leaf in the caller's elements.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Part {
    /// Index of the leaf, counted over all columns.
    pub leaf: usize,
    /// Its byte offset in an element.
    pub at: usize,
}

impl Part {
    /// The leaf with this index, at a byte offset in an element.
    pub fn new(leaf: usize, at: usize) -> Self {
        Self { leaf, at }
    }
}

/// Ranges of elements that were written, as (first, end).
pub(super) type Runs = Vec<(u64, u64)>;

/// The values of a leaf.
#[derive(Debug)]
pub(super) enum Store {
    Memory(Vec<u8>),
    /// In the record batches of the file.
    File,
}

/// A record batch of the file.
#[derive(Debug, Clone, Default)]
pub(super) struct Batch {
    /// Its first element, and one past its last.
    pub(super) first: u64,
    pub(super) end: u64,
    /// Offsets where its body begins and its values end. Its message precedes the body.
    pub(super) body: u64,
    pub(super) values_end: u64,
    /// Offset of each leaf's values; 0 for leaves in memory.
    pub(super) offsets: Vec<u64>,
}

/// Splits `count` elements from `start` on at the borders of record batches: (batch, first element, number of elements).
pub(super) fn parts_of(batches: &[Batch], start: u64, count: u64) -> impl Iterator<Item = (&Batch, u64, u64)> {
    let end = start.saturating_add(count);
    let from = batches.partition_point(|batch| batch.end <= start);
    batches.iter().skip(from).take_while(move |batch| batch.first < end).filter_map(move |batch| {
        let (first, last) = (start.max(batch.first), end.min(batch.end));
        (first < last).then_some((batch, first, last - first))
    })
}

/// A read-only memory map of a file.
#[derive(Debug)]
struct Map {
    address: usize,
    bytes: usize,
}

impl Map {
    /// A map of a file of this user. Another user could cut it, which ends a process that reads the map.
    fn of(file: &File) -> Option<Self> {
        let metadata = file.metadata().ok()?;
        // SAFETY: geteuid always succeeds.
        if metadata.uid() != unsafe { libc::geteuid() } {
            return None;
        }
        let bytes = usize::try_from(metadata.len()).ok().filter(|bytes| *bytes > 0)?;
        // SAFETY: a new map at an address that the system chooses; the descriptor is open.
        let address = unsafe { libc::mmap(std::ptr::null_mut(), bytes, libc::PROT_READ, libc::MAP_SHARED, file.as_raw_fd(), 0) };
        (address != libc::MAP_FAILED).then_some(Self { address: address as usize, bytes })
    }

    fn bytes(&self) -> &[u8] {
        // SAFETY: the map lives as long as `self`; files of a container are never modified or truncated once they are published.
        unsafe { std::slice::from_raw_parts(self.address as *const u8, self.bytes) }
    }
}

impl Drop for Map {
    fn drop(&mut self) {
        // SAFETY: `self` owns the map, and all borrows of it have ended.
        unsafe { libc::munmap(self.address as *mut libc::c_void, self.bytes) };
    }
}

/// A published file, which is never modified again if it is of a container.
#[derive(Debug)]
pub(super) struct Published {
    pub(super) file: Arc<File>,
    pub(super) name: String,
    /// Offset of its first byte, and its length; no length: to the end. It may be a part of a pack.
    pub(super) start: u64,
    pub(super) bytes: Option<u64>,
    map: OnceLock<Option<Map>>,
}

impl Published {
    pub(super) fn new(file: impl Into<Arc<File>>, name: &str) -> Self {
        Self { file: file.into(), name: name.to_owned(), start: 0, bytes: None, map: OnceLock::new() }
    }

    /// A part of a file.
    pub(super) fn part(file: impl Into<Arc<File>>, name: &str, start: u64, bytes: u64) -> Self {
        Self { start, bytes: Some(bytes), ..Self::new(file, name) }
    }

    /// A file that another program wrote, and may write again: it is read, never mapped.
    #[cfg(feature = "plain")]
    pub(super) fn foreign(file: File) -> Self {
        Self { file: file.into(), name: String::new(), start: 0, bytes: None, map: OnceLock::from(None) }
    }

    /// A mapped range of the file; `None` if the file is not mapped or is shorter.
    pub(super) fn mapped(&self, at: u64, bytes: usize) -> Option<&[u8]> {
        let map = self.map.get_or_init(|| Map::of(&self.file)).as_ref()?;
        let at = usize::try_from(at).ok()?;
        map.bytes().get(at..at.checked_add(bytes)?)
    }
}

/// A new place for values.
#[derive(Debug)]
pub(super) enum Aside {
    /// A temporary file.
    File(PathBuf, File),
    /// A part of the file that will replace the archive.
    Region(Region),
}

impl Aside {
    /// Offset of its first byte in the file.
    pub(super) fn start(&self) -> u64 {
        match self {
            Self::File(..) => 0,
            Self::Region(region) => region.start,
        }
    }

    pub(super) fn file(&self) -> &File {
        match self {
            Self::File(_, file) => file,
            Self::Region(region) => region.file(),
        }
    }

    /// Removes it.
    pub(super) fn remove(self) {
        if let Self::File(path, _) = self {
            let _ = std::fs::remove_file(path);
        }
    }
}

/// The file that holds the values of a table.
#[derive(Debug)]
pub(super) enum Backing {
    None,
    /// What only this table writes, and readers do not know yet.
    Aside(Aside),
    Published(Published),
}

impl Backing {
    pub(super) fn file(&self) -> Result<&File> {
        match self {
            Self::Aside(aside) => Ok(aside.file()),
            Self::Published(published) => Ok(&published.file),
            Self::None => Err(error!("the values have no file")),
        }
    }
}

/// Elements that are not in the file yet.
#[derive(Debug)]
pub(super) struct Tail {
    pub(super) first: u64,
    pub(super) count: usize,
    /// The values of each leaf.
    pub(super) columns: Vec<Vec<u8>>,
}

/// Creates a temporary file in `folder`. `shared`: other ranks open the same one.
pub(super) fn aside(folder: &Path, name: &str, shared: bool) -> Result<(PathBuf, File)> {
    let path = folder.join(format!(".{name}.part"));
    let mut options = OpenOptions::new();
    options.read(true).write(true);
    let options = if shared { options.create(true).truncate(false) } else { options.create_new(true) };
    let file = options.open(&path).map_err(|error| error!("cannot write in {}: {error}", folder.display()).with_source(error))?;
    Ok((path, file))
}
