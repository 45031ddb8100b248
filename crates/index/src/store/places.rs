//! Places: where the index of a file may be.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use hyperslab_storage::folder_of;

use super::manifest::{ENDING, OF_FOLDER};

/// What kind of place an index is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A sidecar of one file.
    Own,
    /// A sidecar of the files of a folder.
    Together,
    /// The end of the file itself.
    Embedded,
}

/// A place where the index of a file may be: a sidecar, or the file.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    pub kind: Kind,
    pub path: PathBuf,
    /// What the file is called there.
    pub name: String,
}

/// The places to look at, in this order. `elsewhere` is a folder for the indexes of files in any folder. A file that is
/// reached by a symbolic link has places by the name of the link, and by its own.
pub(crate) fn places(file: &Path, elsewhere: Option<&Path>) -> Vec<Place> {
    let is_link = file.symlink_metadata().is_ok_and(|found| found.is_symlink());
    let real = is_link.then(|| file.canonicalize().ok()).flatten();
    let names = || [Some(file), real.as_deref()].into_iter().flatten();
    let kept = elsewhere.into_iter().flat_map(|elsewhere| names().map(move |file| (file, mirrored(elsewhere, file))));
    let folders = kept.chain(names().map(|file| (file, folder_of(file))));
    let name_of = |file: &Path| file.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
    let sidecars = folders.flat_map(|(file, folder)| {
        let place = |kind, path| Place { kind, path, name: name_of(file) };
        [place(Kind::Own, own_in(&folder, file)), place(Kind::Together, folder.join(OF_FOLDER))]
    });
    sidecars.chain([Place { kind: Kind::Embedded, path: file.to_path_buf(), name: name_of(file) }]).collect()
}

/// The sidecar that a build of `file` goes to.
pub(crate) fn sidecar(file: &Path, together: bool, elsewhere: Option<&Path>) -> PathBuf {
    let folder = elsewhere.map_or_else(|| folder_of(file), |elsewhere| mirrored(elsewhere, file));
    if together { folder.join(OF_FOLDER) } else { own_in(&folder, file) }
}

/// The sidecar beside a file.
pub(crate) fn own(file: &Path) -> PathBuf {
    own_in(&folder_of(file), file)
}

fn own_in(folder: &Path, file: &Path) -> PathBuf {
    let mut name = file.file_name().unwrap_or_default().to_os_string();
    name.push(ENDING);
    folder.join(name)
}

/// The folder below `elsewhere` for files in the folder of `file`: that folder's whole path.
fn mirrored(elsewhere: &Path, file: &Path) -> PathBuf {
    let folder = folder_of(file);
    let folder = std::fs::canonicalize(&folder).unwrap_or(folder);
    let normal = folder.components().filter(|part| matches!(part, std::path::Component::Normal(_)));
    elsewhere.join(normal.collect::<PathBuf>())
}

/// Tells a file from its successors: another file, or the same one after any change, has another version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) struct Version {
    device: u64,
    inode: u64,
    bytes: u64,
    modified: (i64, i64),
    /// When anything about the file changed last; programs cannot set it.
    changed: (i64, i64),
}

impl Version {
    /// Of the file at `path` now.
    pub fn of(path: &Path) -> std::io::Result<Self> {
        std::fs::metadata(path).map(|found| Self::new(&found))
    }

    /// Of what is at `path` itself, a symbolic link too.
    pub fn of_link(path: &Path) -> std::io::Result<Self> {
        std::fs::symlink_metadata(path).map(|found| Self::new(&found))
    }

    fn new(found: &std::fs::Metadata) -> Self {
        Self { device: found.dev(), inode: found.ino(), bytes: found.len(), modified: (found.mtime(), found.mtime_nsec()), changed: (found.ctime(), found.ctime_nsec()) }
    }
}
