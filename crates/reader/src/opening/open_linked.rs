//! Linked files: the other files that a file names, in external links, virtual datasets and external raw data.
//! A file may name any path of the machine, so a policy says which of them may be opened.

use std::borrow::Cow;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, OnceLock};

use hyperslab_array::name::bytes_of;
use hyperslab_array::{Error, ErrorKind, Result};
use hyperslab_formats::{ExternalFile, ObjectId};
use hyperslab_storage::{LocalFile, Opening, Piece, Pieces, Storage, encoded_name, is_address, shown_address};

use super::address::address_of;
use crate::{File, PathPolicy};

/// The path that a name of a file is: its bytes.
fn path_of(name: &str) -> Cow<'_, Path> {
    #[cfg(unix)]
    if let Cow::Owned(bytes) = bytes_of(name) {
        use std::os::unix::ffi::OsStringExt;
        return Cow::Owned(PathBuf::from(std::ffi::OsString::from_vec(bytes)));
    }
    Cow::Borrowed(Path::new(name))
}

impl File {
    /// Opens the file that this file refers to as `name`.
    ///
    /// # Errors
    /// As [`Session::open`](crate::Session::open), and `Unsupported` if the path policy forbids the file.
    pub fn linked_file(&self, name: &str) -> Result<File> {
        self.open_linked(name, Opening::File, true)
    }

    /// Like [`File::linked_file`], for one of many files that hold parts of a virtual dataset, from which `bytes` will be read.
    pub(crate) fn source(&self, name: &str, bytes: usize) -> Result<File> {
        /// From this many bytes on, opening the file again for each read costs little compared with reading, and its
        /// memory is free for others at once.
        const MIN_REOPENED_BYTES: usize = 256 << 10;
        self.open_linked(name, Opening::Source, bytes < MIN_REOPENED_BYTES)
    }

    fn open_linked(&self, name: &str, opening: Opening, keep: bool) -> Result<File> {
        self.step_to(name, |depth| {
            if name == "." {
                return Ok(self.clone());
            }
            let (path, beneath) = self.allowed_path(name)?;
            let files = || self.linked_files().files.lock();
            if let Some(file) = files().and_then(|files| files.get(&path).cloned()) {
                return Ok(file);
            }
            let file = self.session().open_at_depth(&path, depth, opening, beneath.as_deref())?;
            if keep
                && let Some(mut files) = files()
                && files.len() < max_kept_open()
            {
                files.insert(path, file.clone());
            }
            Ok(file)
        })
    }

    /// Path of the file that this file refers to as `name`.
    ///
    /// # Errors
    /// `Unsupported` if the path policy forbids the file.
    pub fn linked_path(&self, name: &str) -> Result<PathBuf> {
        Ok(self.allowed_path(name)?.0)
    }

    /// As [`File::linked_path`], with the folder that no symbolic link on the way may lead out of.
    fn allowed_path(&self, name: &str) -> Result<(PathBuf, Option<PathBuf>)> {
        let target = &*path_of(name);
        if is_address(name) {
            // Nothing that a file says makes this machine ask a server.
            return match self.session().path_policy() {
                PathPolicy::Nowhere | PathPolicy::SameFolder => Err(Error::unsupported(format!(
                    "{:?} is an address, and only files in the folder of the file that names it are opened (set paths=\"anywhere\" to widen it)",
                    shown_address(name)
                ))),
                PathPolicy::Anywhere => Ok((PathBuf::from(name), None)),
            };
        }
        let own = self.path().to_str().filter(|path| is_address(path)).map(|path| PathBuf::from(path.split('?').next().unwrap_or(path)));
        let folder = own.as_deref().unwrap_or(self.path()).parent().unwrap_or(Path::new(""));
        let real = self.real_folder();
        let inside = |path: &Path| path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
        let below = |folder: &Path| target.is_absolute() && target.strip_prefix(folder).is_ok_and(inside);
        // As the HDF5 library does: look in the folder of the path that was opened, then in the folder of the file itself.
        let beside = |name: &Path| {
            if own.is_some() && !self.session().has_opener() {
                return (folder.join(encoded_name(&name.to_string_lossy())), folder);
            }
            let first = folder.join(name);
            real.map(|real| (real.join(name), real)).filter(|(second, _)| !first.exists() && second.exists()).unwrap_or((first, folder))
        };
        let refused = |why: &str| Err(Error::unsupported(format!("{name:?} {why} (set paths=\"anywhere\" to widen it)")));
        // A file may have been opened by a relative path, and name another by its absolute one.
        let whole = || std::path::absolute(if folder.as_os_str().is_empty() { Path::new(".") } else { folder }).ok();
        match self.session().path_policy() {
            PathPolicy::Nowhere => refused("is another file, and paths=\"none\" opens none that a file names"),
            PathPolicy::SameFolder if below(folder) => Ok((target.to_path_buf(), Some(folder.to_path_buf()))),
            PathPolicy::SameFolder if own.is_none() && whole().as_deref().is_some_and(below) => Ok((target.to_path_buf(), whole())),
            PathPolicy::SameFolder if real.is_some_and(below) => Ok((target.to_path_buf(), real.map(Path::to_path_buf))),
            PathPolicy::SameFolder if inside(target) => {
                let (path, folder) = beside(target);
                Ok((path, Some(folder.to_path_buf())))
            }
            PathPolicy::SameFolder => refused("leaves the folder of the file that names it; only files in the same folder and below are opened"),
            // As the HDF5 library does: try the path as it is, then the file name next to this file.
            PathPolicy::Anywhere if target.is_absolute() && !target.exists() => {
                Ok((beside(Path::new(target.file_name().unwrap_or(target.as_os_str()))).0, None))
            }
            PathPolicy::Anywhere => Ok((beside(target).0, None)),
        }
    }

    /// The folder of the file itself, if it was opened through a symbolic link.
    fn real_folder(&self) -> Option<&Path> {
        let find = || {
            let is_link = self.path().symlink_metadata().is_ok_and(|found| found.is_symlink());
            let real = is_link.then(|| self.path().canonicalize().ok()).flatten()?;
            real.parent().map(Path::to_path_buf)
        };
        self.linked_files().real_folder.get_or_init(find).as_deref()
    }

    /// The bytes of the file that this file refers to as `name`.
    ///
    /// # Errors
    /// `NotFound` or `Io` if it cannot be opened, and `Unsupported` if the path policy forbids the file.
    pub(crate) fn linked_storage(&self, name: &str) -> Result<Arc<dyn Storage>> {
        let (path, beneath) = self.allowed_path(name)?;
        self.storage_at(&path, Opening::Source, beneath.as_deref())
    }

    fn storage_at(&self, path: &Path, opening: Opening, beneath: Option<&Path>) -> Result<Arc<dyn Storage>> {
        Ok(match address_of(path) {
            Some(address) => Arc::new(self.session().open_remote(address)?),
            None => Arc::new(LocalFile::open_as(path, opening, beneath)?),
        })
    }

    /// The raw data of a dataset with external storage as one run of bytes (specification IV.A.2.h). Bytes past the end of
    /// an external file were never written and read as zero.
    pub(crate) fn external_storage(&self, dataset: ObjectId, files: &[ExternalFile]) -> Result<Arc<dyn Storage>> {
        let known = || self.linked_files().external.lock();
        if let Some(storage) = known().and_then(|known| known.get(&dataset).cloned()) {
            return Ok(storage);
        }
        let mut start = 0u64;
        let mut pieces = Vec::with_capacity(files.len());
        for file in files {
            let (path, beneath) = self.allowed_path(&file.file)?;
            let storage = self.storage_at(&path, Opening::Growing, beneath.as_deref())?;
            let length = file.length.unwrap_or(u64::MAX - start);
            pieces.push(Piece { start, length, storage, offset: file.offset, zero_filled: true });
            start = start.checked_add(length).ok_or_else(|| Error::corrupt("external files beyond 64 bits"))?;
        }
        let storage: Arc<dyn Storage> = Arc::new(Pieces::new(self.name(), pieces)?);
        if let Some(mut known) = known() {
            known.insert(dataset, storage.clone());
        }
        Ok(storage)
    }
}

/// How many linked files of one file stay open. Each may hold a descriptor, and the process needs some for other uses.
/// Further ones are opened again for each use.
pub(crate) fn max_kept_open() -> usize {
    const MIN: usize = 64;
    static MAX: OnceLock<usize> = OnceLock::new();
    *MAX.get_or_init(|| (hyperslab_storage::max_open_files() / 4).max(MIN))
}

/// Whether an error says that a file or object does not exist.
pub(crate) fn is_missing(error: &Error) -> bool {
    error.kind() == ErrorKind::NotFound
}
