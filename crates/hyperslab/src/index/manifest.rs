//! Manifest: what a sidecar has, in one small file that is replaced last.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use hyperslab_array::{Error, Result};
use hyperslab_storage::{Existing, FolderLock, Output};
use serde::{Deserialize, Serialize};

use super::grid::BlockGrid;
use super::source::Stamp;
use crate::scan::pruner::Level;

/// Version of the manifest and of the segments; raised when their meaning changes.
pub(super) const VERSION: u32 = 1;
/// Name of the manifest in its folder.
pub(super) const NAME: &str = "manifest.json";
/// Ending of a sidecar's name.
pub(super) const ENDING: &str = ".hsidx";
/// Name of a sidecar that is of a folder's files together.
pub(super) const OF_FOLDER: &str = "hyperslab.hsidx";
/// Bytes of a manifest, at most.
pub(super) const MOST_BYTES: u64 = 1 << 30;

/// All of a sidecar's indexes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Manifest {
    pub version: u32,
    pub files: Vec<IndexedFile>,
}

/// The indexes of one file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct IndexedFile {
    /// Its name in the folder that the sidecar is in.
    pub name: String,
    pub stamp: Stamp,
    pub columns: Vec<IndexedDataset>,
}

/// The index of one dataset.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct IndexedDataset {
    /// Path of the dataset.
    pub path: String,
    /// See `source::identity`.
    pub identity: String,
    /// Arrow type of the values, for people.
    pub data_type: String,
    pub level: Level,
    pub shape: Vec<u64>,
    pub grid: BlockGrid,
    /// See `source::fingerprint`.
    pub fingerprint: String,
    /// Later ones come before earlier ones.
    pub segments: Vec<SegmentName>,
}

/// One segment.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct SegmentName {
    /// Name in the sidecar.
    pub name: String,
    /// Where it begins in its file: small datasets share one.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub offset: u64,
    /// Its length.
    pub bytes: u64,
    /// Its blocks.
    pub blocks: u64,
}

fn is_zero(offset: &u64) -> bool {
    *offset == 0
}

/// As it lies on the disk.
#[derive(Serialize, Deserialize)]
struct Sealed {
    /// CRC-32 of the manifest, written without spaces.
    checksum: u32,
    manifest: Manifest,
}

impl Manifest {
    /// Without indexes.
    pub fn empty() -> Self {
        Self { version: VERSION, files: Vec::new() }
    }

    fn checksum(&self) -> Result<u32> {
        let bytes = serde_json::to_vec(self).map_err(|error| Error::internal(format!("a manifest: {error}")))?;
        Ok(crc32fast::hash(&bytes))
    }

    /// The manifest of the sidecar `folder`; `NotFound` where there is none, `Corrupt` for a damaged one,
    /// `Unsupported` for one of another version.
    pub fn read(folder: &Path) -> Result<Self> {
        let path = folder.join(NAME);
        let read = || {
            let length = std::fs::metadata(&path)?.len();
            if length > MOST_BYTES {
                return Err(Error::limit_exceeded("a manifest of an index that is too long"));
            }
            Self::decode(&std::fs::read(&path)?)
        };
        read().map_err(|error| error.in_file(path.display().to_string()))
    }

    /// The manifest of these bytes.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        #[derive(Deserialize)]
        struct Version {
            version: u32,
        }
        #[derive(Deserialize)]
        struct Any {
            manifest: Version,
        }
        let bad = |error: serde_json::Error| Error::corrupt(format!("no manifest of an index: {error}"));
        let any: Any = serde_json::from_slice(bytes).map_err(bad)?;
        if any.manifest.version != VERSION {
            return Err(Error::unsupported(format!("an index of version {} (this release knows {VERSION}): build it anew", any.manifest.version)));
        }
        let sealed: Sealed = serde_json::from_slice(bytes).map_err(bad)?;
        if sealed.manifest.checksum()? != sealed.checksum {
            return Err(Error::corrupt("the checksum of the index's manifest does not fit"));
        }
        Ok(sealed.manifest)
    }

    /// As bytes.
    pub fn encode(&self) -> Result<Vec<u8>> {
        let sealed = Sealed { checksum: self.checksum()?, manifest: self.clone() };
        serde_json::to_vec_pretty(&sealed).map_err(|error| Error::internal(format!("a manifest: {error}")))
    }

    /// Puts it into the sidecar `folder`, at once.
    pub fn publish(self, folder: &Path) -> Result<()> {
        let bytes = self.encode()?;
        let output = Output::create(folder.join(NAME))?;
        output.write_at(0, &bytes)?;
        output.publish(bytes.len() as u64, Existing::Replace)
    }

    /// Changes the manifest of `folder` while nobody else does, and removes segments that it no longer has.
    pub fn change(folder: &Path, change: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        let lock = FolderLock::take(folder)?;
        let mut manifest = match Self::read(folder) {
            Ok(manifest) => manifest,
            // What cannot be read is not worth keeping.
            Err(_) => Self::empty(),
        };
        let before = manifest.segments();
        change(&mut manifest)?;
        let after = manifest.segments();
        manifest.publish(folder)?;
        for gone in before.difference(&after) {
            // What stays behind is litter, no harm.
            let _ = std::fs::remove_file(folder.join(gone));
        }
        drop(lock);
        Ok(())
    }

    /// Names of the files of all segments.
    pub fn segments(&self) -> BTreeSet<String> {
        let datasets = self.files.iter().flat_map(|file| &file.columns);
        datasets.flat_map(|dataset| dataset.segments.iter().map(|segment| segment.name.clone())).collect()
    }

    /// The indexes of the files with this name: one for each stamp, the last that was built first.
    pub fn files_called(&self, name: &str) -> impl Iterator<Item = &IndexedFile> {
        self.files.iter().filter(move |file| file.name == name)
    }
}

/// Where the index of a file may be: a sidecar of its own, that of its folder, or the file itself.
pub(super) fn places(path: &Path) -> Vec<PathBuf> {
    let own = own(path);
    vec![own, hyperslab_storage::folder_of(path).join(OF_FOLDER), path.to_path_buf()]
}

/// The sidecar of one file.
pub(super) fn own(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(ENDING);
    path.with_file_name(name)
}
