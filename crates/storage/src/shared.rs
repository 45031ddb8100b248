//! A file that several writers fill at the same time without a lock, each writing its own bytes.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use hyperslab_array::{Error, Result};

use crate::file_system::{block_of, is_parallel, kind_of};
use crate::layout::stripe_of;

/// A file that other processes write too. Dropping it leaves the file as it is.
#[derive(Debug)]
pub struct SharedFile {
    file: File,
    path: PathBuf,
}

impl SharedFile {
    /// Opens the file, and creates it for the first writer; its folder must exist.
    pub fn open(path: &Path) -> Result<Self> {
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path);
        let file = file.map_err(|error| Error::from(error).in_file(path.display().to_string()))?;
        Ok(Self { file, path: path.to_path_buf() })
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn failed(&self, error: std::io::Error, doing: &str) -> Error {
        Error::io(error, doing).in_file(self.path.display().to_string())
    }

    /// Its present length in bytes, including what other processes have written.
    pub fn length(&self) -> Result<u64> {
        Ok(self.file.metadata().map_err(|error| self.failed(error, "cannot tell the length"))?.len())
    }

    /// Writes `bytes` from `offset` on.
    pub fn write_at(&self, offset: u64, bytes: &[u8]) -> Result<()> {
        self.file.write_all_at(bytes, offset).map_err(|error| self.failed(error, "cannot write").at_offset(offset))
    }

    /// Reads what was written.
    pub fn read_at(&self, offset: u64, bytes: &mut [u8]) -> Result<()> {
        self.file.read_exact_at(bytes, offset).map_err(|error| self.failed(error, "cannot read back").at_offset(offset))
    }

    /// Waits until all bytes are on disk, including the bytes of other writers.
    pub fn sync(&self) -> Result<()> {
        self.file.sync_all().map_err(|error| self.failed(error, "cannot bring to the disk"))
    }

    /// Waits until all bytes, and the metadata needed to read them, are on disk; the time of the last change may not be.
    pub fn sync_values(&self) -> Result<()> {
        self.file.sync_data().map_err(|error| self.failed(error, "cannot bring to the disk"))
    }

    /// Truncates or extends the file to `length` bytes.
    pub fn end_at(&self, length: u64) -> Result<()> {
        self.file.set_len(length).map_err(|error| self.failed(error, "cannot set the length"))
    }
}

/// Claims `mark` by creating that file; returns whether this call was the first.
pub fn claim(mark: &Path) -> Result<bool> {
    match OpenOptions::new().write(true).create_new(true).open(mark) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(Error::from(error).in_file(mark.display().to_string())),
    }
}

/// The preferred block size of a new file in `folder`, in bytes; the stripe size if there are stripes. Queried on an
/// unnamed temporary file, so nothing becomes visible.
pub fn block_bytes_in(folder: &Path) -> Result<u64> {
    if let Some(alignment) = crate::profile().settings.alignment_bytes {
        return Ok(alignment);
    }
    let asked = unnamed_file_in(folder).or_else(|_| File::open(folder));
    let asked = asked.and_then(|file| Ok(stripe_of(&file).unwrap_or(block_of(file.metadata()?.blksize()))));
    asked.map_err(|error| Error::from(error).in_file(folder.display().to_string()))
}

/// A new file without a name.
///
/// # Errors
/// The file system has none, or the folder does not exist.
#[cfg(target_os = "linux")]
fn unnamed_file_in(folder: &Path) -> std::io::Result<File> {
    use rustix::fs::{Mode, OFlags};
    Ok(File::from(rustix::fs::open(folder, OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC, Mode::RUSR | Mode::WUSR)?))
}

#[cfg(not(target_os = "linux"))]
fn unnamed_file_in(_: &Path) -> std::io::Result<File> {
    Err(std::io::ErrorKind::Unsupported.into())
}

/// Whether this is a parallel file system, which many machines write to through many servers.
pub fn is_parallel_file_system(folder: &Path) -> bool {
    let kind = rustix::fs::statfs(folder).ok().map(|found| kind_of(found.f_type));
    kind.is_some_and(is_parallel)
}

#[cfg(test)]
mod tests {
    use super::*;

    type Outcome = std::result::Result<(), Box<dyn std::error::Error>>;

    #[test]
    fn writers_fill_one_file_and_one_of_them_claims_a_mark() -> Outcome {
        let folder = tempfile::tempdir()?;
        let place = folder.path().join("x");
        let (a, b) = (SharedFile::open(&place)?, SharedFile::open(&place)?);
        b.write_at(2, b"cd")?;
        a.write_at(0, b"ab")?;
        a.sync()?;
        assert_eq!(std::fs::read(&place)?, b"abcd");
        assert_eq!((a.length()?, b.length()?), (4, 4));
        let mark = folder.path().join("mark");
        assert!(claim(&mark)? && !claim(&mark)?);
        assert!(claim(&folder.path().join("nowhere/mark")).is_err());
        Ok(())
    }

    #[test]
    fn the_block_is_that_of_a_file_and_asking_leaves_nothing() -> Outcome {
        let folder = tempfile::tempdir()?;
        let block = block_bytes_in(folder.path())?;
        assert_eq!(std::fs::read_dir(folder.path())?.count(), 0);
        std::fs::write(folder.path().join("x"), b"")?;
        assert_eq!(block, block_of(std::fs::metadata(folder.path().join("x"))?.blksize()));
        assert_eq!([block_of(0), block_of(1 << 20), block_of(1 << 40), block_of(3000)], [4096, 1 << 20, 64 << 20, 4096]);
        assert!(!is_parallel_file_system(folder.path()));
        Ok(())
    }
}
