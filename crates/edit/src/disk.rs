//! The disk as a commit sees it: one file, and the journal next to it. Tests stop it after any of these calls.

use std::fs::{File, Metadata, OpenOptions, TryLockError};
use std::io::ErrorKind;
use std::io::Read;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hyperslab_array::{Error, Result};
use hyperslab_storage::{LocalFile, Storage, folder_of, real_path, sync_folder};
use rustix::fs::OFlags;

/// Largest journal that is read.
const MAX_JOURNAL_BYTES: u64 = 4 << 30;

/// What is done to a file and its journal. No call is durable before the next `sync` of what it changed.
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
    /// The content of the journal, if there is one.
    fn read_journal(&self) -> Result<Option<Vec<u8>>>;
    /// Creates the journal, or replaces its content.
    fn write_journal(&self, parts: &[&[u8]]) -> Result<()>;
    /// Waits until the content of the journal is on the disk.
    fn sync_journal(&self) -> Result<()>;
    /// Removes the journal; returns whether there was one.
    fn remove_journal(&self) -> Result<bool>;
    /// Waits until the names in the folder are on the disk.
    fn sync_folder(&self) -> Result<()>;
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
    journal: PathBuf,
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
            let file = OpenOptions::new().read(true).write(true).custom_flags(flags(OFlags::NONBLOCK)).open(&path)?;
            if !file.metadata()?.is_file() {
                return Err(Error::invalid_input("this is not a regular file"));
            }
            match file.try_lock() {
                Err(TryLockError::WouldBlock) => return Err(Error::busy("another program has the file open: close it there, then open it for editing")),
                Err(TryLockError::Error(error)) if !is_without_locks(&error) => return Err(Error::io(error, "cannot lock")),
                // File systems without locks: HDF5 goes on, too.
                Ok(()) | Err(TryLockError::Error(_)) => {}
            }
            let file_name = path.file_name().ok_or_else(|| Error::invalid_input("this is not a file"))?;
            let journal = folder_of(&path).join(format!(".{}.hyperslab-journal", file_name.to_string_lossy()));
            Ok(Self { file, path, name: name.clone(), journal, process: std::process::id() })
        };
        open().map_err(|error: Error| error.in_file(&name))
    }

    /// Opens what lies at the journal's place. A link is not followed, and a FIFO does not block.
    fn open_journal(&self) -> std::io::Result<File> {
        OpenOptions::new().read(true).custom_flags(flags(OFlags::NONBLOCK | OFlags::NOFOLLOW)).open(&self.journal)
    }

    /// Refuses a journal that this file's writers did not make: its content is about to be written into the file. It must belong to this
    /// user or to the owner of the file, and nobody may write it who may not write the file.
    fn check_writer(&self, journal: &Metadata) -> Result<()> {
        /// Write permission of group and others.
        const WRITABLE: u32 = 0o022;
        let file = self.file.metadata().map_err(|error| self.failed(error, "cannot tell the owner"))?;
        let is_known = journal.uid() == rustix::process::geteuid().as_raw() || journal.uid() == file.uid();
        if is_known && journal.mode() & WRITABLE & !file.mode() == 0 {
            return Ok(());
        }
        let message = "an edit was interrupted, and its journal belongs to another user, or others may write it: let the user who edited the file open it \
                       with mode r+, or become the journal's owner";
        Err(Error::invalid_input(message).in_file(self.journal.display().to_string()))
    }

    fn failed(&self, error: std::io::Error, doing: &str) -> Error {
        Error::io(error, doing).in_file(&self.name)
    }

    fn journal_failed(&self, error: std::io::Error, doing: &str) -> Error {
        Error::io(error, doing).in_file(self.journal.display().to_string())
    }
}

fn flags(flags: OFlags) -> i32 {
    i32::try_from(flags.bits()).unwrap_or(0)
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
    fn read_journal(&self) -> Result<Option<Vec<u8>>> {
        let journal = match self.open_journal() {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            found => found.map_err(|error| self.journal_failed(error, "cannot read the journal"))?,
        };
        let failed = |error| self.journal_failed(error, "cannot read the journal");
        let metadata = journal.metadata().map_err(failed)?;
        if !metadata.is_file() || metadata.len() > MAX_JOURNAL_BYTES {
            return Err(Error::corrupt("this is no journal of an edit").in_file(self.journal.display().to_string()));
        }
        self.check_writer(&metadata)?;
        let mut content = Vec::new();
        let length = usize::try_from(metadata.len()).unwrap_or(usize::MAX);
        content.try_reserve_exact(length).map_err(|_| Error::limit_exceeded(format!("no memory for a journal of {length} bytes")))?;
        journal.take(metadata.len()).read_to_end(&mut content).map_err(failed)?;
        Ok(Some(content))
    }
    fn write_journal(&self, parts: &[&[u8]]) -> Result<()> {
        self.remove_journal()?;
        let write = || {
            let mode = self.file.metadata()?.permissions().mode() & 0o777;
            // Never through a link that lies there: a new file.
            let file = OpenOptions::new().write(true).create_new(true).mode(mode).open(&self.journal)?;
            let mut offset = 0;
            for part in parts {
                file.write_all_at(part, offset)?;
                offset += part.len() as u64;
            }
            Ok(())
        };
        write().map_err(|error| self.journal_failed(error, "cannot write the journal of the edit"))
    }
    fn sync_journal(&self) -> Result<()> {
        let synced = self.open_journal().and_then(|file| file.sync_all());
        synced.map_err(|error| self.journal_failed(error, "cannot bring the journal to the disk"))
    }
    fn remove_journal(&self) -> Result<bool> {
        match std::fs::remove_file(&self.journal) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            Err(error) => Err(self.journal_failed(error, "cannot remove the journal")),
        }
    }
    fn sync_folder(&self) -> Result<()> {
        sync_folder(&folder_of(&self.path))
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
