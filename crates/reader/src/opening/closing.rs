//! Closing files before their last handle is dropped, and the version of a file that was opened.

use hyperslab_array::{Error, ErrorKind, Result};
use hyperslab_storage::check_open;

use crate::File;

/// The version of a file: another one has another length or modification time.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct FileVersion {
    /// Length in bytes.
    pub bytes: u64,
    /// Time of the last modification, in nanoseconds since 1970, if the file system reports it.
    pub modified_nanoseconds: Option<u64>,
    /// What else identifies it: the entity tag of a remote object.
    pub tag: Option<String>,
}

impl File {
    /// Closes this file and the files that were opened because it names them. Descriptors are closed as soon as no thread
    /// reads. Every handle of this opening, and every plan made from it, then returns `InvalidInput`.
    pub fn close(&self) {
        if self.is_closed() {
            return;
        }
        self.array_file().storage().close();
        self.forget_chunks();
        if let Some(linked) = self.known_linked_files() {
            let (files, external) = linked.take();
            external.iter().for_each(|storage| storage.close());
            files.iter().filter(|file| *file != self).for_each(Self::close);
        }
    }

    /// Whether [`File::close`] has closed it.
    pub fn is_closed(&self) -> bool {
        self.array_file().storage().is_closed()
    }

    /// Fails if [`File::close`] has closed it.
    ///
    /// # Errors
    /// `InvalidInput` for a closed file.
    pub fn check_open(&self) -> Result<()> {
        check_open(self.array_file().storage().as_ref())
    }

    /// The version that was opened.
    ///
    /// # Errors
    /// `InvalidInput` for a closed file. `Conflict` if its path leads to other bytes by now, so that the version cannot be determined. `Unsupported` for arrays
    /// that are not in a file.
    pub fn version(&self) -> Result<FileVersion> {
        if !self.array_file().is_stored() {
            return Err(Error::unsupported("arrays in the memory of this process are in no file: write them to one").in_file(self.name()));
        }
        self.check_open()?;
        let storage = self.array_file().storage();
        let modified_nanoseconds = storage.modified_nanoseconds();
        if modified_nanoseconds.is_none() && std::fs::metadata(self.path()).is_ok_and(|metadata| metadata.modified().is_ok()) {
            return Err(changed().in_file(self.name()));
        }
        Ok(FileVersion { bytes: storage.stamped_bytes(), modified_nanoseconds, tag: storage.version().map(str::to_owned) })
    }
}

/// The error for a file that is not the one that was opened.
fn changed() -> Error {
    Error::new(ErrorKind::Conflict, "the file has changed since it was opened: open it again")
}
