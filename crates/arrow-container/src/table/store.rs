//! Where values lie: in memory, or in a file, whose record batches hold one run of elements each.
#![expect(unsafe_code, reason = "maps published files, which are never changed")]

use std::fs::{File, OpenOptions};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::error::{Result, error};

/// Where the bytes of a leaf lie in an element in somebody's memory.
#[derive(Debug, Clone, Copy)]
pub struct Part {
    /// Which leaf, counted over the columns.
    pub leaf: usize,
    /// Where it begins in the element, in bytes.
    pub at: usize,
}

/// Elements that were written, as first ones and ends.
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
    /// Its first element, and the one after its last.
    pub(super) first: u64,
    pub(super) end: u64,
    /// Where its body begins, and where its values end; the description lies in front of the body.
    pub(super) body: u64,
    pub(super) values_end: u64,
    /// Where the values of each leaf begin; 0 for those in memory.
    pub(super) offsets: Vec<u64>,
}

/// The parts of `count` elements from `start` on in each record batch: (batch, first element, elements).
pub(super) fn parts_of(batches: &[Batch], start: u64, count: u64) -> impl Iterator<Item = (&Batch, u64, u64)> {
    let end = start.saturating_add(count);
    let from = batches.partition_point(|batch| batch.end <= start);
    batches.iter().skip(from).take_while(move |batch| batch.first < end).filter_map(move |batch| {
        let (first, last) = (start.max(batch.first), end.min(batch.end));
        (first < last).then_some((batch, first, last - first))
    })
}

/// A file in memory: pages come as they are touched.
#[derive(Debug)]
struct Map {
    address: usize,
    bytes: usize,
}

impl Map {
    fn of(file: &File) -> Option<Self> {
        let bytes = usize::try_from(file.metadata().ok()?.len()).ok().filter(|bytes| *bytes > 0)?;
        // SAFETY: a new map at a place of the system's choice; the descriptor is open.
        let address = unsafe { libc::mmap(std::ptr::null_mut(), bytes, libc::PROT_READ, libc::MAP_SHARED, file.as_raw_fd(), 0) };
        (address != libc::MAP_FAILED).then_some(Self { address: address as usize, bytes })
    }

    fn bytes(&self) -> &[u8] {
        // SAFETY: the map lives as long as `self`; published files are never written again nor cut.
        unsafe { std::slice::from_raw_parts(self.address as *const u8, self.bytes) }
    }
}

impl Drop for Map {
    fn drop(&mut self) {
        // SAFETY: the map is ours, and nobody has a part of it any more.
        unsafe { libc::munmap(self.address as *mut libc::c_void, self.bytes) };
    }
}

/// A file that is never changed again.
#[derive(Debug)]
pub(super) struct Published {
    pub(super) file: File,
    pub(super) name: String,
    map: OnceLock<Option<Map>>,
}

impl Published {
    pub(super) fn new(file: File, name: &str) -> Self {
        Self { file, name: name.to_owned(), map: OnceLock::new() }
    }

    /// The bytes from `at` on, mapped; `None` where the system maps no files.
    pub(super) fn mapped(&self, at: u64, bytes: usize) -> Option<&[u8]> {
        let map = self.map.get_or_init(|| Map::of(&self.file)).as_ref()?;
        let at = usize::try_from(at).ok()?;
        map.bytes().get(at..at.checked_add(bytes)?)
    }
}

/// What a table's file is for.
#[derive(Debug)]
pub(super) enum Backing {
    None,
    /// Written by us under a name aside; not yet seen by anybody.
    Aside(PathBuf, File),
    Published(Published),
}

impl Backing {
    pub(super) fn file(&self) -> Result<&File> {
        match self {
            Self::Aside(_, file) => Ok(file),
            Self::Published(published) => Ok(&published.file),
            Self::None => Err(error!("values without a file")),
        }
    }
}

/// A file under a name aside; `shared`: one that other processes open too.
pub(super) fn aside(folder: &Path, name: &str, shared: bool) -> Result<(PathBuf, File)> {
    let path = folder.join(format!(".{name}.part"));
    let mut options = OpenOptions::new();
    options.read(true).write(true);
    let options = if shared { options.create(true).truncate(false) } else { options.create_new(true) };
    let file = options.open(&path).map_err(|error| error!("cannot write in {}: {error}", folder.display()))?;
    Ok((path, file))
}
