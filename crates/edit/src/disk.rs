//! The disk as a commit sees it: one file. Tests stop it after any of these calls.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::ErrorKind;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hyperslab_array::{Error, Result};
use hyperslab_storage::{LocalFile, Storage, modified, real_path};
use rustix::fs::OFlags;

/// What is done to a file. No call is durable before the next `sync`.
pub(crate) trait Disk: Send + Sync {
    /// Path of the file, for messages.
    fn name(&self) -> &str;
    /// Bytes of the file.
    fn len(&self) -> Result<u64>;
    /// Fills `buffer` with bytes of the file.
    fn read(&self, offset: u64, buffer: &mut [u8]) -> Result<()>;
    /// Writes bytes of the file.
    fn write(&self, offset: u64, bytes: &[u8]) -> Result<()>;
    /// Cuts the file off, or extends it by zeros.
    fn set_len(&self, bytes: u64) -> Result<()>;
    /// Waits until the bytes and the length of the file are on the disk.
    fn sync(&self) -> Result<()>;
    /// Time of the last change in nanoseconds, by which readers know that the file was changed; `None` if it is not known.
    fn modified(&self) -> Option<u64> {
        None
    }
    /// Whether this process opened it: a forked child must leave file and lock alone.
    fn is_ours(&self) -> bool {
        true
    }
    /// Unlocks the file; views of it may still be there.
    fn release(&self);
    /// Another file in the same folder.
    fn beside(&self, name: &str) -> Result<Arc<dyn Storage>>;
}

/// A file of the local file system, locked for this process.
#[derive(Debug)]
pub(crate) struct LocalDisk {
    file: File,
    path: PathBuf,
    name: String,
    /// The process that opened it.
    process: u32,
}

impl LocalDisk {
    /// Opens the file that `path` leads to, and takes the lock that HDF5 takes: exclusive, and released when this process ends.
    pub fn open(path: &Path) -> Result<Self> {
        let name = path.display().to_string();
        let open = || {
            let path = real_path(path)?;
            // A FIFO without a reader would block.
            let nonblocking = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or(0);
            let file = OpenOptions::new().read(true).write(true).custom_flags(nonblocking).open(&path)?;
            if !file.metadata()?.is_file() {
                return Err(Error::invalid_input("this is not a regular file"));
            }
            match file.try_lock() {
                Err(TryLockError::WouldBlock) => return Err(Error::busy("another program has the file open: close it there, then open it for editing")),
                Err(TryLockError::Error(error)) if !is_without_locks(&error) => return Err(Error::io(error, "cannot lock")),
                // File systems without locks: HDF5 goes on, too.
                Ok(()) | Err(TryLockError::Error(_)) => {}
            }
            // Between opening and locking, another file may have taken its place.
            let (locked, there) = (file.metadata()?, std::fs::metadata(&path)?);
            if (locked.dev(), locked.ino()) != (there.dev(), there.ino()) {
                return Err(Error::busy("another file has taken its place: open it again"));
            }
            Ok(Self { file, path, name: name.clone(), process: std::process::id() })
        };
        open().map_err(|error: Error| error.in_file(&name))
    }

    fn failed(&self, error: std::io::Error, doing: &str) -> Error {
        Error::io(error, doing).in_file(&self.name)
    }
}

fn is_without_locks(error: &std::io::Error) -> bool {
    use rustix::io::Errno;
    let without = [Errno::NOSYS, Errno::NOLCK, Errno::OPNOTSUPP, Errno::INVAL];
    error.kind() == ErrorKind::Unsupported || without.iter().any(|code| error.raw_os_error() == Some(code.raw_os_error()))
}

impl Disk for LocalDisk {
    fn name(&self) -> &str {
        &self.name
    }
    fn len(&self) -> Result<u64> {
        self.file.metadata().map(|metadata| metadata.len()).map_err(|error| self.failed(error, "cannot tell the length"))
    }
    fn read(&self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        self.file.read_exact_at(buffer, offset).map_err(|error| self.failed(error, "cannot read").at_offset(offset))
    }
    fn write(&self, offset: u64, bytes: &[u8]) -> Result<()> {
        self.file.write_all_at(bytes, offset).map_err(|error| self.failed(error, "cannot write").at_offset(offset))
    }
    fn set_len(&self, bytes: u64) -> Result<()> {
        self.file.set_len(bytes).map_err(|error| self.failed(error, "cannot change the length"))
    }
    fn sync(&self) -> Result<()> {
        self.file.sync_data().map_err(|error| self.failed(error, "cannot bring to the disk"))
    }
    fn modified(&self) -> Option<u64> {
        self.file.metadata().ok().and_then(|metadata| modified(&metadata))
    }
    fn is_ours(&self) -> bool {
        self.process == std::process::id()
    }
    fn release(&self) {
        // If this fails, the lock ends with the last view.
        let _ = self.file.unlock();
    }
    fn beside(&self, name: &str) -> Result<Arc<dyn Storage>> {
        LocalFile::open_growing(&self.path)?.beside(name)
    }
}
