//! A file that is written aside and published at once: readers see nothing of it, or all.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hyperslab_array::{Error, ErrorKind, Result};

use crate::leftovers::remove_abandoned;
use crate::replace::{InheritedMetadata, real_path, rename_new};
use crate::folder::sync_place;
use crate::temporary_name::unique_name;
use crate::{Storage, check_range};

/// A file that is being written, beside the place that it will have. What is not published is removed.
#[derive(Debug)]
pub struct Output {
    file: File,
    /// Its name while it is written; `target` itself where nobody looks there.
    aside: PathBuf,
    target: PathBuf,
    published: bool,
    durable: bool,
    /// Whether it passes on what the file that it replaces has, which is a user's.
    is_users: bool,
    /// What the file that was there at the beginning has to pass on.
    passed: Option<InheritedMetadata>,
    /// The process that writes: a forked child that ends must not remove its parent's file.
    process: u32,
}

/// What to do where there is a file already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Existing {
    /// Take its place.
    Replace,
    /// Leave it, and fail with `Conflict`.
    Keep,
}

impl Output {
    /// Begins a user's file that will be called `target`; its folder must exist. Symbolic links are followed. A regular file
    /// that is replaced passes on its permissions, owner, group, and access control list as far as this process may give
    /// them; one that this process may not write, and what is not a regular file, are errors. What writers left that were
    /// killed is removed first. With [`Existing::Keep`] a file of this name is a `Conflict` at once, and a link is such a file.
    pub fn create(target: impl AsRef<Path>, existing: Existing) -> Result<Self> {
        let target = target.as_ref();
        if existing == Existing::Keep {
            return if target.symlink_metadata().is_ok() { Err(is_there(target)) } else { Self::aside(target.to_path_buf(), true, None) };
        }
        let real = real_path(target)?;
        let passed = InheritedMetadata::of(&real)?;
        Self::aside(real, true, passed)
    }

    /// Begins a file of ours among others of ours: as [`Output::create`], but a symbolic link is replaced, and nothing is
    /// passed on.
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
        // Until it has the permissions of the file that it replaces, it is its owner's.
        let mode = if passed.is_some() { 0o600 } else { 0o666 };
        let file = OpenOptions::new().read(true).write(true).create_new(true).mode(mode).open(&aside);
        let file = file.map_err(|error| Error::from(error).in_file(&shown))?;
        // The lock tells later writers that this one lives; a file system without locks keeps litter.
        let _ = rustix::fs::flock(&file, rustix::fs::FlockOperation::NonBlockingLockExclusive);
        Ok(Self { file, aside, target, published: false, durable: true, is_users, passed, process: std::process::id() })
    }

    /// Begins a file under the name that it keeps, where nobody looks before they are told; there must be none. Whoever
    /// tells of it brings its name to the disk.
    pub fn in_place(target: impl AsRef<Path>) -> Result<Self> {
        let target = target.as_ref().to_path_buf();
        let file = OpenOptions::new().read(true).write(true).create_new(true).open(&target);
        let file = file.map_err(|error| Error::from(error).in_file(target.display().to_string()))?;
        Ok(Self { file, aside: target.clone(), target, published: false, durable: true, is_users: false, passed: None, process: std::process::id() })
    }

    /// Leaves it to the operating system when the bytes get to the disk: readers still see all or nothing, but a
    /// power cut may lose a file that was published.
    pub fn without_sync(&mut self) {
        self.durable = false;
    }

    /// Where it will be.
    pub fn target(&self) -> &Path {
        &self.target
    }

    /// The block that the file system likes to read and write, in bytes; the stripe where it has some.
    pub fn block_bytes(&self) -> u64 {
        use std::os::unix::fs::MetadataExt;
        crate::shared::block_of(self.file.metadata().map_or(0, |metadata| metadata.blksize()))
    }

    fn failed(&self, error: std::io::Error, doing: &str) -> Error {
        Error::io(error, doing).in_file(self.target.display().to_string())
    }

    /// Writes `bytes` from `offset` on.
    pub fn write_at(&self, offset: u64, bytes: &[u8]) -> Result<()> {
        std::os::unix::fs::FileExt::write_all_at(&self.file, bytes, offset).map_err(|error| self.failed(error, "cannot write").at_offset(offset))
    }

    /// Another handle of the file, to bring what was written so far to the disk while more is written. `None` where
    /// nobody waits for the disk.
    pub fn syncer(&self) -> Option<File> {
        self.durable.then(|| self.file.try_clone().ok()).flatten()
    }

    /// Reads back what was written; zeros after the end of the file, and wherever nothing was written.
    pub fn read_at(&self, offset: u64, bytes: &mut [u8]) -> Result<()> {
        let failed = |error| self.failed(error, "cannot read back").at_offset(offset);
        let length = self.file.metadata().map_err(failed)?.len();
        let known = usize::try_from(length.saturating_sub(offset)).unwrap_or(usize::MAX).min(bytes.len());
        let (written, after) = bytes.split_at_mut(known);
        after.fill(0);
        std::os::unix::fs::FileExt::read_exact_at(&self.file, written, offset).map_err(failed)
    }

    /// What was written so far, for readers of this process.
    pub fn storage(&self) -> Result<Arc<dyn Storage>> {
        let file = self.file.try_clone().map_err(|error| self.failed(error, "cannot read back"))?;
        let length = file.metadata().map_err(|error| self.failed(error, "cannot tell the length"))?.len();
        Ok(Arc::new(Unpublished { file, length, name: self.target.display().to_string() }))
    }

    /// Ends the file at `length` bytes, waits until they are on the disk, gives the file its name, and waits
    /// until that is on the disk too. If only the last step fails, the error says that the file is in place.
    pub fn publish(self, length: u64, existing: Existing) -> Result<()> {
        self.publish_if(length, existing, |_| Ok(()))
    }

    /// As [`Output::publish`]. When the file is complete and on the disk, `decide` gets the name that it has until then;
    /// an error of it leaves no file. If another process has removed that name afterwards, this is a `Conflict`.
    pub fn publish_if(mut self, length: u64, existing: Existing, decide: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
        if self.file.metadata().map_err(|error| self.failed(error, "cannot tell the length"))?.len() != length {
            self.file.set_len(length).map_err(|error| self.failed(error, "cannot set the length"))?;
        }
        if self.is_users && existing == Existing::Replace {
            // The file that is there now; it may be another one than at the beginning.
            let passed = InheritedMetadata::of(&self.target)?.or_else(|| self.passed.take());
            passed.map_or(Ok(()), |passed| passed.give(&self.file)).map_err(|error| self.failed(error, "cannot set the permissions"))?;
        }
        if self.durable {
            self.file.sync_all().map_err(|error| self.failed(error, "cannot bring to the disk"))?;
        }
        if self.aside == self.target {
            self.published = true;
            return Ok(());
        }
        decide(&self.aside)?;
        // Readers lock what they open, shared, from the moment that it has its name; other writers must not take it for
        // abandoned until then.
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

/// A file that is being written, as far as it is written.
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
        std::os::unix::fs::FileExt::read_exact_at(&self.file, buffer, offset).map_err(|error| Error::io(error, "cannot read back").in_file(&self.name).at_offset(offset))
    }
    fn name(&self) -> &str {
        &self.name
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        if !self.published && self.process == std::process::id() {
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
