//! Opens index files. A file that several index files share is opened once.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, Weak};

use hyperslab_array::Result;
use hyperslab_storage::LocalFile;

use super::index_file_name::IndexFilePlace;
use super::index_reader::IndexFile;
use super::manifest::{IndexFileEntry, IndexedDataset};
use super::places::Version;

/// Opens the index files of one sidecar, and those that are embedded in data files.
pub(crate) struct IndexFiles {
    sidecar: PathBuf,
    /// Open files that some index file still uses.
    shared: Mutex<HashMap<PathBuf, Weak<LocalFile>>>,
}

impl IndexFiles {
    /// For the sidecar at this path, or the data file with an embedded index.
    pub fn new(sidecar: &Path) -> Self {
        Self { sidecar: sidecar.to_path_buf(), shared: Mutex::default() }
    }

    /// Opens an index file of blocks with `ndim` dimensions, which belongs to the data file `file`. `Corrupt` if it cannot be
    /// read.
    pub fn open(&self, file: &Path, index_file: &IndexFileEntry, ndim: usize) -> Result<IndexFile> {
        match &index_file.place {
            // Data files may be written to, so that they are opened each time.
            IndexFilePlace::Embedded(base) => IndexFile::open(Arc::new(LocalFile::open(file)?), *base, index_file.bytes, ndim),
            IndexFilePlace::Sidecar(name) => IndexFile::open(self.file(&name.path_in(&self.sidecar))?, index_file.offset, index_file.bytes, ndim),
        }
    }

    /// The versions of an index's files in the sidecar. Those inside of the data file have its version.
    pub fn versions(&self, indexed: &IndexedDataset) -> Vec<Option<Version>> {
        let names: BTreeSet<_> = indexed.index_files.iter().filter_map(|entry| entry.place.name()).collect();
        names.into_iter().map(|name| Version::of_link(&name.path_in(&self.sidecar)).ok()).collect()
    }

    fn file(&self, path: &Path) -> Result<Arc<LocalFile>> {
        // A forked child must not wait for a lock that a thread of its parent holds.
        let mut shared = self.shared.try_lock();
        if let Some(file) = shared.as_ref().ok().and_then(|shared| shared.get(path)).and_then(Weak::upgrade) {
            return Ok(file);
        }
        let file = Arc::new(LocalFile::open_regular(path)?);
        if let Ok(shared) = &mut shared {
            shared.insert(path.to_path_buf(), Arc::downgrade(&file));
        }
        Ok(file)
    }
}
