//! Where the files of a container lie: in its folder; or in the one file, beside which there is a folder for what is
//! written as long as it is open for writing.

use std::fs::File;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use super::archive::Archive;
use super::piece::Piece;
use crate::error::{Result, error};
use crate::lock;

/// The files of a container by name.
#[derive(Debug)]
pub struct Folder {
    /// Where files are written.
    path: PathBuf,
    /// The one file as it was published last.
    archive: Mutex<Option<Archive>>,
}

impl Folder {
    /// One that is a folder and nothing else.
    pub(crate) fn plain(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), archive: Mutex::new(None) }
    }

    /// One whose files lie in one file, and new ones in `path`.
    pub(crate) fn of_archive(path: PathBuf, archive: Archive) -> Self {
        Self { path, archive: Mutex::new(Some(archive)) }
    }

    /// From now on files lie in this one file.
    pub(crate) fn replace_archive(&self, archive: Archive) {
        *lock(&self.archive) = Some(archive);
    }

    /// The file of this name, for reading: as it was written last, whether it is in the one file already or not.
    pub(crate) fn piece(&self, name: &str) -> Result<Piece> {
        let path = self.path.join(name);
        let error = match File::open(&path) {
            Ok(file) => return Piece::whole(file),
            Err(error) => error,
        };
        let archived = lock(&self.archive).as_ref().and_then(|archive| archive.piece(name).transpose());
        archived.unwrap_or_else(|| Err(error!("{} cannot be opened: {error}", path.display())))
    }
}

impl Deref for Folder {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.path
    }
}
