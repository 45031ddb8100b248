//! Blocks of objects that are kept on disk, for all processes of this user.
//!
//! A block is a file of its own, which appears by a rename and is never changed: no lock is needed, and a killed process leaves at most
//! a temporary file. Nothing waits for the disk; a block that a power failure has torn does not match its checksum, and is fetched again.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use bytes::Bytes;

use super::blocks::BLOCK_BYTES;
use super::identity::ObjectVersion;
use super::private_folder::PrivateFolder;
use crate::EntryName;
use crate::notices::add_of_cache;

const MAGIC: &[u8; 8] = b"HSBLOCK1";
/// Magic, checksum, length of the object's description, length of the block, number of the block.
const HEADER_BYTES: usize = 8 + 4 + 4 + 4 + 8;
/// Allocation unit of common disks, in bytes.
const DISK_UNIT: u64 = 4096;
/// The stored time of a block's last use is updated when it is off by more than this time.
const USE_RESOLUTION: Duration = Duration::from_secs(60);
/// Minimum age of a temporary file that counts as a leftover of a killed process.
const LEFTOVER_AGE: Duration = Duration::from_secs(3600);
/// The size of the cache is not known yet.
const UNKNOWN: u64 = u64::MAX;

/// The cache in one folder.
pub(super) struct DiskBlocks {
    folder: PrivateFolder,
    max_bytes: u64,
    /// Bytes of all blocks when they were last counted.
    counted: AtomicU64,
    /// Bytes that this process has added since.
    added: AtomicU64,
    /// The process that is counting. A forked child counts although a thread of its parent was at it.
    counting: AtomicU32,
    /// Nothing more is written: a write has failed.
    is_off: AtomicBool,
}

/// The blocks of one version of an object.
pub(super) struct ObjectBlocks {
    cache: Arc<DiskBlocks>,
    name: EntryName,
    text: String,
    bytes: u64,
}

/// A block file, as counting finds it.
struct Found {
    used: SystemTime,
    bytes: u64,
    path: PathBuf,
}

impl DiskBlocks {
    /// The cache below `root`.
    ///
    /// # Errors
    /// If the folder cannot be used.
    pub fn open(root: &Path, max_bytes: u64) -> std::io::Result<Self> {
        let folder = PrivateFolder::at(root)?.folder(&EntryName::of_ours("blocks"))?;
        let (counted, added, counting) = (AtomicU64::new(UNKNOWN), AtomicU64::new(0), AtomicU32::new(0));
        Ok(Self { folder, max_bytes, counted, added, counting, is_off: AtomicBool::new(false) })
    }

    /// The blocks of a version of an object.
    pub fn of(self: &Arc<Self>, version: &ObjectVersion) -> ObjectBlocks {
        ObjectBlocks { cache: self.clone(), name: version.name(), text: version.text(), bytes: version.bytes }
    }

    /// Counts `bytes` that were written, and makes room if there are too many.
    fn add(&self, bytes: u64) {
        let added = self.added.fetch_add(bytes, Ordering::Relaxed) + bytes;
        let counted = self.counted.load(Ordering::Relaxed);
        // Other processes add, too.
        if counted == UNKNOWN || counted.saturating_add(added) > self.max_bytes || added > self.max_bytes / 32 {
            self.make_room();
        }
    }

    /// Counts all blocks, and removes those that were not used for longest until an eighth is free.
    fn make_room(&self) {
        let (process, counting) = (std::process::id(), self.counting.load(Ordering::Relaxed));
        if counting == process || self.counting.compare_exchange(counting, process, Ordering::Relaxed, Ordering::Relaxed).is_err() {
            return;
        }
        self.added.store(0, Ordering::Relaxed);
        let mut found = Vec::new();
        for folder in entries(self.folder.path()) {
            let before = found.len();
            found.extend(entries(&folder).filter_map(found_at));
            if found.len() == before {
                // Only an empty folder can be removed so.
                let _ = std::fs::remove_dir(&folder);
            }
        }
        let mut total: u64 = found.iter().map(|file| file.bytes).sum();
        if total > self.max_bytes / 16 * 15 {
            found.sort_unstable_by_key(|file| file.used);
            for file in &found {
                if total <= self.max_bytes / 8 * 7 {
                    break;
                }
                let _ = std::fs::remove_file(&file.path);
                total -= file.bytes;
            }
        }
        self.counted.store(total, Ordering::Relaxed);
        self.counting.store(0, Ordering::Relaxed);
    }

    /// Stops writing, and says so.
    fn switch_off(&self, error: &std::io::Error) {
        if !self.is_off.swap(true, Ordering::Relaxed) {
            let folder = self.folder.path().parent().unwrap_or(self.folder.path()).display();
            add_of_cache(format!("nothing more is kept in the cache folder {folder}: {error}"));
        }
    }
}

fn entries(folder: &Path) -> impl Iterator<Item = PathBuf> {
    std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path())
}

/// A block file. Removes a leftover of a killed process.
fn found_at(path: PathBuf) -> Option<Found> {
    let metadata = path.symlink_metadata().ok().filter(std::fs::Metadata::is_file)?;
    let used = metadata.modified().ok()?;
    let is_temporary = path.extension().is_some_and(|extension| extension == "part");
    if is_temporary && used.elapsed().is_ok_and(|age| age > LEFTOVER_AGE) && std::fs::remove_file(&path).is_ok() {
        return None;
    }
    Some(Found { used, bytes: metadata.len().next_multiple_of(DISK_UNIT), path })
}

fn name_of(block: u64) -> EntryName {
    EntryName::of_ours(&format!("{block:x}"))
}

impl ObjectBlocks {
    /// The bytes that a block has.
    fn length_of(&self, block: u64) -> u64 {
        BLOCK_BYTES.min(self.bytes.saturating_sub(block.saturating_mul(BLOCK_BYTES)))
    }

    /// Whether there is a file of this block; it may be damaged.
    pub fn has(&self, block: u64) -> bool {
        name_of(block).path_in(&self.name.path_in(self.cache.folder.path())).symlink_metadata().is_ok_and(|found| found.is_file())
    }

    /// A block. One that is damaged is removed, and missing from then on.
    pub fn get(&self, block: u64) -> Option<Bytes> {
        let folder = self.name.path_in(self.cache.folder.path());
        let name = name_of(block);
        let (file, metadata) = super::private_folder::open_private(&name.path_in(&folder)).ok()?;
        let expected = (HEADER_BYTES + self.text.len()) as u64 + self.length_of(block);
        let mut content = Vec::with_capacity(usize::try_from(expected).ok()? + 1);
        let is_whole = (&file).take(expected + 1).read_to_end(&mut content).is_ok() && content.len() as u64 == expected;
        let is_right =
            is_whole && content.get(..HEADER_BYTES + self.text.len()) == Some(self.header(block, content.get(HEADER_BYTES + self.text.len()..)?).as_slice());
        if !is_right {
            let _ = name.remove_from(&folder);
            return None;
        }
        if metadata.modified().is_ok_and(|used| used.elapsed().is_ok_and(|age| age > USE_RESOLUTION)) {
            let _ = file.set_modified(SystemTime::now());
        }
        Some(Bytes::from(content).slice(HEADER_BYTES + self.text.len()..))
    }

    /// Keeps a block, unless it is there.
    pub fn put(&self, block: u64, bytes: &[u8]) {
        if self.cache.is_off.load(Ordering::Relaxed) || bytes.len() as u64 != self.length_of(block) || bytes.is_empty() || self.has(block) {
            return;
        }
        let header = self.header(block, bytes);
        let write = || {
            self.cache.folder.folder(&self.name)?.write(&name_of(block), |file| {
                file.write_all(&header)?;
                file.write_all(bytes)
            })
        };
        // Another process may have removed the folder, which was empty.
        let written = write().or_else(|error| if error.kind() == std::io::ErrorKind::NotFound { write() } else { Err(error) });
        match written {
            Ok(()) => self.cache.add(((header.len() + bytes.len()) as u64).next_multiple_of(DISK_UNIT)),
            Err(error) => self.cache.switch_off(&error),
        }
    }

    /// Keeps all whole blocks of the bytes from `offset` on.
    pub fn put_all(&self, offset: u64, bytes: &[u8]) {
        let end = offset.saturating_add(bytes.len() as u64);
        for block in offset.div_ceil(BLOCK_BYTES)..end.div_ceil(BLOCK_BYTES) {
            let start = usize::try_from(block * BLOCK_BYTES - offset).unwrap_or(usize::MAX);
            let length = usize::try_from(self.length_of(block)).unwrap_or(usize::MAX);
            if let Some(part) = start.checked_add(length).and_then(|end| bytes.get(start..end)) {
                self.put(block, part);
            }
        }
    }

    /// What stands in front of a block. The checksum is of all else.
    fn header(&self, block: u64, bytes: &[u8]) -> Vec<u8> {
        let mut rest = Vec::with_capacity(HEADER_BYTES + self.text.len());
        rest.extend_from_slice(&u32::try_from(self.text.len()).unwrap_or(u32::MAX).to_le_bytes());
        rest.extend_from_slice(&u32::try_from(bytes.len()).unwrap_or(u32::MAX).to_le_bytes());
        rest.extend_from_slice(&block.to_le_bytes());
        rest.extend_from_slice(self.text.as_bytes());
        let mut checksum = crc32fast::Hasher::new();
        checksum.update(&rest);
        checksum.update(bytes);
        let mut header = MAGIC.to_vec();
        header.extend_from_slice(&checksum.finalize().to_le_bytes());
        header.extend_from_slice(&rest);
        header
    }
}

#[cfg(test)]
mod tests {
    use super::super::identity::Place;
    use super::super::version::Version;
    use super::*;

    type Outcome = Result<(), Box<dyn std::error::Error>>;

    fn version(etag: &str, bytes: u64) -> Option<ObjectVersion> {
        ObjectVersion::of(&Place::of("s3://b/k", ""), &Version { etag: Some(etag.to_owned()), modified: None }, bytes)
    }

    fn files_of(root: &Path) -> Vec<PathBuf> {
        entries(&root.join("blocks")).flat_map(|folder| entries(&folder).collect::<Vec<_>>()).collect()
    }

    #[test]
    fn a_block_comes_back_unless_any_bit_of_its_file_is_wrong() -> Outcome {
        let root = tempfile::tempdir()?;
        let cache = Arc::new(DiskBlocks::open(root.path(), 1 << 30)?);
        let object = cache.of(&version("\"1\"", BLOCK_BYTES + 100).ok_or("no version")?);
        let (first, last) = (vec![7; usize::try_from(BLOCK_BYTES)?], vec![9; 100]);
        object.put_all(0, &[first.clone(), last.clone()].concat());
        assert_eq!((object.get(0).as_deref(), object.get(1).as_deref()), (Some(first.as_slice()), Some(last.as_slice())));
        assert!(object.get(2).is_none());
        object.put(0, &last);
        assert_eq!(object.get(0).as_deref(), Some(first.as_slice()), "of a wrong length");
        for etag in ["\"2\"", "\"1\" "] {
            assert!(cache.of(&version(etag, BLOCK_BYTES + 100).ok_or("no version")?).get(1).is_none());
        }
        let path = files_of(root.path()).into_iter().find(|path| path.ends_with("1")).ok_or("no file")?;
        let whole = std::fs::read(&path)?;
        for bit in 0..whole.len() * 8 {
            let mut changed = whole.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            std::fs::write(&path, changed)?;
            assert!(object.get(1).is_none(), "bit {bit}");
            assert!(!object.has(1), "it is removed");
            object.put(1, &last);
        }
        for length in [0, 7, HEADER_BYTES, whole.len() - 1] {
            std::fs::write(&path, &whole[..length])?;
            assert!(object.get(1).is_none());
            object.put(1, &last);
        }
        std::fs::write(&path, [whole.as_slice(), b"x"].concat())?;
        assert!(object.get(1).is_none());
        Ok(())
    }

    #[test]
    fn what_was_not_used_for_longest_goes_and_leftovers_too() -> Outcome {
        let root = tempfile::tempdir()?;
        let cache = Arc::new(DiskBlocks::open(root.path(), 1 << 20)?);
        let object = cache.of(&version("\"1\"", 1 << 30).ok_or("no version")?);
        let block = vec![1; usize::try_from(BLOCK_BYTES)?];
        let long_ago = SystemTime::now() - Duration::from_secs(7200);
        for number in 0..10 {
            object.put(number, &block);
        }
        for path in files_of(root.path()) {
            std::fs::File::options().write(true).open(path)?.set_modified(long_ago)?;
        }
        let leftover = files_of(root.path())[0].with_file_name(".x.part");
        std::fs::write(&leftover, &block)?;
        std::fs::File::options().write(true).open(&leftover)?.set_modified(long_ago)?;
        assert!(object.get(0).is_some(), "used now");
        for number in 10..100 {
            object.put(number, &block);
            let bytes: u64 = files_of(root.path()).iter().filter_map(|path| path.metadata().ok()).map(|found| found.len()).sum();
            assert!(bytes <= 1 << 20, "{bytes}");
            if number == 16 {
                assert!(object.has(0) && (1..10).any(|old| !object.has(old)) && (10..=number).all(|new| object.has(new)));
            }
        }
        assert!(object.has(99) && !object.has(50) && !leftover.exists());
        Ok(())
    }

    #[test]
    fn a_folder_that_cannot_be_written_is_left_alone() -> Outcome {
        let root = tempfile::tempdir()?;
        let cache = Arc::new(DiskBlocks::open(root.path(), 1 << 20)?);
        let object = cache.of(&version("\"1\"", 100).ok_or("no version")?);
        std::fs::remove_dir(root.path().join("blocks"))?;
        std::fs::write(root.path().join("blocks"), b"")?;
        object.put(0, &[0; 100]);
        assert!(object.get(0).is_none() && cache.is_off.load(Ordering::Relaxed));
        Ok(())
    }
}
