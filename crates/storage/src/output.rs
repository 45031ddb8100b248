//! A file that is written under a temporary name and published atomically: readers see all of it or nothing.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hyperslab_array::{Error, ErrorKind, Result};

use crate::existing::Existing;
use crate::folder::sync_place;
use crate::leftovers::remove_abandoned;
use crate::own_file::open_own_file;
use crate::remote::{StorageOptions, UploadTarget, check_writable, is_address, shown_address, upload};
use crate::replace::{InheritedMetadata, real_path, rename_new};
use crate::temporary_name::unique_name;
use crate::{Storage, check_range};

/// A file that is being written under a temporary name next to its target. Dropped before it is published, it is removed.
#[derive(Debug)]
pub struct Output {
    file: File,
    /// Its name while it is written; equal to `target` for files made by [`Output::in_place`].
    aside: PathBuf,
    target: PathBuf,
    published: bool,
    durable: bool,
    /// Whether it takes over permissions and owner of the file that it replaces, as files of users do.
    is_users: bool,
    /// Permissions, owner and group of the file that was there at the beginning.
    passed: Option<InheritedMetadata>,
    /// Where it goes if its target is an address of an object store: `target` is the address then, and `aside` a local file.
    store: Option<StorageOptions>,
    /// Whether it stays where it is if it is not published, for another process that goes on with it.
    stays: bool,
    /// Whether an upload in parts is noted in the store while it runs.
    is_noted: bool,
    /// The writing process: a forked child that ends must not remove its parent's file.
    process: u32,
}

impl Output {
    /// As [`Output::create`], for a path or an address of an object store. What goes to a store is written to a file in the folder for
    /// temporary files first, and uploaded when it is published: the object appears whole, or not at all.
    ///
    /// # Errors
    /// As [`Output::create`]; `Unsupported` for HTTP servers, `Io` if the store cannot be asked.
    pub fn create_at(target: impl AsRef<Path>, existing: Existing, options: &StorageOptions) -> Result<Self> {
        let target = target.as_ref();
        let Some(address) = target.to_str().filter(|name| is_address(name)) else { return Self::create(target, existing) };
        check_writable(address, options, existing)?;
        let local = Path::new(target.file_name().unwrap_or(target.as_os_str()));
        let mut output = Self::aside(std::env::temp_dir().join(local), false, None)?;
        (output.target, output.store) = (target.to_path_buf(), Some(options.clone()));
        Ok(output)
    }

    /// Begins the object at an address, which is one of many parts of a write. The local file has no name, so that nothing of it stays if
    /// this process is killed, and an upload in parts is noted in the store while it runs. An object of this name is replaced.
    ///
    /// # Errors
    /// `Io` if no file can be created in the folder for temporary files.
    pub fn create_object(address: &str, options: &StorageOptions) -> Result<Self> {
        let mut output = Self::aside(std::env::temp_dir().join("object"), false, None)?;
        std::fs::remove_file(&output.aside).map_err(|error| output.failed(error, "cannot remove the name of a temporary file"))?;
        (output.target, output.store, output.is_noted) = (PathBuf::from(address), Some(options.clone()), true);
        Ok(output)
    }

    /// Begins a file that will be called `target`; its folder must exist. Symbolic links are followed. The new file takes
    /// over permissions, owner, group and access control list of a regular file that it replaces, as far as this process
    /// may set them. A file that this process may not write, or that is not a regular file, is an error. Leftover files of
    /// killed writers are removed first. With [`Existing::Keep`], an existing file or symbolic link of this name is a
    /// `Conflict` at once.
    pub fn create(target: impl AsRef<Path>, existing: Existing) -> Result<Self> {
        let target = target.as_ref();
        if existing == Existing::Keep {
            return if target.symlink_metadata().is_ok() { Err(is_there(target)) } else { Self::aside(target.to_path_buf(), true, None) };
        }
        let real = real_path(target)?;
        let passed = InheritedMetadata::of(&real)?;
        Self::aside(real, true, passed)
    }

    /// Begins a file among files that only Hyperslab writes: like [`Output::create`], but a symbolic link is replaced and
    /// permissions are not taken over.
    pub fn create_own(target: impl AsRef<Path>) -> Result<Self> {
        Self::aside(target.as_ref().to_path_buf(), false, None)
    }

    fn aside(target: PathBuf, is_users: bool, passed: Option<InheritedMetadata>) -> Result<Self> {
        let shown = target.display().to_string();
        let name = target.file_name().and_then(|name| name.to_str());
        let name = name.ok_or_else(|| Error::invalid_input("no name of a file").in_file(&shown))?;
        let prefix = format!(".{name}.");
        remove_abandoned(&target);
        let aside = target.with_file_name(format!("{prefix}{}.part", unique_name()));
        // Only the owner may open it until it has the permissions of the file that it replaces.
        let mode = if passed.is_some() { 0o600 } else { 0o666 };
        let file = OpenOptions::new().read(true).write(true).create_new(true).mode(mode).open(&aside);
        let file = file.map_err(|error| Error::from(error).in_file(&shown))?;
        // The lock tells later writers that this one is alive. On a file system without locks, leftovers stay longer.
        let _ = rustix::fs::flock(&file, rustix::fs::FlockOperation::NonBlockingLockExclusive);
        Ok(Self {
            file,
            aside,
            target,
            published: false,
            durable: true,
            is_users,
            passed,
            store: None,
            stays: false,
            is_noted: false,
            process: std::process::id(),
        })
    }

    /// Begins a file under its final name, which readers learn of only after it is complete; no such file may exist. The
    /// caller syncs the folder before it announces the file.
    pub fn in_place(target: impl AsRef<Path>) -> Result<Self> {
        let target = target.as_ref().to_path_buf();
        let file = OpenOptions::new().read(true).write(true).create_new(true).open(&target);
        let file = file.map_err(|error| Error::from(error).in_file(target.display().to_string()))?;
        Ok(Self {
            file,
            aside: target.clone(),
            target,
            published: false,
            durable: true,
            is_users: false,
            passed: None,
            store: None,
            stays: false,
            is_noted: false,
            process: std::process::id(),
        })
    }

    /// Begins a file that will be called `target`, or goes on with what an earlier process has written to `aside`, in the same folder.
    /// If it is not published, it stays there. Returns how many bytes it has.
    ///
    /// # Errors
    /// `Conflict` if there is a file `target`; `Busy` if another process writes the file.
    pub fn resumable(target: impl AsRef<Path>, aside: PathBuf) -> Result<(Self, u64)> {
        let target = target.as_ref().to_path_buf();
        if target.symlink_metadata().is_ok() {
            return Err(is_there(&target));
        }
        use std::os::unix::fs::MetadataExt;
        let file = open_own_file(&aside)?;
        let busy = || Error::busy("another process writes this file").in_file(aside.display().to_string());
        if rustix::fs::flock(&file, rustix::fs::FlockOperation::NonBlockingLockExclusive) == Err(rustix::io::Errno::WOULDBLOCK) {
            return Err(busy());
        }
        let metadata = file.metadata().map_err(|error| Error::from(error).in_file(aside.display().to_string()))?;
        // Another process may have completed the file between its opening and its lock.
        if !aside.symlink_metadata().is_ok_and(|named| (named.dev(), named.ino()) == (metadata.dev(), metadata.ino())) {
            return Err(busy());
        }
        let length = metadata.len();
        let process = std::process::id();
        let output =
            Self { file, aside, target, published: false, durable: true, is_users: true, passed: None, store: None, stays: true, is_noted: false, process };
        Ok((output, length))
    }

    /// Does not wait for the disk: readers still see all or nothing, but a power failure may lose a published file.
    pub fn without_sync(&mut self) {
        self.durable = false;
    }

    /// The target as messages show it.
    fn name(&self) -> String {
        self.target.to_str().map_or_else(|| self.target.display().to_string(), |name| shown_address(name).into_owned())
    }

    /// The path, or the address, that it will have.
    pub fn target(&self) -> &Path {
        &self.target
    }

    /// The name that it has while it is written.
    pub fn temporary(&self) -> &Path {
        &self.aside
    }

    /// Another handle of the file, for a library that writes it.
    pub fn handle(&self) -> Result<File> {
        self.file.try_clone().map_err(|error| self.failed(error, "cannot open again"))
    }

    /// The file system's preferred block size in bytes; the stripe size if it has stripes.
    pub fn block_bytes(&self) -> u64 {
        use std::os::unix::fs::MetadataExt;
        if let Some(alignment) = crate::profile().settings.alignment_bytes {
            return alignment;
        }
        let block = || crate::file_system::block_of(self.file.metadata().map_or(0, |metadata| metadata.blksize()));
        crate::layout::stripe_of(&self.file).unwrap_or_else(block)
    }

    fn failed(&self, error: std::io::Error, doing: &str) -> Error {
        Error::io(error, doing).in_file(self.name())
    }

    /// Writes `bytes` from `offset` on.
    pub fn write_at(&self, offset: u64, bytes: &[u8]) -> Result<()> {
        std::os::unix::fs::FileExt::write_all_at(&self.file, bytes, offset).map_err(|error| self.failed(error, "cannot write").at_offset(offset))
    }

    /// Waits until what was written is on disk, unless [`Output::without_sync`] was called.
    ///
    /// # Errors
    /// `Io`.
    pub fn sync_values(&self) -> Result<()> {
        if self.durable { self.file.sync_data().map_err(|error| self.failed(error, "cannot bring to the disk")) } else { Ok(()) }
    }

    /// Another handle of the file, for syncing what was written so far while more is written. `None` after
    /// [`Output::without_sync`].
    pub fn syncer(&self) -> Option<File> {
        self.durable.then(|| self.file.try_clone().ok()).flatten()
    }

    /// Reads back what was written; zeros after the end of the file and in gaps.
    pub fn read_at(&self, offset: u64, bytes: &mut [u8]) -> Result<()> {
        let failed = |error| self.failed(error, "cannot read back").at_offset(offset);
        let length = self.file.metadata().map_err(failed)?.len();
        let known = usize::try_from(length.saturating_sub(offset)).unwrap_or(usize::MAX).min(bytes.len());
        let (written, after) = bytes.split_at_mut(known);
        after.fill(0);
        std::os::unix::fs::FileExt::read_exact_at(&self.file, written, offset).map_err(failed)
    }

    /// The bytes written so far, for readers in this process.
    pub fn storage(&self) -> Result<Arc<dyn Storage>> {
        let file = self.file.try_clone().map_err(|error| self.failed(error, "cannot read back"))?;
        let length = file.metadata().map_err(|error| self.failed(error, "cannot tell the length"))?.len();
        Ok(Arc::new(Unpublished { file, length, name: self.name() }))
    }

    /// Truncates or extends the file to `length` bytes, waits until they are on disk, renames the file, and waits until the
    /// new name is on disk too. If only the last step fails, the error says that the file is in place.
    pub fn publish(self, length: u64, existing: Existing) -> Result<()> {
        self.publish_if(length, existing, |_| Ok(()))
    }

    /// Like [`Output::publish`], but calls `decide` with the temporary name when the file is complete and on disk; if it
    /// returns an error, no file is left. `Conflict` if another process removes the temporary file afterwards.
    pub fn publish_if(mut self, length: u64, existing: Existing, decide: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
        if self.file.metadata().map_err(|error| self.failed(error, "cannot tell the length"))?.len() != length {
            self.file.set_len(length).map_err(|error| self.failed(error, "cannot set the length"))?;
        }
        if self.is_users && existing == Existing::Replace {
            // The file may have been replaced since the beginning.
            let passed = InheritedMetadata::of(&self.target)?.or_else(|| self.passed.take());
            passed.map_or(Ok(()), |passed| passed.give(&self.file)).map_err(|error| self.failed(error, "cannot set the permissions"))?;
        }
        if let Some((address, options)) = self.target.to_str().zip(self.store.as_ref()) {
            decide(&self.aside)?;
            return upload(&self.file, length, &UploadTarget { address, options, existing, is_noted: self.is_noted });
        }
        if self.durable {
            self.file.sync_all().map_err(|error| self.failed(error, "cannot bring to the disk"))?;
        }
        if self.aside == self.target {
            self.published = true;
            return Ok(());
        }
        decide(&self.aside)?;
        // Readers take a shared lock as soon as the file has its name; until then, other writers must not take it for
        // abandoned.
        let _ = rustix::fs::flock(&self.file, rustix::fs::FlockOperation::NonBlockingLockShared);
        let named = match existing {
            Existing::Replace => std::fs::rename(&self.aside, &self.target),
            Existing::Keep => rename_new(&self.aside, &self.target),
        };
        named.map_err(|error| match error.kind() {
            std::io::ErrorKind::AlreadyExists => is_there(&self.target),
            std::io::ErrorKind::NotFound if !self.aside.exists() => {
                let message = "another process has removed the file before it was in place: try again";
                Error::new(ErrorKind::Conflict, message).in_file(self.target.display().to_string())
            }
            _ => self.failed(error, "cannot rename"),
        })?;
        self.published = true;
        let _ = rustix::fs::flock(&self.file, rustix::fs::FlockOperation::Unlock);
        if self.durable { sync_place(&self.target) } else { Ok(()) }
    }
}

/// The bytes written so far of a file that is being written.
struct Unpublished {
    file: File,
    length: u64,
    name: String,
}

impl Storage for Unpublished {
    fn len(&self) -> u64 {
        self.length
    }
    fn read_exact_at(&self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        check_range(self, offset, buffer.len())?;
        std::os::unix::fs::FileExt::read_exact_at(&self.file, buffer, offset)
            .map_err(|error| Error::io(error, "cannot read back").in_file(&self.name).at_offset(offset))
    }
    fn name(&self) -> &str {
        &self.name
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        if !self.published && !self.stays && self.process == std::process::id() {
            let _ = std::fs::remove_file(&self.aside);
        }
    }
}

fn is_there(target: &Path) -> Error {
    Error::new(ErrorKind::Conflict, "there is a file of this name already").in_file(target.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    type Outcome = std::result::Result<(), Box<dyn std::error::Error>>;

    #[test]
    fn what_has_its_name_can_be_locked_by_readers() -> Outcome {
        let folder = tempfile::tempdir()?;
        let target = folder.path().join("x");
        let mut first = Output::create(&target, Existing::Keep)?;
        first.without_sync();
        first.publish(0, Existing::Keep)?;
        let ended = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| -> Outcome {
            let reader = scope.spawn(|| -> std::io::Result<u32> {
                let mut locked = 0;
                while !ended.load(std::sync::atomic::Ordering::Relaxed) {
                    rustix::fs::flock(&File::open(&target)?, rustix::fs::FlockOperation::NonBlockingLockShared)?;
                    locked += 1;
                }
                Ok(locked)
            });
            let written = (0..2000).try_for_each(|_| {
                let mut next = Output::create(&target, Existing::Replace)?;
                next.without_sync();
                next.publish(0, Existing::Replace)
            });
            ended.store(true, std::sync::atomic::Ordering::Relaxed);
            written?;
            assert!(reader.join().map_err(|_| "a panic")?? > 0);
            Ok(())
        })
    }

    #[test]
    fn nothing_is_seen_before_it_is_published_and_nothing_is_left_of_what_is_not() -> Outcome {
        let folder = tempfile::tempdir()?;
        let target = folder.path().join("x");
        let output = Output::create(&target, Existing::Keep)?;
        output.write_at(2, b"ab")?;
        assert!(!target.exists());
        output.publish(4, Existing::Keep)?;
        assert_eq!(std::fs::read(&target)?, b"\0\0ab");
        let late = Output::create(&target, Existing::Replace)?.publish(0, Existing::Keep);
        let early = Output::create(&target, Existing::Keep).map(drop);
        assert!([late, early].into_iter().all(|made| made.is_err_and(|error| error.kind() == ErrorKind::Conflict)));
        drop(Output::create(&target, Existing::Replace)?);
        assert_eq!(std::fs::read(&target)?, b"\0\0ab");
        assert_eq!(std::fs::read_dir(folder.path())?.count(), 1);
        Ok(())
    }

    #[test]
    fn a_file_under_its_own_name_is_new_and_goes_where_it_is_not_published() -> Outcome {
        let folder = tempfile::tempdir()?;
        let target = folder.path().join("x");
        drop(Output::in_place(&target)?);
        assert!(!target.exists());
        let output = Output::in_place(&target)?;
        output.write_at(0, b"abcd")?;
        assert!(Output::in_place(&target).is_err());
        output.publish(3, Existing::Keep)?;
        assert_eq!(std::fs::read(&target)?, b"abc");
        Ok(())
    }
}
