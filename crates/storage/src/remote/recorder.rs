//! Recorder: a remote file that remembers what was read of it, and saves that as a chunk index.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hyperslab_array::{Cancellation, Error, Result, interruption};

use super::address::{is_address, shown_address};
use super::cache_settings::CacheSettings;
use super::chunk_index::{Description, beside, extents, name_in_folder, write};
use super::options::StorageOptions;
use super::private_folder::{PrivateFolder, write_whole};
use super::remote_file::RemoteFile;
use super::upload::{UploadTarget, check_writable, upload};
use crate::existing::Existing;
use crate::restart_points::RestartPointsBuilder;
use crate::temporary_name::nameless;
use crate::{EntryName, Storage, check_range, folder_of};

/// Number of new ranges after which ranges are joined.
const JOIN_EVERY: usize = 1 << 20;
/// Bytes that are fetched together when an index is saved.
const BATCH_BYTES: u64 = 16 << 20;

/// Where a chunk index goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChunkIndexPlace {
    /// Into the cache folder, where [`RemoteFile::open`] finds it.
    CacheFolder,
    /// Next to the object, as an object with its name and `.chunks`; the storage option `chunk_index` is then `beside`.
    Beside,
    /// To this file or address, or into this folder, which the storage option `chunk_index` names.
    At(PathBuf),
}

/// A chunk index that was written.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SavedChunkIndex {
    /// Its file or address.
    pub path: PathBuf,
    /// Length of the file in bytes.
    pub bytes: u64,
    /// Bytes of the object in it: metadata, and values that were added.
    pub metadata_bytes: u64,
}

/// A remote file that remembers which bytes were read.
pub struct Recorder {
    file: RemoteFile,
    ranges: Mutex<Ranges>,
    has_values: AtomicBool,
}

#[derive(Default)]
struct Ranges {
    all: Vec<(u64, u64)>,
    /// The first ones, which are joined.
    joined: usize,
}

impl Ranges {
    fn add(&mut self, offset: u64, length: u64) {
        if self.all.last() == Some(&(offset, length)) {
            return;
        }
        self.all.push((offset, length));
        if self.all.len() - self.joined > JOIN_EVERY {
            self.join();
        }
    }

    /// Sorts the ranges, and joins those that touch.
    fn join(&mut self) {
        self.all.sort_unstable();
        let mut joined: Vec<(u64, u64)> = Vec::new();
        for &(offset, length) in self.all.iter().filter(|(_, length)| *length > 0) {
            match joined.last_mut() {
                Some((start, before)) if offset <= *start + *before => *before = (*before).max(offset + length - *start),
                _ => joined.push((offset, length)),
            }
        }
        (self.joined, self.all) = (joined.len(), joined);
    }
}

impl Recorder {
    /// Opens the object at an address, as [`RemoteFile::open`] does, without a chunk index.
    ///
    /// # Errors
    /// As of [`RemoteFile::open`]; `Unsupported` if the store gives no strong entity tag, without which a later version cannot be told.
    pub fn open(address: &str, options: &StorageOptions) -> Result<Self> {
        let file = RemoteFile::open_unindexed(address, options)?;
        file.identified()?;
        Ok(Self { file, ranges: Mutex::default(), has_values: AtomicBool::new(false) })
    }

    fn ranges(&self) -> MutexGuard<'_, Ranges> {
        self.ranges.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds values to what is saved. A file that is opened with the index reads them without a request.
    ///
    /// # Errors
    /// `Corrupt` if the object ends before them.
    pub fn add_values(&self, offset: u64, length: u64) -> Result<()> {
        check_range(&self.file, offset, usize::try_from(length).unwrap_or(usize::MAX))?;
        self.has_values.store(true, Ordering::Relaxed);
        self.ranges().add(offset, length);
        Ok(())
    }

    /// Writes a chunk index of what was read so far, and of restart points. It appears when it is complete, and replaces one that is there.
    ///
    /// # Errors
    /// `InvalidInput` if there is no cache folder for it; `Unsupported` if it shall go to an HTTP server; `Io`; `Conflict` if the object was
    /// replaced.
    pub fn save(&self, place: &ChunkIndexPlace, options: &StorageOptions, points: Option<&RestartPointsBuilder>) -> Result<SavedChunkIndex> {
        let ranges = {
            let mut ranges = self.ranges();
            ranges.join();
            ranges.all.clone()
        };
        let version = self.file.identified()?;
        let name = name_in_folder(&version.place);
        let modified = self.file.modified().and_then(|time| time.timestamp_nanos_opt());
        let description = Description { version, modified, has_values: self.has_values.load(Ordering::Relaxed), points: None };
        let mut outcome = Ok(());
        let fill = |file: &mut File| {
            outcome = self.fill(file, &description, &ranges, points);
            outcome.clone().map_err(|error| std::io::Error::other(error.to_string()))?;
            file.sync_all()
        };
        let metadata_bytes = ranges.iter().map(|(_, length)| length).sum();
        let path = match place {
            ChunkIndexPlace::Beside => return self.upload(&beside(self.file.address()?), (&description, &ranges, points), options),
            ChunkIndexPlace::At(out) => match out.to_str().filter(|out| is_address(out)) {
                Some(address) => return self.upload(address, (&description, &ranges, points), options),
                None => Some(if out.is_dir() { name.path_in(out) } else { out.clone() }),
            },
            ChunkIndexPlace::CacheFolder => None,
        };
        let saved = write_local(path, &name, options, metadata_bytes, fill);
        outcome?;
        saved
    }

    /// Makes the index an object.
    fn upload(&self, address: &str, (description, ranges, points): Content<'_>, options: &StorageOptions) -> Result<SavedChunkIndex> {
        check_writable(address, options, Existing::Replace)?;
        let failed = |error| Error::io(error, "cannot write the chunk index to a temporary file");
        let file = nameless().map_err(failed)?;
        self.fill(&file, description, ranges, points)?;
        let bytes = file.metadata().map_err(failed)?.len();
        upload(&file, bytes, &UploadTarget { address, options, existing: Existing::Replace, is_noted: false })?;
        let metadata_bytes = ranges.iter().map(|(_, length)| length).sum();
        Ok(SavedChunkIndex { path: PathBuf::from(shown_address(address).into_owned()), bytes, metadata_bytes })
    }

    fn fill(&self, file: &File, description: &Description, ranges: &[(u64, u64)], points: Option<&RestartPointsBuilder>) -> Result<()> {
        let all: Vec<(u64, u64)> = extents(ranges).collect();
        let (mut fetched, mut next) = (0, 0);
        let mut read = |offset: u64, length: u64| {
            interruption::check()?;
            // Both passes read the extents in order; what is read is fetched a batch ahead.
            if offset == all.first().map_or(0, |(first, _)| *first) {
                (fetched, next) = (0, 0);
            }
            if next >= fetched {
                let mut bytes = 0;
                let batch = all.iter().skip(next).take_while(|(_, length)| {
                    bytes += length;
                    bytes <= BATCH_BYTES
                });
                let batch: Vec<(u64, u64)> = batch.copied().collect();
                fetched = next + batch.len().max(1);
                self.file.prefetch(&batch)?;
            }
            next += 1;
            let mut bytes = vec![0; usize::try_from(length).map_err(|_| Error::internal("a long extent"))?];
            self.file.read_exact_at(offset, &mut bytes)?;
            Ok(bytes)
        };
        let mut out = BufWriter::with_capacity(1 << 20, file);
        write(&mut out, description, ranges, &mut read, points)?;
        out.flush().map_err(|error| Error::io(error, "cannot write the chunk index"))
    }
}

impl Storage for Recorder {
    fn len(&self) -> u64 {
        self.file.len()
    }
    fn read_exact_at(&self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        self.file.read_exact_at(offset, buffer)?;
        self.ranges().add(offset, buffer.len() as u64);
        Ok(())
    }
    fn is_remote(&self) -> bool {
        true
    }
    fn prefetch(&self, ranges: &[(u64, u64)]) -> Result<()> {
        self.file.prefetch(ranges)
    }
    fn fetched(&self, ranges: &[(u64, u64)], cancellation: &Cancellation) -> Result<Option<Arc<dyn Storage>>> {
        // Values are not recorded.
        self.file.fetched(ranges, cancellation)
    }
    fn version(&self) -> Option<&str> {
        self.file.version()
    }
    fn modified_nanoseconds(&self) -> Option<u64> {
        self.file.modified_nanoseconds()
    }
    fn close(&self) {
        self.file.close();
    }
    fn is_closed(&self) -> bool {
        self.file.is_closed()
    }
    fn name(&self) -> &str {
        self.file.name()
    }
}

/// What is in an index: its description, the ranges of metadata, and restart points.
type Content<'a> = (&'a Description, &'a [(u64, u64)], Option<&'a RestartPointsBuilder>);

/// Writes an index to a local file: at `path`, or with this name in the cache folder.
pub(super) fn write_local(
    path: Option<PathBuf>,
    name: &EntryName,
    options: &StorageOptions,
    metadata_bytes: u64,
    fill: impl FnOnce(&mut File) -> std::io::Result<()>,
) -> Result<SavedChunkIndex> {
    let (path, written) = match path {
        Some(path) => {
            let written = write_whole(&path, 0o666, fill);
            (path, written)
        }
        None => {
            let folder = CacheSettings::of(options)?.indexes;
            let folder = folder.ok_or_else(|| Error::invalid_input("there is no home folder for caches: name a file for the chunk index"))?;
            // The cache folder itself is checked, too: it holds this one.
            let private = PrivateFolder::at(&folder_of(&folder)).and_then(|_| PrivateFolder::at(&folder));
            (name.path_in(&folder), private.and_then(|private| private.write(name, fill)))
        }
    };
    let shown = path.display().to_string();
    written.map_err(|error| Error::io(error, "cannot write the chunk index").in_file(&shown))?;
    let bytes = std::fs::metadata(&path).map_err(|error| Error::from(error).in_file(&shown))?.len();
    Ok(SavedChunkIndex { path, bytes, metadata_bytes })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn joined_ranges_have_the_same_bytes_and_do_not_touch(added in prop::collection::vec((0u64..200, 0u64..20), 0..40)) {
            let mut ranges = Ranges::default();
            added.iter().for_each(|(offset, length)| ranges.add(*offset, *length));
            ranges.join();
            prop_assert!(ranges.all.windows(2).all(|pair| pair[0].0 + pair[0].1 < pair[1].0));
            for byte in 0..230 {
                let within = |all: &[(u64, u64)]| all.iter().any(|(offset, length)| (*offset..offset + length).contains(&byte));
                prop_assert_eq!(within(&added), within(&ranges.all));
            }
        }
    }
}
