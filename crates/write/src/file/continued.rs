//! Continued: a file under way that begins with all that an existing one holds, and takes its place.

use std::fs::{File as Handle, Metadata, TryLockError};
use std::path::{Path, PathBuf};

use hyperslab_array::{Cancellation, Error, ErrorKind, Result};
use hyperslab_formats::Content;
use hyperslab_reader::Session;
use hyperslab_storage::{Existing, modified, open_regular};

use crate::container::state::reading_session;
use crate::maintenance::fuse::{Fused, copy_objects};
use super::file_writer::Subfile;

/// The file whose place is to be taken, which stays as it is until then.
#[derive(Debug)]
pub(crate) struct Base {
    path: PathBuf,
    /// Keeps the lock.
    _locked: Handle,
    bytes: u64,
    modified: Option<u64>,
}

fn changed(path: &Path) -> Error {
    Error::new(ErrorKind::Conflict, "the file was changed by another writer while it was appended to: nothing was written, try again").in_file(path.display().to_string())
}

impl Base {
    /// Locks the file as the HDF5 library locks a file that it writes to.
    fn lock(path: &Path) -> Result<Self> {
        let shown = || path.display().to_string();
        let failed = |error: std::io::Error| Error::from(error).in_file(shown());
        let locked = open_regular(path).map_err(failed)?;
        match locked.try_lock() {
            // A file system without locks: that the file did not change is checked in the end all the same.
            Ok(()) | Err(TryLockError::Error(_)) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(Error::new(ErrorKind::Conflict, "another program has the file open and locked: append when it is closed").in_file(shown()));
            }
        }
        let metadata = locked.metadata().map_err(failed)?;
        let base = Self { path: path.to_path_buf(), _locked: locked, bytes: metadata.len(), modified: modified(&metadata) };
        base.check()?;
        Ok(base)
    }

    /// `Conflict` if the file is another one by now.
    pub fn check(&self) -> Result<()> {
        let same = |metadata: Metadata| metadata.len() == self.bytes && modified(&metadata) == self.modified;
        if std::fs::metadata(&self.path).is_ok_and(same) { Ok(()) } else { Err(changed(&self.path)) }
    }
}

impl Subfile {
    /// Begins a file that takes the place of the one called `target` and holds all of it. Chunks are copied as they are
    /// stored. An error, or a process that ends early, leaves the old file as it was.
    pub fn continued(target: &Path, alignment: Option<u64>, session: &Session) -> Result<Self> {
        let located = |error: Error| error.in_file(target.display().to_string());
        let base = Base::lock(target)?;
        let file = reading_session()?.open(target)?;
        for object in &file.tree().objects {
            if let Content::Dataset(dataset) = &object.content {
                if !dataset.virtual_mappings.is_empty() {
                    return Err(located(Error::unsupported("appending to a file whose values are in other files: append with a plan, or fuse it first").at_object(&object.path)));
                }
                if !dataset.external_files.is_empty() {
                    return Err(located(Error::unsupported("appending to a file with external raw data").at_object(&object.path)));
                }
            }
        }
        let mut out = Self::create(target, Existing::Replace, alignment, session)?;
        copy_objects(&file, &mut out, &Cancellation::new(), &mut Fused::default(), true, &mut |_, _| {}).map_err(located)?;
        out.base = Some(base);
        Ok(out)
    }
}
