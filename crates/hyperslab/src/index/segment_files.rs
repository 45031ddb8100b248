//! Segment files: the files that segments lie in, each opened once however many datasets share it.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, Weak};

use hyperslab_array::{Error, Result};
use hyperslab_storage::LocalFile;

use super::embedded;
use super::manifest::SegmentName;
use super::opened::Segment;

/// Opens the segments of one sidecar, or of one file that has its index embedded.
pub(super) struct SegmentFiles {
    place: PathBuf,
    embedded: bool,
    /// Files that some segment still uses.
    open: Mutex<HashMap<String, Weak<LocalFile>>>,
}

impl SegmentFiles {
    /// The segments in the folder `place`, or `embedded` in the file `place`.
    pub fn new(place: &Path, embedded: bool) -> Self {
        Self { place: place.to_path_buf(), embedded, open: Mutex::default() }
    }

    /// Opens a segment of blocks with `ndim` dimensions; `Corrupt` if it cannot be read.
    pub fn segment(&self, segment: &SegmentName, ndim: usize) -> Result<Segment> {
        if self.embedded {
            let offset = embedded::offset(&segment.name).ok_or_else(|| Error::corrupt("a segment of an embedded index without a place"))?;
            return Segment::of_file(self.file("", &self.place)?, offset, segment.bytes, ndim);
        }
        Segment::of_file(self.file(&segment.name, &self.place.join(&segment.name))?, segment.offset, segment.bytes, ndim)
    }

    fn file(&self, name: &str, path: &Path) -> Result<Arc<LocalFile>> {
        // A forked child must not wait for a thread that it does not have.
        let mut open = self.open.try_lock();
        if let Some(file) = open.as_ref().ok().and_then(|open| open.get(name)).and_then(Weak::upgrade) {
            return Ok(file);
        }
        let file = Arc::new(LocalFile::open(path)?);
        if let Ok(open) = &mut open {
            open.insert(name.to_owned(), Arc::downgrade(&file));
        }
        Ok(file)
    }
}
