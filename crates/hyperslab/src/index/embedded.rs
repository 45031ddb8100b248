//! Embedded: an index at the end of the HDF5 file that it is of.
//!
//! Behind the end that the superblock states lie the segments, the manifest, and a trailer. Readers of HDF5 do not look
//! there; libraries that open the file for writing cut it off, or write over it, and the index is gone or stale. Nothing
//! of the file itself is changed, and its time of change stays what it was.
//!
//! The trailer has 40 bytes, little endian: the length of the file before (64 bits), where the manifest begins and its
//! length (64 bits each), the magic `HSLABIDX`, the version and the CRC-32 of all that (32 bits each).

use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use hyperslab_array::{Error, ErrorKind, Result};
use hyperslab_storage::{FolderLock, unique_name};

use super::manifest::{self, IndexedFile, Manifest, VERSION};
use super::source::Stamp;

const MAGIC: &[u8; 8] = b"HSLABIDX";
const TRAILER: usize = 40;
/// More than the digits of a length and a checksum, but for one each.
const DIGITS: usize = 32;
/// Bytes that are copied at a time.
const COPIED: usize = 1 << 20;
/// Segments begin at multiples of so many bytes.
pub(super) const ALIGNED: u64 = 64;

/// What the trailer says.
struct Tail {
    /// Length of the file without its index.
    base: u64,
    manifest: u64,
    manifest_bytes: u64,
}

impl Tail {
    fn encode(&self) -> Vec<u8> {
        let mut bytes: Vec<u8> = [self.base, self.manifest, self.manifest_bytes].iter().flat_map(|n| n.to_le_bytes()).collect();
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&VERSION.to_le_bytes());
        bytes.extend_from_slice(&crc32fast::hash(&bytes).to_le_bytes());
        bytes
    }

    /// Of the file as it is; `None` where it does not end with an index.
    fn read(file: &File) -> Result<Option<Self>> {
        let length = file.metadata()?.len();
        let Some(at) = length.checked_sub(TRAILER as u64) else { return Ok(None) };
        let mut bytes = [0; TRAILER];
        file.read_exact_at(&mut bytes, at)?;
        let (stated, checksum) = bytes.split_at(TRAILER - 4);
        if stated.get(24..32) != Some(MAGIC) || Some(&crc32fast::hash(stated).to_le_bytes()) != checksum.first_chunk() {
            return Ok(None);
        }
        let number = |place: usize| stated.get(place..place + 8).and_then(|bytes| bytes.first_chunk()).map_or(0, |bytes| u64::from_le_bytes(*bytes));
        let tail = Self { base: number(0), manifest: number(8), manifest_bytes: number(16) };
        let fits = tail.base <= tail.manifest && tail.manifest.checked_add(tail.manifest_bytes) == Some(at);
        if stated.get(32..36) != Some(&VERSION.to_le_bytes()) {
            return Err(Error::unsupported("an embedded index of another version: build it anew"));
        }
        if fits { Ok(Some(tail)) } else { Err(Error::corrupt("the trailer of an embedded index is not of this file")) }
    }

    fn manifest(&self, file: &File) -> Result<Manifest> {
        let length = usize::try_from(self.manifest_bytes).ok().filter(|length| *length as u64 <= manifest::MOST_BYTES);
        let mut bytes = vec![0; length.ok_or_else(|| Error::limit_exceeded("a manifest of an index that is too long"))?];
        file.read_exact_at(&mut bytes, self.manifest)?;
        Manifest::decode(&bytes)
    }
}

/// The manifest of the index that the file at `path` ends with; the names of segments are where they begin.
pub(super) fn read(path: &Path) -> Result<Manifest> {
    let inner = || {
        let file = File::open(path)?;
        Tail::read(&file)?.ok_or_else(|| Error::not_found("no index at the end of the file"))?.manifest(&file)
    };
    inner().map_err(|error: Error| error.in_file(path.display().to_string()))
}

/// Where a segment begins, from its name.
pub(super) fn offset(name: &str) -> Option<u64> {
    name.strip_prefix('@')?.parse().ok()
}

/// The file for changing its end alone, and its stamp; `Conflict` where somebody has it open and locked, `Unsupported`
/// where it is not HDF5.
fn open(path: &Path) -> Result<(File, Stamp)> {
    let file = OpenOptions::new().read(true).write(true).open(path)?;
    file.try_lock().map_err(|_| Error::new(ErrorKind::Conflict, "the file is open elsewhere: its end cannot be changed"))?;
    let stamp = Stamp::now(path).ok_or_else(|| Error::unsupported("an index in a file whose time of change is not known"))?;
    if !is_hdf5(&file, stamp.bytes)? {
        return Err(Error::unsupported("an index embedded in a file that is not HDF5: it stays beside it"));
    }
    Ok((file, stamp))
}

/// Whether the file has the signature of HDF5, at its beginning or behind a user block.
fn is_hdf5(file: &File, length: u64) -> Result<bool> {
    let mut at = 0;
    while at <= length.saturating_sub(8) {
        let mut signature = [0; 8];
        file.read_exact_at(&mut signature, at)?;
        if signature == *b"\x89HDF\r\n\x1a\n" {
            return Ok(true);
        }
        at = if at == 0 { 512 } else { at * 2 };
    }
    Ok(false)
}

fn copy(from: &File, at: u64, to: &File, place: u64, length: u64) -> Result<()> {
    let mut buffer = vec![0; COPIED];
    let mut done = 0;
    while done < length {
        let count = usize::try_from(length - done).unwrap_or(COPIED).min(COPIED);
        let part = buffer.get_mut(..count).ok_or_else(|| Error::internal("a part to copy"))?;
        from.read_exact_at(part, at + done)?;
        to.write_all_at(part, place + done)?;
        done += count as u64;
    }
    Ok(())
}

fn restore(file: &File, stamp: Stamp) -> Result<()> {
    let modified: SystemTime = UNIX_EPOCH + Duration::from_nanos(stamp.modified_nanoseconds);
    file.set_modified(modified)?;
    file.sync_all()?;
    Ok(())
}

/// Moves the sidecar of the HDF5 file at `path` to the end of the file. `NotFound` where it has no index that is valid.
/// Where that fails, on a full disk say, the file is as it was, and so is the sidecar.
pub fn embed(path: &Path) -> Result<()> {
    let inner = || {
        let folder = manifest::own(path);
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let (file, before) = open(path)?;
        let lock = FolderLock::take(&folder)?;
        let sidecar = Manifest::read(&folder)?;
        let valid = sidecar.files_called(name).find(|file| file.stamp == before);
        let indexed: IndexedFile = valid.cloned().ok_or_else(|| Error::not_found("the file has no index that is valid"))?;
        if let Err(error) = append(&file, before, indexed, &folder) {
            file.set_len(before.bytes)?;
            restore(&file, before)?;
            return Err(error);
        }
        restore(&file, before)?;
        std::fs::remove_dir_all(&folder)?;
        drop(lock);
        Ok(())
    };
    inner().map_err(|error: Error| error.in_file(path.display().to_string()))
}

/// Writes the segments of `folder`, the manifest and the trailer behind the end of the file.
fn append(file: &File, before: Stamp, mut indexed: IndexedFile, folder: &Path) -> Result<()> {
    let mut at = before.bytes;
    for segment in indexed.columns.iter_mut().flat_map(|column| &mut column.segments) {
        at = at.next_multiple_of(ALIGNED);
        let from = File::open(folder.join(&segment.name))?;
        copy(&from, segment.offset, file, at, segment.bytes)?;
        (segment.name, segment.offset) = (format!("@{at}"), 0);
        at += segment.bytes;
    }
    let bytes = manifest_at(at, indexed)?;
    file.write_all_at(&bytes, at)?;
    file.sync_all()?;
    let tail = Tail { base: before.bytes, manifest: at, manifest_bytes: bytes.len() as u64 };
    file.write_all_at(&tail.encode(), at + bytes.len() as u64)?;
    Ok(())
}

/// The bytes of the manifest that begins at `at`, in which the file has the length that it will have behind it.
fn manifest_at(at: u64, indexed: IndexedFile) -> Result<Vec<u8>> {
    let mut manifest = Manifest { files: vec![indexed], ..Manifest::empty() };
    // The file's length is in the manifest, and a checksum of it: both change the manifest's own length. So there is room
    // for their digits, and blanks at the end.
    let room = manifest.encode()?.len() + DIGITS;
    if let Some(file) = manifest.files.first_mut() {
        file.stamp.bytes = at + room as u64 + TRAILER as u64;
    }
    let mut bytes = manifest.encode()?;
    if bytes.len() > room {
        return Err(Error::internal("a manifest without room for its numbers"));
    }
    bytes.resize(room, b' ');
    Ok(bytes)
}

/// Moves the index that the file at `path` ends with to a sidecar, to be brought up to date there, and says whether there
/// was one. An index that is stale stays where it is: who has written to the file since may need what lies there.
/// `Conflict` where the file is open elsewhere, `Unsupported` where it is not HDF5.
pub fn extract(path: &Path) -> Result<bool> {
    let inner = || {
        let (file, now) = open(path)?;
        // A damaged one, or one of another version, is stale.
        let Ok(Some(tail)) = Tail::read(&file) else { return Ok(false) };
        let Ok(mut found) = tail.manifest(&file) else { return Ok(false) };
        if found.files.is_empty() || found.files.iter().any(|indexed| indexed.stamp != now) {
            return Ok(false);
        }
        let folder = manifest::own(path);
        std::fs::create_dir_all(&folder)?;
        let name = format!("{}.arrow", unique_name());
        let (to, mut end) = (File::create_new(folder.join(&name))?, 0u64);
        for indexed in &mut found.files {
            indexed.stamp.bytes = tail.base;
            for segment in indexed.columns.iter_mut().flat_map(|column| &mut column.segments) {
                let at = offset(&segment.name).ok_or_else(|| Error::corrupt("a segment of an embedded index without a place"))?;
                (segment.name, segment.offset) = (name.clone(), end.next_multiple_of(ALIGNED));
                copy(&file, at, &to, segment.offset, segment.bytes)?;
                end = segment.offset + segment.bytes;
            }
        }
        to.sync_all()?;
        Manifest::change(&folder, |manifest| {
            *manifest = found;
            Ok(())
        })?;
        file.set_len(tail.base)?;
        restore(&file, now)?;
        Ok(true)
    };
    inner().map_err(|error: Error| error.in_file(path.display().to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_knows_the_length_of_its_file_wherever_it_begins() -> Result<()> {
        let stamp = |bytes| Stamp { bytes, modified_nanoseconds: 1 };
        let powers = (0..20).map(|power| 10u64.saturating_pow(power));
        for at in (0..3000).chain(powers.flat_map(|power| power.saturating_sub(400)..power)) {
            let indexed = IndexedFile { name: "run.h5".to_owned(), stamp: stamp(at % 7), columns: Vec::new() };
            let bytes = manifest_at(at, indexed)?;
            let found = Manifest::decode(&bytes)?;
            assert_eq!(found.files.first().map(|file| file.stamp), Some(stamp(at + bytes.len() as u64 + TRAILER as u64)), "at {at}");
        }
        Ok(())
    }
}
