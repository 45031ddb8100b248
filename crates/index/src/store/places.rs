//! Places: where the index of a data file may be.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use hyperslab_storage::folder_of;

use super::manifest::{FOLDER_SIDECAR_NAME, SIDECAR_SUFFIX};

/// The kind of place that an index is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PlaceKind {
    /// A sidecar of one data file.
    FileSidecar,
    /// A sidecar that the data files of a folder share.
    FolderSidecar,
    /// The end of the data file itself.
    Embedded,
}

/// A place where the index of a data file may be: a sidecar, or the data file.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    pub kind: PlaceKind,
    pub path: PathBuf,
    /// The name of the data file in the manifest of this place.
    pub name: String,
    /// Whether it is in the folder that the user gave for indexes.
    pub is_asked: bool,
}

/// The places to look at, in this order. `index_folder` is a folder for the indexes of files in any folder. If `file` is a
/// symbolic link, the places of its target follow the places of the link.
pub(crate) fn places(file: &Path, index_folder: Option<&Path>) -> Vec<Place> {
    let is_link = file.symlink_metadata().is_ok_and(|found| found.is_symlink());
    let real = is_link.then(|| file.canonicalize().ok()).flatten();
    let names = || [Some(file), real.as_deref()].into_iter().flatten();
    let kept = index_folder.into_iter().flat_map(|index_folder| names().map(move |file| (file, mirrored(index_folder, file), true)));
    let folders = kept.chain(names().map(|file| (file, folder_of(file), false)));
    let name_of = |file: &Path| file.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
    let sidecars = folders.flat_map(|(file, folder, is_asked)| {
        let place = |kind, path| Place { kind, path, name: name_of(file), is_asked };
        [place(PlaceKind::FileSidecar, sidecar_in(&folder, file)), place(PlaceKind::FolderSidecar, folder.join(FOLDER_SIDECAR_NAME))]
    });
    sidecars.chain([Place { kind: PlaceKind::Embedded, path: file.to_path_buf(), name: name_of(file), is_asked: false }]).collect()
}

/// The sidecar that a build for `file` writes to. `is_shared` selects the sidecar that the files of the folder share.
pub(crate) fn sidecar(file: &Path, is_shared: bool, index_folder: Option<&Path>) -> PathBuf {
    let folder = index_folder.map_or_else(|| folder_of(file), |index_folder| mirrored(index_folder, file));
    if is_shared { folder.join(FOLDER_SIDECAR_NAME) } else { sidecar_in(&folder, file) }
}

/// The sidecar next to a file.
pub(crate) fn sidecar_next_to(file: &Path) -> PathBuf {
    sidecar_in(&folder_of(file), file)
}

fn sidecar_in(folder: &Path, file: &Path) -> PathBuf {
    let mut name = file.file_name().unwrap_or_default().to_os_string();
    name.push(SIDECAR_SUFFIX);
    folder.join(name)
}

/// The subfolder of `index_folder` for the files in the folder of `file`: the absolute path of that folder, below
/// `index_folder`.
fn mirrored(index_folder: &Path, file: &Path) -> PathBuf {
    let folder = folder_of(file);
    let folder = std::fs::canonicalize(&folder).unwrap_or(folder);
    let normal = folder.components().filter(|part| matches!(part, std::path::Component::Normal(_)));
    index_folder.join(normal.collect::<PathBuf>())
}

/// Identifies one state of a file: another file, or the same file after any change, has another version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) struct Version {
    device: u64,
    inode: u64,
    bytes: u64,
    modified: (i64, i64),
    /// The change time of the inode, which programs cannot set.
    changed: (i64, i64),
}

impl Version {
    /// The current version of the file at `path`.
    pub fn of(path: &Path) -> std::io::Result<Self> {
        std::fs::metadata(path).map(|found| Self::new(&found))
    }

    /// As `of`, but of the symbolic link itself if `path` is one.
    pub fn of_link(path: &Path) -> std::io::Result<Self> {
        std::fs::symlink_metadata(path).map(|found| Self::new(&found))
    }

    fn new(found: &std::fs::Metadata) -> Self {
        Self {
            device: found.dev(),
            inode: found.ino(),
            bytes: found.len(),
            modified: (found.mtime(), found.mtime_nsec()),
            changed: (found.ctime(), found.ctime_nsec()),
        }
    }
}
