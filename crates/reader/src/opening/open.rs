//! Opening files: local files, content in memory, and files that a writer is changing.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use hyperslab_array::{Cancellation, ErrorKind, Result, interruption};
use hyperslab_formats::{ArrayFile, Format, Interpretation, Link, Tree};
use hyperslab_storage::{LocalFile, LocalIndex, Memory, Opening, RangeReader, RemoteFile, Storage, shown_address};
use rayon::prelude::*;

use super::address::address_of;
use super::any_format;
use super::live_file::{being_written, is_locked, retry_while_torn, unfinished_if_locked};
use super::parked::{self, parkable};
use super::targets::with_targets;
use crate::{File, Session};

impl Session {
    /// Opens a local file, or the object at an address such as `s3://bucket/key`. The format is detected from its bytes.
    ///
    /// # Errors
    /// `NotFound` if there is no such file; `Io` if it cannot be read; `Conflict` if it is being written;
    /// `InvalidInput` for another format; `Corrupt`, `Unsupported` or `LimitExceeded` if it cannot be parsed.
    pub fn open(&self, path: impl AsRef<Path>) -> Result<File> {
        self.open_at_depth(path.as_ref(), 0, Opening::File, None)
    }
    /// Opens the content of a file that is in memory; `path` is for messages.
    ///
    /// # Errors
    /// `InvalidInput` for another format; `Corrupt`, `Unsupported` or `LimitExceeded` if it cannot be parsed.
    pub fn open_content(&self, path: &Path, content: &[u8]) -> Result<File> {
        let storage = Arc::new(Memory::new(path.display().to_string(), content.to_vec()));
        Ok(self.file_of(path, any_format::open(storage, self.open_options())?, 0))
    }
    /// Opens the bytes of `storage` at `path`: an edit that is not committed, for example.
    ///
    /// # Errors
    /// As [`Session::open_content`].
    pub fn open_storage(&self, path: &Path, storage: Arc<dyn Storage>) -> Result<File> {
        Ok(self.file_of(path, any_format::open(storage, self.open_options())?, 0))
    }
    /// The same, with netCDF-4 conventions applied or not.
    ///
    /// # Errors
    /// As [`Session::open_content`].
    pub fn open_storage_as(&self, path: &Path, storage: Arc<dyn Storage>, interpretation: Interpretation) -> Result<File> {
        let mut options = self.open_options().clone();
        options.interpretation = interpretation;
        Ok(self.file_of(path, any_format::open(storage, &options)?, 0))
    }
    /// A file whose objects and values come from `array_file`; `path` is for messages, and for the folder of linked files.
    pub fn file_of_arrays(&self, path: &Path, array_file: Arc<dyn ArrayFile>) -> File {
        File::new(self.clone(), path.to_path_buf(), array_file, 0)
    }
    /// Opens what `reader` reads, of `length` bytes. `path` is for messages, and `version` identifies it if its owner knows one.
    ///
    /// # Errors
    /// That of the reader, and as [`Session::open_content`].
    pub fn open_reader(&self, path: &Path, reader: Arc<dyn RangeReader>, length: u64, version: Option<String>) -> Result<File> {
        let storage = Arc::new(RemoteFile::of_reader(&path.display().to_string(), reader, length, version)?);
        Ok(self.file_of(path, any_format::open(storage, self.open_options())?, 0))
    }
    /// Opens many local files in parallel and returns them in the given order.
    ///
    /// # Errors
    /// As [`Session::open`]: the first error in that order, which says how many other files cannot be opened, and names some of them.
    pub fn open_all(&self, paths: &[impl AsRef<Path> + Sync]) -> Result<Vec<File>> {
        self.open_all_cancellable(paths, &interruption::current_cancellation().unwrap_or_default())
    }
    /// As [`Session::open_all`], until it is cancelled.
    ///
    /// # Errors
    /// As [`Session::open_all`]; `Cancelled`.
    pub fn open_all_cancellable(&self, paths: &[impl AsRef<Path> + Sync], cancellation: &Cancellation) -> Result<Vec<File>> {
        let may_park = paths.len() >= parked::MIN_PARKED;
        let open = |path: &_| {
            let path: &Path = AsRef::as_ref(path);
            interruption::cancellable(cancellation, || self.open_one(path, 0, Opening::File, None, may_park))
                .map_err(|error| error.in_file(shown_address(&path.to_string_lossy())))
        };
        if let [one] = paths {
            return Ok(vec![open(one)?]);
        }
        let open = |path: &_| {
            cancellation.check()?;
            open(path)
        };
        let opened: Vec<Result<File>> = self.compute(|| Ok(paths.par_iter().map(open).collect()))?;
        cancellation.check()?;
        all_opened(opened)
    }
    /// An opened file; references with the files to which they lead.
    fn file_of(&self, path: &Path, opened: Arc<dyn ArrayFile>, depth: u32) -> File {
        File::new(self.clone(), path.to_path_buf(), with_targets(self, path, opened, depth), depth)
    }
    /// Opens a file that another file points at, `depth` links away from the first, and `beneath` a folder if the session's
    /// policy says so.
    pub(crate) fn open_at_depth(&self, path: &Path, depth: u32, opening: Opening, beneath: Option<&Path>) -> Result<File> {
        self.open_one(path, depth, opening, beneath, false)
    }
    /// As `open_at_depth`; a local file that `may_park` takes little memory while it is not used.
    fn open_one(&self, path: &Path, depth: u32, opening: Opening, beneath: Option<&Path>, may_park: bool) -> Result<File> {
        if let Some(address) = address_of(path) {
            let storage = Arc::new(self.open_remote(address)?);
            return Ok(self.file_of(path, any_format::open(storage, self.open_options())?, depth));
        }
        if let Some(opened) = any_format::open_folder(path, beneath, self.open_options())? {
            return Ok(self.file_of(path, opened, depth));
        }
        let (storage, opened) = retry_while_torn(
            || {
                let mut storage = Arc::new(LocalFile::open_as(path, opening, beneath)?);
                if being_written(storage.as_ref()) {
                    storage = Arc::new(LocalFile::open_as(path, Opening::Growing, beneath)?);
                }
                let opened = any_format::open(storage.clone(), self.open_options());
                Ok((storage, opened))
            },
            |(storage, opened)| match opened {
                // An edit was committed meanwhile, or is being applied now.
                Err(error) if error.kind() == ErrorKind::Conflict => storage.has_changed() || is_locked(path),
                Err(error) => error.kind() == ErrorKind::Corrupt && being_written(storage.as_ref()),
                // All objects of a netCDF-4 file are parsed when it is opened, others when they are used.
                Ok(array_file) if array_file.format() == Format::Netcdf4 => {
                    storage.has_changed() || (being_written(storage.as_ref()) && has_damage(array_file.tree()))
                }
                Ok(_) => false,
            },
        )?;
        let opened = opened.map_err(|error| unfinished_if_locked(path, error))?;
        let has_index = depth == 0 && LocalIndex::is_named(self.storage_options());
        if may_park && !has_index {
            let path = Arc::from(path);
            let opened = parkable(self, &path, &storage, opened);
            return Ok(File::new(self.clone(), path.clone(), with_targets(self, &path, opened, depth), depth));
        }
        drop(storage);
        let file = self.file_of(path, opened, depth);
        if has_index {
            file.restart_points()?;
        }
        Ok(file)
    }
}

impl File {
    /// Opens the same file again, to see what its writer has changed since.
    ///
    /// # Errors
    /// As [`Session::open`].
    pub fn reopen(&self) -> Result<File> {
        self.session().open_at_depth(self.path(), self.depth(), Opening::File, None)
    }
}

/// The files, or the first error with a note about the others.
fn all_opened(outcomes: Vec<Result<File>>) -> Result<Vec<File>> {
    /// Files that a message names besides the first one.
    const MAX_NAMED: usize = 3;
    let count = outcomes.len();
    let mut files = Vec::with_capacity(count);
    let mut errors = Vec::new();
    for outcome in outcomes {
        match outcome {
            Ok(file) => files.push(file),
            Err(error) => errors.push(error),
        }
    }
    let mut errors = errors.into_iter();
    let Some(first) = errors.next() else { return Ok(files) };
    if errors.len() == 0 {
        return Err(first);
    }
    let left = errors.len();
    let named: Vec<String> = errors.take(MAX_NAMED).map(|error| format!("{} ({})", error.file().unwrap_or("a file"), error.message())).collect();
    let dots = if left > MAX_NAMED { ", …" } else { "" };
    let others = if left == 1 { "1 other".to_owned() } else { format!("{left} others") };
    Err(first.with_note(&format!("{others} of {count} files cannot be opened either: {}{dots}", named.join(", "))))
}

/// Whether some object is unreadable because of damage.
fn has_damage(tree: &dyn Tree) -> bool {
    fn corrupt<T>(parsed: Result<T>) -> bool {
        parsed.is_err_and(|error| error.kind() == ErrorKind::Corrupt)
    }
    let mut seen = HashSet::from([tree.root()]);
    let mut pending = vec![tree.root()];
    while let Some(id) = pending.pop() {
        if corrupt(tree.object(id)) || corrupt(tree.attributes(id)) {
            return true;
        }
        let links = tree.links(id).unwrap_or_default();
        pending.extend(links.iter().filter_map(Link::object).filter(|id| seen.insert(*id)));
    }
    false
}
