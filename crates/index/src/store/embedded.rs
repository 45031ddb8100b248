//! Embedded index: an index at the end of its HDF5 file.
//!
//! ```text
//! HDF5 data | header (64 bytes) | index files | manifest | trailer (40 bytes)
//!           ^ end of file according to the superblock
//! ```
//!
//! HDF5 readers ignore these bytes. A library that opens the file for writing truncates or overwrites them, and the index is
//! then missing or stale. `maintenance::embed` only appends bytes, so that a process that writes to the file at the same time
//! loses nothing, with or without locks.
//!
//! The trailer, little endian: offset and length of the manifest (64 bits each), the modification time of the file from
//! which on the index is valid (nanoseconds, 64 bits; 0 for none), the magic `HSLABIDX`, the version (32 bits) and the CRC-32
//! of all bytes before (32 bits).

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Duration;

use hyperslab_array::{Error, Result};
use hyperslab_formats::hdf5::{StatedEnd, stated_end};
use hyperslab_storage::{LocalFile, is_marked};

use super::index_file::FILE_ALIGNMENT;
use super::manifest::{self, Manifest};
use super::stamp::Stamp;

const MAGIC: &[u8; 8] = b"HSLABIDX";
/// Version of the trailer.
const VERSION: u32 = 2;
/// Length of the trailer in bytes.
pub(crate) const TRAILER_BYTES: usize = 40;
/// The first bytes of an embedded index; padded to [`FILE_ALIGNMENT`] bytes.
pub(crate) const HEADER: &[u8; 24] = b"HSLABIDX begins here    ";
/// Maximum time from the time in the trailer to the modification time of the file after the trailer was written. The index
/// is valid for modification times from `MAX_CLOCK_LAG` before the time in the trailer to `MAX_TRAILER_DELAY` after it.
pub(crate) const MAX_TRAILER_DELAY: Duration = Duration::from_millis(50);
/// Maximum lag of the kernel clock that sets modification times, which advances in ticks.
pub(crate) const MAX_CLOCK_LAG: Duration = Duration::from_millis(15);

/// The contents of the trailer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Trailer {
    /// Offset of the manifest in the file, in bytes.
    pub manifest: u64,
    pub manifest_bytes: u64,
    pub from_nanoseconds: u64,
}

impl Trailer {
    pub fn encode(self) -> [u8; TRAILER_BYTES] {
        let mut bytes: Vec<u8> = [self.manifest, self.manifest_bytes, self.from_nanoseconds].iter().flat_map(|n| n.to_le_bytes()).collect();
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&VERSION.to_le_bytes());
        bytes.extend_from_slice(&crc32fast::hash(&bytes).to_le_bytes());
        let mut trailer = [0; TRAILER_BYTES];
        trailer.iter_mut().zip(bytes).for_each(|(to, from)| *to = from);
        trailer
    }

    /// Reads the trailer of a file, and returns it with the length of the file. `None` if the file does not end with an index.
    pub fn read(file: &File) -> Result<Option<(Self, u64)>> {
        let length = file.metadata()?.len();
        let Some(at) = length.checked_sub(TRAILER_BYTES as u64) else { return Ok(None) };
        let mut bytes = [0; TRAILER_BYTES];
        file.read_exact_at(&mut bytes, at)?;
        let (stated, checksum) = bytes.split_at(TRAILER_BYTES - 4);
        if stated.get(24..32) != Some(MAGIC) || Some(&crc32fast::hash(stated).to_le_bytes()) != checksum.first_chunk() {
            return Ok(None);
        }
        if stated.get(32..36) != Some(&VERSION.to_le_bytes()) {
            return Err(Error::unsupported("an embedded index of another version; rebuild it"));
        }
        let integer = |offset: usize| {
            let bytes = stated.get(offset..offset + 8).and_then(|bytes| bytes.first_chunk());
            bytes.map(|bytes| u64::from_le_bytes(*bytes)).ok_or_else(|| Error::internal("the trailer of an embedded index is too short"))
        };
        let trailer = Self { manifest: integer(0)?, manifest_bytes: integer(8)?, from_nanoseconds: integer(16)? };
        let fits = trailer.manifest.checked_add(trailer.manifest_bytes).is_some_and(|end| end <= at);
        if fits { Ok(Some((trailer, length))) } else { Err(Error::corrupt("the trailer of an embedded index does not belong to this file")) }
    }

    /// Reads the manifest that the trailer locates.
    pub fn read_manifest(self, file: &File) -> Result<Manifest> {
        let length = usize::try_from(self.manifest_bytes).ok().filter(|length| *length as u64 <= manifest::MAX_BYTES);
        let mut bytes = vec![0; length.ok_or_else(|| Error::limit_exceeded("the manifest of an index is too long"))?];
        file.read_exact_at(&mut bytes, self.manifest)?;
        Manifest::decode(&bytes)
    }
}

/// The state of the data file for which an embedded index is valid without comparing values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Validity {
    pub trailer: Trailer,
    /// Length of the file.
    pub bytes: u64,
}

impl Validity {
    /// Whether a file with this stamp has not been written to since the index was completed.
    pub fn holds(&self, now: Stamp) -> bool {
        let from = self.trailer.from_nanoseconds;
        let since = i128::from(now.modified_nanoseconds) - i128::from(from);
        let within = -(MAX_CLOCK_LAG.as_nanos().cast_signed())..=MAX_TRAILER_DELAY.as_nanos().cast_signed();
        from != 0 && now.bytes == self.bytes && within.contains(&since)
    }

    /// Whether the file at `path` still ends with this trailer.
    pub fn is_at_the_end_of(&self, path: &Path) -> bool {
        File::open(path).is_ok_and(|file| matches!(Trailer::read(&file), Ok(Some((trailer, bytes))) if trailer == self.trailer && bytes == self.bytes))
    }
}

/// Reads the manifest of the index that is embedded in the file at `path`. `NotFound` if it has none.
pub(crate) fn read(path: &Path) -> Result<(Manifest, Validity)> {
    let inner = || {
        let file = File::open(path)?;
        let (trailer, bytes) = Trailer::read(&file)?.ok_or_else(|| Error::not_found("no index at the end of the file"))?;
        Ok((trailer.read_manifest(&file)?, Validity { trailer, bytes }))
    };
    inner().map_err(|error: Error| error.in_file(path.display().to_string()))
}

/// A remark for a file that has lost its embedded index, or a part of it; `None` for other files.
pub(crate) fn remark(path: &Path) -> Option<String> {
    let shown = path.display();
    if has_header(path).unwrap_or(false) {
        return Some(format!("the index in {shown} is not used: its end is missing; rebuild it"));
    }
    is_marked(path).then(|| format!("the index in {shown} is gone: a program that opened the file for writing has removed it; rebuild it"))
}

/// The end of the HDF5 data according to the superblock of the file at `path`. `Unsupported` if it is not an HDF5 file.
pub(crate) fn data_end(path: &Path) -> Result<StatedEnd> {
    let file = LocalFile::open_growing(path)?;
    stated_end(&file)?.ok_or_else(|| Error::unsupported("an index embedded in a file that is not HDF5; keep the index next to the file"))
}

/// Whether an embedded index, complete or not, follows the HDF5 data.
pub(crate) fn has_header(path: &Path) -> Result<bool> {
    let (data_end, file) = (data_end(path)?, File::open(path)?);
    let start = data_end.end.next_multiple_of(FILE_ALIGNMENT);
    let mut header = [0; HEADER.len()];
    Ok(file.metadata()?.len() >= start.saturating_add(FILE_ALIGNMENT) && file.read_exact_at(&mut header, start).is_ok() && header == *HEADER)
}
