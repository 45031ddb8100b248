//! Finds the files of a container by name: in its folder; or in the archive, with a temporary folder next to it for files
//! that are written while the container is open for writing.

use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use super::archive::Archive;
use super::piece::Piece;
use super::source::{ReadSeek, Source};
use crate::error::{Result, error};
use crate::files::regular::open_part;
use crate::lock;

/// The files of a container, by name.
#[derive(Debug)]
pub struct Folder {
    /// The folder where new files are written.
    path: PathBuf,
    /// The archive as it was last published, if the container is one file.
    archive: Mutex<Option<Archive>>,
}

impl Folder {
    /// A container that is a folder.
    pub(crate) fn plain(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), archive: Mutex::new(None) }
    }

    /// A container in one file, whose new files are written to `path`.
    pub(crate) fn of_archive(path: PathBuf, archive: Archive) -> Self {
        Self { path, archive: Mutex::new(Some(archive)) }
    }

    /// Replaces the archive after publishing.
    pub(crate) fn replace_archive(&self, archive: Archive) {
        *lock(&self.archive) = Some(archive);
    }

    /// Opens the file of this name for reading: the newly written one if there is one, else the one in the archive.
    pub(crate) fn piece(&self, name: &str) -> Result<Piece> {
        let path = self.path.join(name);
        let error = match open_part(&path) {
            Ok(file) => return Piece::whole(file),
            Err(error) => error,
        };
        let archived = lock(&self.archive).as_ref().and_then(|archive| archive.piece(name).transpose());
        archived.unwrap_or_else(|| Err(error!("cannot open {}: {error}", path.display()).with_source(error)))
    }
}

impl Deref for Folder {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.path
    }
}

impl Source for Folder {
    fn name(&self) -> String {
        self.path.display().to_string()
    }

    fn open(&self, name: &str) -> Result<Box<dyn ReadSeek>> {
        Ok(Box::new(self.piece(name)?))
    }
}
