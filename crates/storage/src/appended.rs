//! Appending to a file that other programs may be writing to, whether or not they take locks. Existing bytes are never
//! overwritten or cut off.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::Write;
use std::path::Path;

use hyperslab_array::{Error, ErrorKind, Result};

use crate::local_stamp::modified;
use crate::locked_file::LockedFile;

/// Extended attribute that marks a file to which something was appended.
const MARK: &str = "user.hyperslab.appended";

/// The end of a file. Holds an exclusive lock if the file system has locks, so programs that take locks do not write
/// meanwhile. The file is open in append mode: the kernel puts each write at the end, so bytes that others append without
/// a lock are never overwritten.
#[derive(Debug)]
pub struct Appended {
    file: LockedFile,
    /// Where the file ends if no other program has written to it.
    end: u64,
    name: String,
}

impl Appended {
    /// Opens the file at `path`; `Conflict` while another program has it open and locked.
    pub fn open(path: &Path) -> Result<Self> {
        let name = path.display().to_string();
        let open = || {
            let file = OpenOptions::new().read(true).append(true).open(path)?;
            match file.try_lock() {
                Err(TryLockError::WouldBlock) => return Err(Error::busy("the file is open elsewhere: its end cannot be changed")),
                // A file system without locks: appending does not change existing bytes anyway.
                Ok(()) | Err(TryLockError::Error(_)) => {}
            }
            let metadata = file.metadata()?;
            if !metadata.is_file() {
                return Err(Error::invalid_input("this is not a regular file"));
            }
            Ok((metadata.len(), file))
        };
        let (end, file) = open().map_err(|error| error.in_file(&name))?;
        Ok(Self { file: LockedFile::new(file), end, name })
    }

    fn failed(&self, error: std::io::Error, doing: &str) -> Error {
        Error::io(error, doing).in_file(&self.name)
    }

    fn changed(&self) -> Error {
        Error::busy("another program is writing to the file: try again when it is done").in_file(&self.name)
    }

    /// Where the next bytes go.
    pub fn end(&self) -> u64 {
        self.end
    }

    /// The file.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Checks, before the file is changed, that `bytes` more do not exceed this process's limit on file sizes.
    pub fn reserve(&self, bytes: u64) -> Result<()> {
        let limit = rustix::process::getrlimit(rustix::process::Resource::Fsize).current;
        if limit.is_some_and(|limit| self.end.saturating_add(bytes) > limit) {
            return Err(Error::new(ErrorKind::Io, "no room: the file would exceed the size that files of this process may have").in_file(&self.name));
        }
        match claim_room(&self.file, self.end, bytes.max(1)) {
            Err(error) => Err(self.failed(error, "no room")),
            Ok(()) => Ok(()),
        }
    }

    /// Time of the last change; `Conflict` if the file does not end where our last write ended.
    pub fn modified_nanoseconds(&self) -> Result<u64> {
        let metadata = self.file.metadata().map_err(|error| self.failed(error, "cannot tell the length"))?;
        if metadata.len() != self.end {
            return Err(self.changed());
        }
        modified(&metadata).ok_or_else(|| self.failed(std::io::Error::other("its time of change is not known"), "cannot append"))
    }

    /// Appends `bytes`; `Conflict` if another program has appended as well.
    pub fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.modified_nanoseconds()?;
        (&*self.file).write_all(bytes).map_err(|error| self.failed(error, "cannot append"))?;
        self.end += bytes.len() as u64;
        self.modified_nanoseconds().map(|_| ())
    }

    /// Appends zeros up to a multiple of `width`, a power of two up to 4096.
    pub fn align(&mut self, width: u64) -> Result<()> {
        let missing = self.end.next_multiple_of(width.clamp(1, 4096)) - self.end;
        let zeros = [0; 4096];
        match usize::try_from(missing).ok().and_then(|missing| zeros.get(..missing)) {
            Some([]) | None => Ok(()),
            Some(zeros) => self.write(zeros),
        }
    }

    /// Waits until what was appended is on the disk.
    pub fn sync(&self) -> Result<()> {
        self.file.sync_all().map_err(|error| self.failed(error, "cannot sync"))
    }

    /// Marks the file as appended to. Best effort: not every file system has extended attributes.
    pub fn mark(&self) {
        let _ = rustix::fs::fsetxattr(&*self.file, MARK, b"1", rustix::fs::XattrFlags::empty());
    }

    /// Removes the bytes after the end that `stated_end` returns, and the mark. For cleanup only: the lock is held, and
    /// `Conflict` if the file has changed since its time of change was `unchanged_since`. `stated_end` reads the end from the
    /// file itself, directly before it is cut.
    pub fn cut(&mut self, unchanged_since: u64, stated_end: impl FnOnce() -> Result<u64>) -> Result<()> {
        let end = stated_end()?;
        if self.modified_nanoseconds()? != unchanged_since || end > self.end {
            return Err(self.changed());
        }
        self.file.set_len(end).map_err(|error| self.failed(error, "cannot cut"))?;
        self.end = end;
        let _ = rustix::fs::fremovexattr(&*self.file, MARK);
        self.sync()
    }
}

/// Whether the file at `path` is marked as appended to ([`Appended::mark`]); `false` if its file system has no such marks.
pub fn is_marked(path: &Path) -> bool {
    let mut value = [0; 8];
    rustix::fs::getxattr(path, MARK, &mut value).is_ok()
}

/// Claims room on the disk after the end of a file, whose length stays. File systems that cannot tell whether there is room claim none.
#[cfg(target_os = "linux")]
fn claim_room(file: &File, offset: u64, bytes: u64) -> std::io::Result<()> {
    use rustix::io::Errno;
    match rustix::fs::fallocate(file, rustix::fs::FallocateFlags::KEEP_SIZE, offset, bytes) {
        Err(error @ (Errno::NOSPC | Errno::DQUOT | Errno::FBIG)) => Err(error.into()),
        _ => Ok(()),
    }
}

/// Other systems lengthen a file for which they claim room.
#[cfg(not(target_os = "linux"))]
fn claim_room(_: &File, _: u64, _: u64) -> std::io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    type Outcome = std::result::Result<(), Box<dyn std::error::Error>>;

    #[test]
    fn nothing_that_is_there_is_overwritten() -> Outcome {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("x");
        std::fs::write(&path, b"abc")?;
        let mut end = Appended::open(&path)?;
        assert!(matches!(Appended::open(&path), Err(error) if error.kind() == ErrorKind::Conflict));
        end.write(b"de")?;
        end.align(8)?;
        assert_eq!((std::fs::read(&path)?.as_slice(), end.end()), (b"abcde\0\0\0".as_slice(), 8));
        // A program without locks.
        std::os::unix::fs::FileExt::write_all_at(&OpenOptions::new().write(true).open(&path)?, b"other", 8)?;
        assert!(matches!(end.write(b"f"), Err(error) if error.kind() == ErrorKind::Conflict));
        assert!(matches!(end.cut(0, || Ok(3)), Err(error) if error.kind() == ErrorKind::Conflict));
        assert_eq!(std::fs::read(&path)?, b"abcde\0\0\0other");
        drop(end);
        let mut end = Appended::open(&path)?;
        let now = end.modified_nanoseconds()?;
        for (since, stated) in [(now - 1, 3), (now, 100)] {
            assert!(matches!(end.cut(since, || Ok(stated)), Err(error) if error.kind() == ErrorKind::Conflict));
        }
        end.cut(now, || Ok(3))?;
        assert_eq!(std::fs::read(&path)?, b"abc");
        Ok(())
    }
}
