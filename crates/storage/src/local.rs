//! A file of the local file system, read with `pread`.

use std::fs::File;
use std::path::{Component, Path};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use hyperslab_array::{Error, Result};

use crate::{Storage, check_range};

/// An open local file.
#[derive(Debug)]
pub struct LocalFile {
    file: File,
    /// Known so far: a file that is being written grows.
    length: AtomicU64,
    name: String,
}

impl LocalFile {
    /// Opens `path` for reading; `NotFound` or `Io` with the path otherwise.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let name = path.display().to_string();
        let file = File::open(path).map_err(|e| Error::from(e).in_file(&name))?;
        let metadata = file.metadata().map_err(|e| Error::from(e).in_file(&name))?;
        if metadata.is_dir() {
            return Err(Error::invalid_input("this is a folder, not a file").in_file(&name));
        }
        Ok(Self { file, length: AtomicU64::new(metadata.len()), name })
    }
}

impl Storage for LocalFile {
    fn len(&self) -> u64 {
        self.length.load(Ordering::Relaxed)
    }
    fn reaches(&self, end: u64) -> bool {
        if end <= self.len() {
            return true;
        }
        let now = self.file.metadata().map_or(0, |metadata| metadata.len());
        self.length.fetch_max(now, Ordering::Relaxed);
        end <= now
    }
    fn read_exact_at(&self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        check_range(self, offset, buffer.len())?;
        #[cfg(unix)]
        let read = std::os::unix::fs::FileExt::read_exact_at(&self.file, buffer, offset);
        #[cfg(not(unix))]
        let read = Err(std::io::Error::new(std::io::ErrorKind::Unsupported, "positional reads"));
        read.map_err(|e| Error::from(e).in_file(&self.name).at_offset(offset))
    }
    fn name(&self) -> &str {
        &self.name
    }
    fn beside(&self, name: &str) -> Result<Arc<dyn Storage>> {
        let mut parts = Path::new(name).components();
        if !matches!((parts.next(), parts.next()), (Some(Component::Normal(_)), None)) {
            return Err(Error::invalid_input(format!("{name:?} is no name of a file beside this one")).in_file(&self.name));
        }
        Ok(Arc::new(Self::open(Path::new(&self.name).with_file_name(name))?))
    }
}
