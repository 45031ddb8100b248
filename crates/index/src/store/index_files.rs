//! Segment files: the files that segments lie in, each opened once however many datasets share it.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, Weak};

use hyperslab_array::Result;
use hyperslab_storage::LocalFile;

use super::index_reader::Segment;
use super::manifest::SegmentName;

/// Opens the segments of one sidecar, and those that lie in indexed files.
pub(crate) struct SegmentFiles {
    sidecar: PathBuf,
    /// Files that some segment still uses.
    open: Mutex<HashMap<PathBuf, Weak<LocalFile>>>,
}

impl SegmentFiles {
    /// The segments of the sidecar at this path, or of the file there.
    pub fn new(sidecar: &Path) -> Self {
        Self { sidecar: sidecar.to_path_buf(), open: Mutex::default() }
    }

    /// Opens a segment of blocks with `ndim` dimensions, which is of the indexed file at `file`; `Corrupt` if it cannot be
    /// read.
    pub fn segment(&self, file: &Path, segment: &SegmentName, ndim: usize) -> Result<Segment> {
        match segment.place() {
            // Indexed files may be written to, so that none is kept for others.
            Some(base) => Segment::of_file(Arc::new(LocalFile::open(file)?), base, segment.bytes, ndim),
            None => Segment::of_file(self.file(&self.sidecar.join(&segment.name))?, segment.offset, segment.bytes, ndim),
        }
    }

    fn file(&self, path: &Path) -> Result<Arc<LocalFile>> {
        // A forked child must not wait for a thread that it does not have.
        let mut open = self.open.try_lock();
        if let Some(file) = open.as_ref().ok().and_then(|open| open.get(path)).and_then(Weak::upgrade) {
            return Ok(file);
        }
        let file = Arc::new(LocalFile::open_regular(path)?);
        if let Ok(open) = &mut open {
            open.insert(path.to_path_buf(), Arc::downgrade(&file));
        }
        Ok(file)
    }
}
