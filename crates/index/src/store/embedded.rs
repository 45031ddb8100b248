//! Embedded: an index at the end of the HDF5 file that it is of.
//!
//! After the end that the superblock states lie a header, the segments, the manifest, and a trailer. Readers of HDF5 do not
//! look there; libraries that open the file for writing cut it off, or write over it, and the index is gone or stale. Bytes
//! are only ever appended ([`Appended`]): whoever writes to the file meanwhile, with locks or without, loses nothing.
//!
//! The trailer has 40 bytes, little endian: where the manifest begins and its length (64 bits each), the time of change of
//! the file from which on the index is valid (nanoseconds, 64 bits; 0 for none), the magic `HSLABIDX`, the version and the
//! CRC-32 of all that (32 bits each).

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use hyperslab_array::{Error, ErrorKind, Result};
use hyperslab_formats::hdf5::{StatedEnd, stated_end};
use hyperslab_reader::Session;
use hyperslab_storage::{Appended, Existing, FolderLock, LocalFile, Output, is_marked, open_regular};

use crate::build::commit::add;
use crate::build::plan::column_of;
use crate::freshness::compared;
use crate::freshness::source::{self, Stamp};
use crate::registry::table_of;
use super::index_files::SegmentFiles;
use super::manifest::{self, IndexedFile, Manifest};
use super::places::own;
use super::sweep::{remove_sidecar, segment_name};

const MAGIC: &[u8; 8] = b"HSLABIDX";
/// Version of the trailer.
const VERSION: u32 = 2;
const TRAILER: usize = 40;
/// What an appended index begins with, padded to [`ALIGNED`] bytes.
const HEADER: &[u8; 24] = b"HSLABIDX begins here    ";
/// Bytes that are copied at a time.
const COPIED: usize = 1 << 20;
/// Segments begin at multiples of so many bytes.
pub(crate) const ALIGNED: u64 = 64;
/// How long after the time in the trailer the trailer is written, at most, and how long before it by clocks of the kernel,
/// which tick. Times of change between these are those of the file as the index was completed.
const LATEST: Duration = Duration::from_millis(50);
const EARLIEST: Duration = Duration::from_millis(15);
/// A file that was changed so lately may be changed again within the same tick of its clock.
const TICK: Duration = Duration::from_millis(50);
/// Tries to write a trailer in time.
const TRIES: usize = 5;
/// Unused bytes at the end of a file that are always accepted.
const UNUSED_BYTES: u64 = 16 << 20;
/// More are accepted up to so many times the bytes of the index.
const UNUSED_SHARE: u64 = 4;

/// What the trailer says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Tail {
    manifest: u64,
    manifest_bytes: u64,
    from_nanoseconds: u64,
}

impl Tail {
    fn encode(self) -> [u8; TRAILER] {
        let mut bytes: Vec<u8> = [self.manifest, self.manifest_bytes, self.from_nanoseconds].iter().flat_map(|n| n.to_le_bytes()).collect();
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&VERSION.to_le_bytes());
        bytes.extend_from_slice(&crc32fast::hash(&bytes).to_le_bytes());
        let mut tail = [0; TRAILER];
        tail.iter_mut().zip(bytes).for_each(|(to, from)| *to = from);
        tail
    }

    /// Of the file as it is, and its length; `None` if it does not end with an index.
    fn read(file: &File) -> Result<Option<(Self, u64)>> {
        let length = file.metadata()?.len();
        let Some(at) = length.checked_sub(TRAILER as u64) else { return Ok(None) };
        let mut bytes = [0; TRAILER];
        file.read_exact_at(&mut bytes, at)?;
        let (stated, checksum) = bytes.split_at(TRAILER - 4);
        if stated.get(24..32) != Some(MAGIC) || Some(&crc32fast::hash(stated).to_le_bytes()) != checksum.first_chunk() {
            return Ok(None);
        }
        if stated.get(32..36) != Some(&VERSION.to_le_bytes()) {
            return Err(Error::unsupported("an embedded index of another version: build it anew"));
        }
        let number = |place: usize| stated.get(place..place + 8).and_then(|bytes| bytes.first_chunk()).map_or(0, |bytes| u64::from_le_bytes(*bytes));
        let tail = Self { manifest: number(0), manifest_bytes: number(8), from_nanoseconds: number(16) };
        let fits = tail.manifest.checked_add(tail.manifest_bytes).is_some_and(|end| end <= at);
        if fits { Ok(Some((tail, length))) } else { Err(Error::corrupt("the trailer of an embedded index is not of this file")) }
    }

    fn manifest(self, file: &File) -> Result<Manifest> {
        let length = usize::try_from(self.manifest_bytes).ok().filter(|length| *length as u64 <= manifest::MAX_BYTES);
        let mut bytes = vec![0; length.ok_or_else(|| Error::limit_exceeded("a manifest of an index that is too long"))?];
        file.read_exact_at(&mut bytes, self.manifest)?;
        Manifest::decode(&bytes)
    }
}

/// For which state of its file an embedded index is valid without a look at the values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Validity {
    tail: Tail,
    bytes: u64,
}

impl Validity {
    /// Whether a file with this stamp has not been written to since the index was completed.
    pub fn holds(&self, now: Stamp) -> bool {
        let from = self.tail.from_nanoseconds;
        let since = i128::from(now.modified_nanoseconds) - i128::from(from);
        let within = -(EARLIEST.as_nanos().cast_signed())..=LATEST.as_nanos().cast_signed();
        from != 0 && now.bytes == self.bytes && within.contains(&since)
    }

    /// Whether the file at `path` ends with this very trailer.
    pub fn is_at_the_end_of(&self, path: &Path) -> bool {
        File::open(path).is_ok_and(|file| matches!(Tail::read(&file), Ok(Some((tail, bytes))) if tail == self.tail && bytes == self.bytes))
    }
}

/// The manifest of the index that the file at `path` ends with; the names of its segments are where they begin.
pub(crate) fn read(path: &Path) -> Result<(Manifest, Validity)> {
    let inner = || {
        let file = File::open(path)?;
        let (tail, bytes) = Tail::read(&file)?.ok_or_else(|| Error::not_found("no index at the end of the file"))?;
        Ok((tail.manifest(&file)?, Validity { tail, bytes }))
    };
    inner().map_err(|error: Error| error.in_file(path.display().to_string()))
}

/// What there is to say of a file without an index in it that once had one, or has a part of one.
pub(crate) fn remark(path: &Path) -> Option<String> {
    let shown = path.display();
    if has_part(path).unwrap_or(false) {
        return Some(format!("the index in {shown} is not used: its end is missing; build it anew"));
    }
    is_marked(path).then(|| format!("the index in {shown} is gone: a program that has opened the file for writing has cut it off; build it anew"))
}

/// The end that the superblock of the file at `path` states now; `Unsupported` if it is not HDF5.
fn stated(path: &Path) -> Result<StatedEnd> {
    let file = LocalFile::open_growing(path)?;
    stated_end(&file)?.ok_or_else(|| Error::unsupported("an index embedded in a file that is not HDF5: it stays beside it"))
}

/// Whether an index of ours begins at the end that the superblock states.
fn has_part(path: &Path) -> Result<bool> {
    let (stated, file) = (stated(path)?, File::open(path)?);
    let place = stated.end.next_multiple_of(ALIGNED);
    let mut header = [0; HEADER.len()];
    Ok(file.metadata()?.len() >= place.saturating_add(ALIGNED) && file.read_exact_at(&mut header, place).is_ok() && header == *HEADER)
}

/// Writes to the sidecar of the file at `path` what an index at its end has, to be brought up to date there, and says
/// whether there is one. The segments stay where they are. A damaged index, or one of another version, is none.
pub fn stage(path: &Path) -> Result<bool> {
    let inner = || {
        stated(path)?;
        // Held shortly, as by who opens the file for writing: somebody may be doing that.
        drop(Appended::open(path)?);
        let file = File::open(path)?;
        let Ok(Some((tail, bytes))) = Tail::read(&file) else { return Ok(false) };
        let Ok(found) = tail.manifest(&file) else { return Ok(false) };
        let Some(indexed) = found.files.into_iter().next() else { return Ok(false) };
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let now = Stamp::now(path).filter(|now| Validity { tail, bytes }.holds(*now)).unwrap_or_default();
        let folder = own(path);
        std::fs::create_dir_all(&folder)?;
        Manifest::change(&folder, |manifest| {
            add(manifest, indexed.columns.into_iter().map(|column| (name.to_owned(), now, column)).collect());
            Ok(())
        })?;
        Ok(true)
    };
    inner().map_err(|error: Error| error.in_file(path.display().to_string()))
}

/// Removes a sidecar that [`stage`] has made, if nothing was built into it.
pub fn unstage(path: &Path) -> Result<()> {
    let folder = own(path);
    let manifest = Manifest::read(&folder)?;
    if manifest.segments().iter().all(|name| !manifest::is_segment_file(name)) { remove_sidecar(&folder) } else { Ok(()) }
}

/// Moves the sidecar of the HDF5 file at `path` to the end of the file. `NotFound` if it has no index that is valid,
/// `Conflict` if another program has the file open, or writes to it meanwhile. The file itself is not changed.
pub fn embed(session: &Session, path: &Path) -> Result<()> {
    embed_inner(session, path).map_err(|error| error.in_file(path.display().to_string()))
}

fn embed_inner(session: &Session, path: &Path) -> Result<()> {
    let folder = own(path);
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let stated = stated(path)?;
    if stated.is_open_for_writing {
        return Err(Error::new(ErrorKind::Conflict, "the file says that it is open for writing, or was not closed: h5clear -s says that it is not"));
    }
    let mut end = Appended::open(path)?;
    let before = Stamp::now(path).ok_or_else(|| Error::unsupported("an index in a file whose time of change is not known"))?;
    let lock = FolderLock::take(&folder)?;
    let sidecar = Manifest::read(&folder)?;
    let valid = sidecar.files_called(name).find(|file| file.stamp == before);
    let mut indexed: IndexedFile = valid.cloned().ok_or_else(|| Error::not_found("the file has no index that is valid"))?;
    let is_there = read(path).is_ok_and(|(there, validity)| validity.holds(before) && there.files.first().is_some_and(|there| there.columns == indexed.columns));
    if !is_there {
        append(&mut end, stated, &folder, &mut indexed)?;
        let manifest = Manifest { files: vec![indexed.clone()], ..Manifest::empty() }.encode()?;
        let place = end.end();
        end.write(&manifest)?;
        end.align(ALIGNED)?;
        end.sync()?;
        let quiet = end.modified_nanoseconds()?;
        let skew = i128::from(quiet) - i128::from(clock());
        std::thread::sleep(TICK);
        // What was written while the index was being appended cannot be told by the time of change: it is looked for.
        verify(session, path, &indexed)?;
        if end.modified_nanoseconds()? != quiet {
            return Err(Error::new(ErrorKind::Conflict, "another program is writing to the file: try again when it is done"));
        }
        let from = |now: u64| u64::try_from(i128::from(now) + skew).unwrap_or_default();
        // Where times of change are whole seconds they tell too little.
        let tells = !quiet.is_multiple_of(1_000_000_000);
        let written = complete(&mut end, &mut || Tail { manifest: place, manifest_bytes: manifest.len() as u64, from_nanoseconds: if tells { from(clock()) } else { 0 } })?;
        end.mark();
        std::thread::sleep(LATEST + EARLIEST);
        if end.modified_nanoseconds()? != written {
            // The trailer is not the last any more, and nobody believes it.
            end.write(b"\0")?;
            return Err(Error::new(ErrorKind::Conflict, "another program is writing to the file: try again when it is done"));
        }
    }
    remove_sidecar(&folder)?;
    drop(lock);
    Ok(())
}

/// Now, in nanoseconds since 1970.
fn clock() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).ok().and_then(|since| u64::try_from(since.as_nanos()).ok()).unwrap_or_default()
}

/// Appends the segments that are in the sidecar, and names them by their places.
fn append(end: &mut Appended, stated: StatedEnd, folder: &Path, indexed: &mut IndexedFile) -> Result<()> {
    let bytes_of = |is_inside: bool| indexed.columns.iter().flat_map(|column| &column.segments).filter(|segment| segment.place().is_some() == is_inside).map(|segment| segment.bytes.next_multiple_of(ALIGNED)).sum::<u64>();
    let (kept, new) = (bytes_of(true), bytes_of(false));
    let unused = end.end().saturating_sub(stated.end).saturating_sub(kept);
    if unused > UNUSED_BYTES.max(UNUSED_SHARE.saturating_mul(kept + new)) {
        return Err(Error::new(ErrorKind::Conflict, format!("{unused} bytes at the end of the file are of indexes that are not used any more: `hyperslab tidy` cuts them off")));
    }
    // Names and places take less than this for each segment.
    let manifest = Manifest { files: vec![indexed.clone()], ..Manifest::empty() }.encode()?.len() as u64;
    end.reserve(new + 2 * manifest + 4096)?;
    end.align(ALIGNED)?;
    let mut header = HEADER.to_vec();
    header.resize(ALIGNED as usize, 0);
    end.write(&header)?;
    for segment in indexed.columns.iter_mut().flat_map(|column| &mut column.segments).filter(|segment| segment.place().is_none()) {
        let from = open_regular(folder.join(&segment.name))?;
        let place = end.end();
        copy(&from, segment.offset, segment.bytes, |bytes| end.write(bytes))?;
        end.align(ALIGNED)?;
        (segment.name, segment.offset) = (format!("@{place}"), 0);
    }
    Ok(())
}

fn copy(from: &File, start: u64, length: u64, mut write: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
    let mut buffer = vec![0; COPIED];
    let mut done = 0;
    while done < length {
        let count = usize::try_from(length - done).unwrap_or(COPIED).min(COPIED);
        let part = buffer.get_mut(..count).ok_or_else(|| Error::internal("a part to copy"))?;
        from.read_exact_at(part, start + done)?;
        write(part)?;
        done += count as u64;
    }
    Ok(())
}

/// Sees that the values of the file are those that were indexed.
fn verify(session: &Session, path: &Path, indexed: &IndexedFile) -> Result<()> {
    let file = session.open(path)?;
    for column in &indexed.columns {
        let dataset = file.find(&column.path)?.object;
        let shown = [false, true].into_iter().filter_map(|raw| column_of(&file, dataset, raw).ok()).find(|shown| source::identity(shown) == column.identity);
        let is_same = match shown {
            // A virtual dataset has no values in the file; the stamps of its sources are compared at each question.
            Some(_) if file.dataset(dataset)?.storage == hyperslab_formats::StorageLayout::Virtual => true,
            Some(shown) => compared::is_same(&file, dataset, &shown, &*table_of(&SegmentFiles::new(path), &file, column)?)?,
            None => false,
        };
        if !is_same {
            return Err(Error::new(ErrorKind::Conflict, format!("the values of {} have changed while their index was embedded: try again", column.path)));
        }
    }
    Ok(())
}

/// Writes the trailer, and gives the time of change that the file has then.
fn complete(end: &mut Appended, tail: &mut dyn FnMut() -> Tail) -> Result<u64> {
    let mut written = 0;
    for _ in 0..TRIES {
        let tail = tail();
        end.write(&tail.encode())?;
        written = end.modified_nanoseconds()?;
        let validity = Validity { tail, bytes: end.end() };
        if tail.from_nanoseconds == 0 || validity.holds(Stamp { bytes: end.end(), modified_nanoseconds: written }) {
            break;
        }
    }
    end.sync()?;
    Ok(written)
}

/// Cuts unused indexes off the end of the file at `path`; how many bytes. What is still used goes behind its data again.
/// With `is_dry` nothing is cut.
pub(crate) fn clean(session: &Session, path: &Path, is_dry: bool) -> Result<Option<u64>> {
    let inner = || {
        if !path.is_file() || !has_part(path).unwrap_or(false) {
            return Ok(None);
        }
        let stated = stated(path)?;
        let mut end = Appended::open(path)?;
        let used = read(path).ok();
        let live = used.as_ref().map_or(0, |(manifest, validity)| {
            let segments = manifest.files.iter().flat_map(|file| &file.columns).flat_map(|column| &column.segments);
            segments.map(|segment| segment.bytes.next_multiple_of(ALIGNED)).sum::<u64>() + validity.tail.manifest_bytes
        });
        // Alignment, header and trailer.
        let around = 4 * ALIGNED + TRAILER as u64;
        let unused = end.end().saturating_sub(stated.end).saturating_sub(live);
        if stated.is_open_for_writing || unused <= around {
            return Ok(None);
        }
        if is_dry {
            return Ok(Some(unused - around));
        }
        let before = end.end();
        let staged = match used {
            Some((manifest, validity)) => unload(path, manifest, validity)?,
            None => false,
        };
        end.cut(stated.end)?;
        drop(end);
        if staged {
            restamp(path)?;
            embed_inner(session, path)?;
        }
        Ok(Some(before.saturating_sub(Stamp::now(path).map_or(before, |now| now.bytes))))
    };
    inner().map_err(|error: Error| error.in_file(path.display().to_string()))
}

/// Copies a valid embedded index to the sidecar; whether there is one.
fn unload(path: &Path, manifest: Manifest, validity: Validity) -> Result<bool> {
    let now = Stamp::now(path).filter(|now| validity.holds(*now));
    let (Some(now), Some(mut indexed)) = (now, manifest.files.into_iter().next()) else { return Ok(false) };
    let (folder, file) = (own(path), File::open(path)?);
    std::fs::create_dir_all(&folder)?;
    let name = segment_name(true);
    let (output, mut end) = (Output::create_own(folder.join(&name))?, 0u64);
    for segment in indexed.columns.iter_mut().flat_map(|column| &mut column.segments) {
        let Some(place) = segment.place() else { continue };
        let start = end.next_multiple_of(ALIGNED);
        end = start;
        copy(&file, place, segment.bytes, |bytes| {
            output.write_at(end, bytes)?;
            end += bytes.len() as u64;
            Ok(())
        })?;
        (segment.name, segment.offset) = (name.clone(), start);
    }
    output.publish(end, Existing::Keep)?;
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
    Manifest::change(&folder, |manifest| {
        *manifest = Manifest { files: vec![IndexedFile { name, stamp: now, ..indexed }], ..Manifest::empty() };
        Ok(())
    })?;
    Ok(true)
}

/// Notes that the index in the sidecar of a file is of the file as it is now: its end was cut off, and the values are
/// compared when it is embedded again.
fn restamp(path: &Path) -> Result<()> {
    let now = Stamp::now(path).ok_or_else(|| Error::internal("no stamp of a file"))?;
    Manifest::change(&own(path), |manifest| {
        manifest.files.iter_mut().for_each(|file| file.stamp = now);
        Ok(())
    })
}
