//! Embed: moves an index from its sidecar to the end of its HDF5 file, and back. `store::embedded` describes the format.
//!
//! Bytes are only appended to the file ([`Appended`]), so that a process that writes to the file meanwhile loses nothing.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use hyperslab_array::{Error, ErrorKind, Result};
use hyperslab_formats::hdf5::StatedEnd;
use hyperslab_reader::Session;
use hyperslab_storage::{Appended, Existing, FolderLock, Output};

use crate::freshness::compare;
use crate::freshness::indexed_parts::indexed_parts;
use crate::store::block_directory::open_directory;
use crate::store::embedded::{self, HEADER, MAX_CLOCK_LAG, MAX_TRAILER_DELAY, TRAILER_BYTES, Trailer, Validity, data_end};
use crate::store::index_file::FILE_ALIGNMENT;
use crate::store::index_file_name::{IndexFileName, IndexFilePlace};
use crate::store::index_files::IndexFiles;
use crate::store::manifest::{IndexedFile, Manifest};
use crate::store::places::sidecar_next_to;
use crate::store::stamp::Stamp;
use crate::store::sweep::remove_sidecar;

/// Size of the copy buffer in bytes.
const COPY_BYTES: usize = 1 << 20;
/// A file that was changed less than this time ago may be changed again without a new modification time.
const CLOCK_TICK: Duration = Duration::from_millis(50);
/// Maximum number of attempts to write a trailer within [`MAX_TRAILER_DELAY`].
const MAX_TRAILER_TRIES: usize = 5;
/// This number of unused bytes at the end of a file is always accepted.
const MAX_UNUSED_BYTES: u64 = 16 << 20;
/// Beyond `MAX_UNUSED_BYTES`, this number of unused bytes is accepted for each byte of the index.
const MAX_UNUSED_PER_INDEX_BYTE: u64 = 4;

/// Copies the manifest of the index that is embedded in the file at `path` to its sidecar, where the index can be refreshed.
/// Returns whether there is one; an index that is damaged or has another version does not count. The index files stay where
/// they are.
///
/// # Errors
/// `Io` if the file cannot be read or the sidecar cannot be written.
pub fn stage(path: &Path) -> Result<bool> {
    let inner = || {
        data_end(path)?;
        // Take the lock for a moment: fails if another process has the file open for writing.
        drop(Appended::open(path)?);
        let file = File::open(path)?;
        let Ok(Some((trailer, bytes))) = Trailer::read(&file) else { return Ok(false) };
        let Ok(found) = trailer.read_manifest(&file) else { return Ok(false) };
        let Some(indexed) = found.files.into_iter().next() else { return Ok(false) };
        let name = file_name(path)?;
        let now = Stamp::now(path).filter(|now| Validity { trailer, bytes }.holds(*now)).unwrap_or_default();
        let folder = sidecar_next_to(path);
        std::fs::create_dir_all(&folder)?;
        Manifest::change(&folder, |manifest| manifest.add(indexed.columns.into_iter().map(|column| (name.to_owned(), now, column)).collect()))?;
        Ok(true)
    };
    inner().map_err(|error: Error| error.in_file(path.display().to_string()))
}

/// Removes the sidecar of the file at `path` that [`stage`] has created, unless something was built into it.
///
/// # Errors
/// `Io` if the sidecar cannot be read or removed.
pub fn unstage(path: &Path) -> Result<()> {
    let folder = sidecar_next_to(path);
    let manifest = Manifest::read(&folder)?;
    if manifest.index_files().is_empty() { remove_sidecar(&folder) } else { Ok(()) }
}

/// Moves the index in the sidecar of the HDF5 file at `path` to the end of the file. The HDF5 data are not changed.
///
/// # Errors
/// `NotFound` if the sidecar has no valid index; `Conflict` if another program has the file open or writes to it
/// meanwhile, or the file has too many unused bytes at its end; `Unsupported` for files that are not HDF5; `Io` if the
/// file cannot be written.
pub fn embed(session: &Session, path: &Path) -> Result<()> {
    embed_inner(session, path).map_err(|error| error.in_file(path.display().to_string()))
}

fn embed_inner(session: &Session, path: &Path) -> Result<()> {
    let folder = sidecar_next_to(path);
    let name = file_name(path)?;
    let data_end = data_end(path)?;
    if data_end.is_open_for_writing {
        return Err(Error::busy("the file is marked as open for writing; if no program has it open, clear the mark with h5clear -s"));
    }
    let mut end = Appended::open(path)?;
    let before = Stamp::now(path).ok_or_else(|| Error::unsupported("an index in a file whose modification time is unknown"))?;
    let lock = FolderLock::take(&folder)?;
    let sidecar = Manifest::read(&folder)?;
    let valid = sidecar.files_called(name).find(|file| file.stamp == before);
    let mut indexed: IndexedFile = valid.cloned().ok_or_else(|| Error::not_found("the file has no valid index"))?;
    let is_same = |there: &IndexedFile| there.columns.len() == indexed.columns.len() && there.columns.iter().zip(&indexed.columns).all(|(a, b)| a.is_same(b));
    let is_embedded = embedded::read(path).is_ok_and(|(there, validity)| validity.holds(before) && there.files.first().is_some_and(is_same));
    if !is_embedded {
        append(&mut end, data_end, &folder, &mut indexed)?;
        let manifest = Manifest { files: vec![indexed.clone()], ..Manifest::empty() }.encode()?;
        let place = end.end();
        end.write(&manifest)?;
        end.align(FILE_ALIGNMENT)?;
        end.sync()?;
        let quiet = end.modified_nanoseconds()?;
        let skew = i128::from(quiet) - i128::from(clock());
        std::thread::sleep(CLOCK_TICK);
        // The modification time does not show writes by others while the index was being appended, so that values are compared.
        verify(session, path, &indexed)?;
        if end.modified_nanoseconds()? != quiet {
            return Err(Error::busy("another program is writing to the file; try again when it is done"));
        }
        let from = |now: u64| u64::try_from(i128::from(now) + skew).unwrap_or_default();
        // Modification times in whole seconds are not precise enough to show later writes.
        let is_precise = !quiet.is_multiple_of(1_000_000_000);
        let written = complete(&mut end, &mut || Trailer {
            manifest: place,
            manifest_bytes: manifest.len() as u64,
            from_nanoseconds: if is_precise { from(clock()) } else { 0 },
        })?;
        end.mark();
        std::thread::sleep(MAX_TRAILER_DELAY + MAX_CLOCK_LAG);
        if end.modified_nanoseconds()? != written {
            // Invalidate the trailer: it no longer is at the end of the file.
            end.write(b"\0")?;
            return Err(Error::busy("another program is writing to the file; try again when it is done"));
        }
    }
    remove_sidecar(&folder)?;
    drop(lock);
    Ok(())
}

/// The current time in nanoseconds since 1970; 0 before 1970, for which modification times are not used.
fn clock() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).ok().and_then(|since| u64::try_from(since.as_nanos()).ok()).unwrap_or_default()
}

/// Appends the index files of the sidecar and replaces their names by their offsets.
fn append(end: &mut Appended, data_end: StatedEnd, folder: &Path, indexed: &mut IndexedFile) -> Result<()> {
    let bytes_of = |is_inside: bool| {
        indexed
            .columns
            .iter()
            .flat_map(|column| &column.index_files)
            .filter(|index_file| index_file.place.embedded_offset().is_some() == is_inside)
            .map(|index_file| index_file.bytes.next_multiple_of(FILE_ALIGNMENT))
            .sum::<u64>()
    };
    let (kept, new) = (bytes_of(true), bytes_of(false));
    let unused = end.end().saturating_sub(data_end.end).saturating_sub(kept);
    if unused > MAX_UNUSED_BYTES.max(MAX_UNUSED_PER_INDEX_BYTE.saturating_mul(kept + new)) {
        return Err(Error::new(
            ErrorKind::Conflict,
            format!("{unused} bytes at the end of the file belong to indexes that are no longer used; remove them with `hyperslab vacuum`"),
        ));
    }
    // The final manifest, which has offsets instead of names, is at most twice as long.
    let manifest = Manifest { files: vec![indexed.clone()], ..Manifest::empty() }.encode()?.len() as u64;
    end.reserve(new + 2 * manifest + 4096)?;
    end.align(FILE_ALIGNMENT)?;
    let mut header = HEADER.to_vec();
    header.resize(FILE_ALIGNMENT as usize, 0);
    end.write(&header)?;
    for index_file in indexed.columns.iter_mut().flat_map(|column| &mut column.index_files) {
        let IndexFilePlace::Sidecar(name) = &index_file.place else { continue };
        let from = name.open_in(folder)?;
        let place = end.end();
        copy(&from, index_file.offset, index_file.bytes, |bytes| end.write(bytes))?;
        end.align(FILE_ALIGNMENT)?;
        (index_file.place, index_file.offset) = (IndexFilePlace::Embedded(place), 0);
    }
    Ok(())
}

fn copy(from: &File, start: u64, length: u64, mut write: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
    let mut buffer = vec![0; COPY_BYTES];
    let mut done = 0;
    while done < length {
        let count = usize::try_from(length - done).unwrap_or(COPY_BYTES).min(COPY_BYTES);
        let part = buffer.get_mut(..count).ok_or_else(|| Error::internal("a part to copy is longer than its buffer"))?;
        from.read_exact_at(part, start + done)?;
        write(part)?;
        done += count as u64;
    }
    Ok(())
}

/// Checks that the values of the file are those that were indexed; `Conflict` if not.
fn verify(session: &Session, path: &Path, indexed: &IndexedFile) -> Result<()> {
    let file = session.open(path)?;
    for column in &indexed.columns {
        let is_same = match indexed_parts(&file, column) {
            // They say how many blocks there are.
            Some(found) if !found.fits(&file, &column.shape, &column.grid)? => false,
            // A virtual dataset has no values in the file; each query compares the stamps of its sources.
            Some(found) if found.is_virtual(&file)? => true,
            Some(found) => compare::is_same(&file, &found, &open_directory(&IndexFiles::new(path), file.path(), column)?)?,
            None => false,
        };
        if !is_same {
            return Err(Error::new(
                ErrorKind::Conflict,
                format!("the values of {} have changed while their index was being embedded; try again", column.label()),
            ));
        }
    }
    Ok(())
}

/// Writes the trailer and returns the modification time that the file then has.
fn complete(end: &mut Appended, next_trailer: &mut dyn FnMut() -> Trailer) -> Result<u64> {
    let mut written = 0;
    for _ in 0..MAX_TRAILER_TRIES {
        let trailer = next_trailer();
        end.write(&trailer.encode())?;
        written = end.modified_nanoseconds()?;
        let validity = Validity { trailer, bytes: end.end() };
        if trailer.from_nanoseconds == 0 || validity.holds(Stamp { bytes: end.end(), modified_nanoseconds: written }) {
            break;
        }
    }
    end.sync()?;
    Ok(written)
}

/// Removes unused indexes from the end of the file at `path` and returns their number of bytes; `None` if there are none. An
/// index that is still used is embedded again. With `dry_run` nothing is removed.
pub(crate) fn remove_unused(session: &Session, path: &Path, dry_run: bool) -> Result<Option<u64>> {
    let inner = || {
        if !path.is_file() || !embedded::has_header(path).unwrap_or(false) {
            return Ok(None);
        }
        let mut end = Appended::open(path)?;
        let quiet = end.modified_nanoseconds()?;
        // Later writes must get another time of change.
        std::thread::sleep(CLOCK_TICK);
        let data_end = data_end(path)?;
        let used = embedded::read(path).ok();
        let live = used.as_ref().map_or(0, |(manifest, validity)| {
            let index_files = manifest.files.iter().flat_map(|file| &file.columns).flat_map(|column| &column.index_files);
            index_files.map(|index_file| index_file.bytes.next_multiple_of(FILE_ALIGNMENT)).sum::<u64>() + validity.trailer.manifest_bytes
        });
        // Alignment, header and trailer.
        let around = 4 * FILE_ALIGNMENT + TRAILER_BYTES as u64;
        let unused = end.end().saturating_sub(data_end.end).saturating_sub(live);
        if data_end.is_open_for_writing || unused <= around {
            return Ok(None);
        }
        if dry_run {
            return Ok(Some(unused - around));
        }
        let before = end.end();
        let staged = match used {
            Some((manifest, validity)) => unload(path, manifest, validity)?,
            None => false,
        };
        end.cut(quiet, || {
            let now = self::data_end(path)?;
            let is_same = now.end == data_end.end && !now.is_open_for_writing;
            if is_same { Ok(now.end) } else { Err(Error::busy("another program is writing to the file; try again when it is done")) }
        })?;
        drop(end);
        if staged {
            restamp(path)?;
            embed_inner(session, path)?;
        }
        Ok(Some(before.saturating_sub(Stamp::now(path).map_or(before, |now| now.bytes))))
    };
    inner().map_err(|error: Error| error.in_file(path.display().to_string()))
}

/// Copies an embedded index to the sidecar if it is valid. Returns whether it was.
fn unload(path: &Path, manifest: Manifest, validity: Validity) -> Result<bool> {
    let now = Stamp::now(path).filter(|now| validity.holds(*now));
    let (Some(now), Some(mut indexed)) = (now, manifest.files.into_iter().next()) else { return Ok(false) };
    let (folder, file) = (sidecar_next_to(path), File::open(path)?);
    std::fs::create_dir_all(&folder)?;
    let name = IndexFileName::generate(true);
    let (output, mut end) = (Output::create_own(name.path_in(&folder))?, 0u64);
    for index_file in indexed.columns.iter_mut().flat_map(|column| &mut column.index_files) {
        let Some(place) = index_file.place.embedded_offset() else { continue };
        let start = end.next_multiple_of(FILE_ALIGNMENT);
        end = start;
        copy(&file, place, index_file.bytes, |bytes| {
            output.write_at(end, bytes)?;
            end += bytes.len() as u64;
            Ok(())
        })?;
        (index_file.place, index_file.offset) = (IndexFilePlace::Sidecar(name.clone()), start);
    }
    output.publish(end, Existing::Keep)?;
    let name = file_name(path)?.to_owned();
    Manifest::change(&folder, |manifest| {
        *manifest = Manifest { files: vec![IndexedFile { name, stamp: now, ..indexed }], ..Manifest::empty() };
        Ok(())
    })?;
    Ok(true)
}

/// Sets the stamps in the sidecar to the current one: the file was truncated, and its values are compared when the index is
/// embedded again.
fn restamp(path: &Path) -> Result<()> {
    let now = Stamp::now(path).ok_or_else(|| Error::internal("a file has no stamp"))?;
    Manifest::change(&sidecar_next_to(path), |manifest| {
        manifest.files.iter_mut().for_each(|file| file.stamp = now);
        Ok(())
    })
}

fn file_name(path: &Path) -> Result<&str> {
    path.file_name().and_then(|name| name.to_str()).ok_or_else(|| Error::unsupported("an index of a file whose name is not valid UTF-8"))
}
