//! Finds the files of a container by name: in its folder, or in the packs there, which hold small files; or in the archive, with
//! a temporary folder next to it for files that are written while the container is open for writing.

use std::collections::BTreeSet;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use super::archive::Archive;
use super::growing::Workspace;
use super::piece::Piece;
use super::source::{ReadSeek, Source};
use crate::error::{Error, Result, error};
use crate::files::regular::open_part;
use crate::lock;

/// The files of a container, by name.
#[derive(Debug)]
pub struct Folder {
    /// Where new files are written.
    workspace: Workspace,
    /// The archive as it was last published, if the container is one file.
    archive: Mutex<Option<Archive>>,
    /// The packs in the folder, by name. If several have a file, the last one counts.
    packs: Mutex<Vec<(String, Archive)>>,
}

impl Folder {
    /// A container that is a folder.
    pub(crate) fn plain(path: impl Into<PathBuf>) -> Self {
        Self { workspace: Workspace::folder(path.into()), archive: Mutex::new(None), packs: Mutex::default() }
    }

    /// A container in one file, whose new files are written to the folder `path`. No archive: it is new.
    pub(crate) fn of_one_file(path: PathBuf, archive: Option<Archive>) -> Self {
        Self { workspace: Workspace::of_one_file(path), archive: Mutex::new(archive), packs: Mutex::default() }
    }

    /// Where new values are written.
    pub(super) fn workspace(&self) -> &Workspace {
        &self.workspace
    }

    /// Writes the files of these names as an archive, to a temporary path, which is returned. Values that are in the growing file
    /// already are not copied. `renamed` is the name of one of them, and the name of its file.
    pub(crate) fn write_archive(&self, names: &BTreeSet<String>, renamed: (&str, &str), aside: &Path, sync: bool) -> Result<(PathBuf, Archive)> {
        let sealed = self.workspace.growing().map(|growing| growing.seal(names)).transpose()?.flatten();
        let open = |name: &str| self.piece(if name == renamed.0 { renamed.1 } else { name });
        match sealed {
            Some(sealed) => Ok((sealed.path.clone(), Archive::complete(sealed, names, open, sync)?)),
            None => Ok((aside.to_owned(), Archive::write(aside, names, open, sync)?)),
        }
    }

    /// Replaces the archive after publishing, and returns the old one. The new one has the files of all packs.
    pub(crate) fn replace_archive(&self, archive: Archive) -> Option<Archive> {
        let old = lock(&self.archive).replace(archive);
        lock(&self.packs).clear();
        // A table that still writes to the growing file, of an object without a link, will look for its values there.
        if let Some(growing) = self.workspace.growing().filter(|growing| !growing.is_open()) {
            growing.unlink();
            self.workspace.forget_growing();
        }
        old
    }

    /// Opens the packs of these names.
    pub(crate) fn open_packs(&self, names: &[String]) -> Result<()> {
        let open = |name: &String| {
            let path = self.join(name);
            let archive = open_part(&path).map_err(Error::from).and_then(Archive::read);
            Ok((name.clone(), archive.map_err(|error| error!("{}: {}", path.display(), error.message).with_source(error))?))
        };
        *lock(&self.packs) = names.iter().map(open).collect::<Result<_>>()?;
        Ok(())
    }

    /// Adds a pack that was written.
    pub(crate) fn add_pack(&self, name: String, archive: Archive) {
        lock(&self.packs).push((name, archive));
    }

    /// The names of the packs that have some of these files. Closes the others.
    pub(crate) fn keep_packs<'a>(&self, files: impl Iterator<Item = &'a String>) -> Vec<String> {
        let mut packs = lock(&self.packs);
        let used: BTreeSet<usize> = files.filter_map(|file| packs.iter().rposition(|(_, pack)| pack.has(file))).collect();
        let mut index = 0;
        packs.retain(|_| {
            index += 1;
            used.contains(&(index - 1))
        });
        packs.iter().map(|(name, _)| name.clone()).collect()
    }

    /// The files among `used` in packs whose files are mostly unused: they should be moved to a new pack, so that the old
    /// ones can be removed.
    pub(crate) fn scattered<'a>(&self, used: impl Iterator<Item = &'a String>) -> Vec<String> {
        let packs = lock(&self.packs);
        let mut found: Vec<Vec<&String>> = vec![Vec::new(); packs.len()];
        for file in used {
            if let Some(pack) = packs.iter().rposition(|(_, pack)| pack.has(file)) {
                found[pack].push(file);
            }
        }
        let scattered = found.into_iter().zip(packs.iter()).filter(|(files, (_, pack))| 2 * files.len() < pack.count());
        scattered.flat_map(|(files, _)| files.into_iter().cloned()).collect()
    }

    /// Opens the file of this name for reading: the newly written one if there is one, in a pack or alone, else the one in the
    /// archive.
    pub(crate) fn piece(&self, name: &str) -> Result<Piece> {
        let packed = lock(&self.packs).iter().rev().find_map(|(_, pack)| pack.piece(name).transpose());
        if let Some(piece) = packed {
            return piece;
        }
        if let Some(piece) = self.workspace.growing().and_then(|growing| growing.piece(name).transpose()) {
            return piece;
        }
        let path = self.join(name);
        let error = match open_part(&path) {
            Ok(file) => return Piece::whole(file),
            Err(error) => error,
        };
        let archived = lock(&self.archive).as_ref().and_then(|archive| archive.piece(name).transpose());
        archived.unwrap_or_else(|| Err(error!("cannot open {}: {error}", path.display()).with_source(error)))
    }
}

impl From<&Folder> for Workspace {
    fn from(folder: &Folder) -> Self {
        folder.workspace().clone()
    }
}

impl Deref for Folder {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.workspace.path
    }
}

impl Source for Folder {
    fn name(&self) -> String {
        self.display().to_string()
    }

    fn open(&self, name: &str) -> Result<Box<dyn ReadSeek>> {
        Ok(Box::new(self.piece(name)?))
    }
}
