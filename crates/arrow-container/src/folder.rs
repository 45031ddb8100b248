//! Where the files of a container lie: in its folder; or in the one file, beside which there is a folder for what is
//! written as long as it is open for writing.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::ops::Deref;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use super::archive::Archive;
use super::fault::{Result, fault};
use super::model::lock;

/// The files of a container by name.
#[derive(Debug)]
pub(crate) struct Folder {
    /// Where files are written.
    path: PathBuf,
    /// The one file as it was published last.
    archive: Mutex<Option<Archive>>,
}

/// The bytes of one file: all of it, or a part of the one file.
#[derive(Debug)]
pub(crate) struct Piece {
    pub(crate) file: File,
    /// Where it begins in `file`.
    pub(crate) start: u64,
    /// Its length.
    pub(crate) bytes: u64,
    at: u64,
}

impl Piece {
    /// A whole file.
    pub(crate) fn whole(file: File) -> Result<Self> {
        let bytes = file.metadata()?.len();
        Ok(Self::part(file, 0, bytes))
    }

    /// A part of a file.
    pub(crate) fn part(file: File, start: u64, bytes: u64) -> Self {
        Self { file, start, bytes, at: 0 }
    }
}

impl Read for Piece {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        let left = usize::try_from(self.bytes.saturating_sub(self.at)).unwrap_or(usize::MAX);
        let most = out.len().min(left);
        let count = self.file.read_at(out.get_mut(..most).unwrap_or_default(), self.start + self.at)?;
        self.at += count as u64;
        Ok(count)
    }
}

impl Seek for Piece {
    fn seek(&mut self, to: SeekFrom) -> std::io::Result<u64> {
        let at = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::End(by) => self.bytes.checked_add_signed(by),
            SeekFrom::Current(by) => self.at.checked_add_signed(by),
        };
        self.at = at.ok_or_else(|| std::io::Error::from(std::io::ErrorKind::InvalidInput))?;
        Ok(self.at)
    }
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
        archived.unwrap_or_else(|| Err(fault!("{} cannot be opened: {error}", path.display())))
    }
}

impl Deref for Folder {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.path
    }
}
