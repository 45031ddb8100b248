//! Manifest: what a sidecar has, in one small file that is replaced last.

use std::collections::BTreeSet;
use std::io::Read;
use std::path::Path;

use hyperslab_array::{Error, Result};
use hyperslab_scan::pruner::Level;
use hyperslab_storage::{Existing, FolderLock, Output};
use serde::{Deserialize, Serialize};

use crate::build::block_grid::BlockGrid;
use crate::freshness::source::Stamp;

/// Version of the manifest and of the segments; raised when their meaning changes.
pub(crate) const VERSION: u32 = 1;
/// Name of the manifest in its folder.
pub(crate) const NAME: &str = "manifest.json";
/// Ending of a sidecar's name.
pub(crate) const ENDING: &str = ".hsidx";
/// Name of a sidecar that is of a folder's files together.
pub(crate) const OF_FOLDER: &str = "hyperslab.hsidx";
/// Bytes of a manifest, at most.
pub(crate) const MAX_BYTES: u64 = 1 << 28;

/// All of a sidecar's indexes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Manifest {
    pub version: u32,
    pub files: Vec<IndexedFile>,
}

/// The indexes of one file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct IndexedFile {
    /// Its name in the folder that the sidecar is in.
    pub name: String,
    pub stamp: Stamp,
    pub columns: Vec<IndexedDataset>,
}

/// The index of one dataset.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct IndexedDataset {
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
pub(crate) struct SegmentName {
    /// Name in the sidecar.
    pub name: String,
    /// Its length.
    pub bytes: u64,
    /// Its blocks.
    pub blocks: u64,
    /// Which build of the dataset's index wrote it, counted from 0. Its blocks replace those of earlier builds.
    #[serde(default)]
    pub build: u64,
    /// Where it begins in its file of the sidecar: small datasets share one.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub offset: u64,
}

fn is_zero(offset: &u64) -> bool {
    *offset == 0
}

impl SegmentName {
    /// Where it begins in the indexed file, if it lies there.
    pub fn place(&self) -> Option<u64> {
        self.name.strip_prefix('@')?.parse().ok()
    }
}

/// Whether a segment may be called so: a file of the sidecar, or a place in the indexed file. A manifest may come from
/// anywhere, and its names are opened and removed.
pub(crate) fn is_segment(name: &str) -> bool {
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit()) && text.parse::<u64>().is_ok();
    is_segment_file(name) || name.strip_prefix('@').is_some_and(is_number)
}

/// Whether a file of a sidecar is called as segments are.
pub(crate) fn is_segment_file(name: &str) -> bool {
    name.strip_suffix(".arrow").is_some_and(is_unique_name)
}

/// Whether a name is one that [`hyperslab_storage::unique_name`] gives.
pub(crate) fn is_unique_name(name: &str) -> bool {
    name.len() == 32 && name.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// Refuses names that are not of segments, and names that occur twice.
pub(crate) fn check_segments(segments: &[SegmentName]) -> Result<()> {
    let mut seen = std::collections::HashSet::new();
    match segments.iter().find(|segment| !is_segment(&segment.name) || !seen.insert((&segment.name, segment.offset))) {
        Some(wrong) => Err(Error::corrupt(format!("an index names a segment '{}' that cannot be one of its own, or names it twice", quoted(&wrong.name)))),
        None => Ok(()),
    }
}

/// The beginning of a text that came from somewhere, for a message.
fn quoted(text: &str) -> String {
    text.chars().take(80).flat_map(char::escape_default).collect()
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
            let file = hyperslab_storage::open_regular(&path)?;
            let length = file.metadata()?.len();
            if length > MAX_BYTES {
                return Err(Error::limit_exceeded("a manifest of an index that is too long"));
            }
            let mut bytes = Vec::new();
            file.take(MAX_BYTES).read_to_end(&mut bytes)?;
            Self::decode(&bytes)
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
        for dataset in sealed.manifest.files.iter().flat_map(|file| &file.columns) {
            check_segments(&dataset.segments)?;
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
        let output = Output::create_own(folder.join(NAME))?;
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
        for gone in before.difference(&after).filter(|name| is_segment_file(name)) {
            // What stays is removed by the next build or by tidying.
            let _ = std::fs::remove_file(folder.join(gone));
        }
        drop(lock);
        Ok(())
    }

    /// A manifest of one file as that of `name`: the file was renamed with its sidecar. Its indexes are kept for the
    /// blocks that are still right.
    pub fn renamed(mut self, name: &str, together: bool) -> Self {
        if !together && self.files_called(name).next().is_none() {
            for file in &mut self.files {
                file.name = name.to_owned();
                file.stamp = Stamp::default();
            }
        }
        self
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
