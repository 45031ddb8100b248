//! Manifest: the list of a sidecar's indexes and their index files. A commit writes the index files first and replaces the
//! manifest last, atomically: the new indexes then become visible all at once.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::io::Read;
use std::path::Path;

use hyperslab_array::{Error, Result};
use hyperslab_scan::pruner::Level;
use hyperslab_storage::{Existing, FolderLock, Output};
use serde::{Deserialize, Serialize};

use super::index_file_name::{IndexFileName, IndexFilePlace};
use super::seal::seal;
use super::stamp::Stamp;
use crate::block::block_grid::BlockGrid;

/// Version of the manifest, the index files, the tasks and the fragments; incremented when their meaning changes. Version 2
/// defines identities and fingerprints by spelled-out text, and seals tasks and fragments.
pub(crate) const VERSION: u32 = 2;
/// Name of the manifest in its sidecar.
pub(crate) const MANIFEST_NAME: &str = "manifest.json";
/// Suffix of a sidecar's name.
pub(crate) const SIDECAR_SUFFIX: &str = ".hsidx";
/// Name of the sidecar that the data files of a folder share.
pub(crate) const FOLDER_SIDECAR_NAME: &str = "hyperslab.hsidx";
/// Maximum length of a manifest in bytes.
pub(crate) const MAX_BYTES: u64 = 1 << 28;

/// All indexes of a sidecar.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Manifest {
    pub version: u32,
    pub files: Vec<IndexedFile>,
}

/// The indexes of one data file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct IndexedFile {
    /// Its name, without a folder.
    pub name: String,
    /// The stamp of the data file that the indexes were built for.
    pub stamp: Stamp,
    pub columns: Vec<IndexedDataset>,
}

/// The index of one dataset.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct IndexedDataset {
    /// Path of the dataset.
    pub path: String,
    /// The member of the compound dataset whose values are indexed; `None` for whole elements.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub member: Option<String>,
    /// The other datasets of a composite index, in its order; none of any other index.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<PartPlace>,
    /// See `IndexedParts::identity`.
    pub identity: String,
    /// Arrow type of the values, for display only.
    pub data_type: String,
    pub level: Level,
    pub shape: Vec<u64>,
    pub grid: BlockGrid,
    /// See `IndexedParts::fingerprint`.
    pub fingerprint: String,
    /// If several index files have a block, the one of the latest build counts.
    pub index_files: Vec<IndexFileEntry>,
    /// See [`seal`]; written by [`Manifest::encode`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seal: Option<String>,
    /// Whether this user built it: its seal was right when the manifest was read, or it was built since.
    #[serde(skip)]
    pub is_own: bool,
}

/// One of the datasets of a composite index, but the first.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct PartPlace {
    /// Path of the dataset.
    pub path: String,
    /// The member of the compound dataset; `None` for whole elements.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub member: Option<String>,
}

/// What is sealed: all of an entry but its seal, and the state of its data file.
#[derive(Serialize)]
struct Sealed<'a> {
    stamp: Stamp,
    path: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    member: Option<&'a str>,
    #[serde(skip_serializing_if = "<[PartPlace]>::is_empty")]
    others: &'a [PartPlace],
    identity: &'a str,
    data_type: &'a str,
    level: Level,
    shape: &'a [u64],
    grid: &'a BlockGrid,
    fingerprint: &'a str,
    index_files: &'a [IndexFileEntry],
}

impl IndexedDataset {
    /// The seal of this user for an index of a data file with this stamp.
    fn seal_for(&self, stamp: Stamp) -> Result<String> {
        let Self { path, member, others, identity, data_type, level, shape, grid, fingerprint, index_files, seal: _, is_own: _ } = self;
        seal(&Sealed { stamp, path, member: member.as_deref(), others, identity, data_type, level: *level, shape, grid, fingerprint, index_files })
    }

    /// The path of each dataset, and its member: of a composite index several.
    pub fn places(&self) -> impl Iterator<Item = (&str, Option<&str>)> {
        std::iter::once((self.path.as_str(), self.member.as_deref())).chain(self.others.iter().map(|other| (other.path.as_str(), other.member.as_deref())))
    }

    /// The path of the dataset, and the name of the member: `/table/energy`; for a composite index, the paths of all, `/x, /y`.
    pub fn label(&self) -> String {
        joined_labels(self.places().map(|(path, member)| label(path, member)))
    }

    /// Whether both are the same index, for whatever state of the data file they were sealed.
    pub fn is_same(&self, other: &Self) -> bool {
        let unsealed = |dataset: &Self| Self { seal: None, ..dataset.clone() };
        unsealed(self) == unsealed(other)
    }
}

/// One index file: where its bytes are, and which build wrote it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct IndexFileEntry {
    /// The file with its bytes.
    #[serde(rename = "name")]
    pub place: IndexFilePlace,
    /// Its length in bytes.
    pub bytes: u64,
    /// Its number of blocks.
    pub blocks: u64,
    /// The build of the dataset's index that wrote it, counted from 0. Its blocks replace the blocks of earlier builds.
    #[serde(default)]
    pub build: u64,
    /// Where it begins in its file, in bytes: small datasets share a file.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub offset: u64,
}

/// The path of a dataset, and the name of its member if only that is meant.
pub(crate) fn label(path: &str, member: Option<&str>) -> String {
    member.map_or_else(|| path.to_owned(), |member| format!("{}/{member}", path.trim_end_matches('/')))
}

/// The labels of all datasets of an index.
pub(crate) fn joined_labels(labels: impl IntoIterator<Item = String>) -> String {
    labels.into_iter().collect::<Vec<String>>().join(", ")
}

fn is_zero(offset: &u64) -> bool {
    *offset == 0
}

/// Refuses entries that occur twice.
pub(crate) fn check_index_files(index_files: &[IndexFileEntry]) -> Result<()> {
    let mut seen = HashSet::new();
    match index_files.iter().find(|index_file| !seen.insert((&index_file.place, index_file.offset))) {
        Some(twice) => Err(Error::corrupt(format!("an index names the index file '{}' twice", twice.place))),
        None => Ok(()),
    }
}

/// The file format of a manifest.
#[derive(Serialize, Deserialize)]
struct StoredManifest {
    /// CRC-32 of the manifest as JSON without spaces.
    checksum: u32,
    manifest: Manifest,
}

impl Manifest {
    /// A manifest without indexes.
    pub fn empty() -> Self {
        Self { version: VERSION, files: Vec::new() }
    }

    fn checksum(&self) -> Result<u32> {
        let bytes = serde_json::to_vec(self).map_err(|error| Error::internal(format!("cannot encode a manifest: {error}")))?;
        Ok(crc32fast::hash(&bytes))
    }

    /// Reads the manifest of the sidecar `folder`. `NotFound` if there is none, `Corrupt` if it is damaged, `Unsupported` if it
    /// has another version.
    pub fn read(folder: &Path) -> Result<Self> {
        let path = folder.join(MANIFEST_NAME);
        let read = || {
            let file = hyperslab_storage::open_regular(&path)?;
            let length = file.metadata()?.len();
            if length > MAX_BYTES {
                return Err(Error::limit_exceeded("the manifest of an index is too long"));
            }
            let mut bytes = Vec::new();
            file.take(MAX_BYTES).read_to_end(&mut bytes)?;
            Self::decode(&bytes)
        };
        read().map_err(|error| error.in_file(path.display().to_string()))
    }

    /// Decodes a manifest; errors as in `read`.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        #[derive(Deserialize)]
        struct Version {
            version: u32,
        }
        #[derive(Deserialize)]
        struct Any {
            manifest: Version,
        }
        let bad = |error: serde_json::Error| Error::corrupt(format!("not a manifest of an index: {error}"));
        let any: Any = serde_json::from_slice(bytes).map_err(bad)?;
        if any.manifest.version != VERSION {
            return Err(Error::unsupported(format!("an index of version {} (this release reads version {VERSION}); rebuild it", any.manifest.version)));
        }
        let sealed: StoredManifest = serde_json::from_slice(bytes).map_err(bad)?;
        if sealed.manifest.checksum()? != sealed.checksum {
            return Err(Error::corrupt("the checksum of the index's manifest does not match"));
        }
        let mut manifest = sealed.manifest;
        for file in &mut manifest.files {
            for dataset in &mut file.columns {
                check_index_files(&dataset.index_files)?;
                dataset.is_own = dataset.seal.is_some() && dataset.seal == dataset.seal_for(file.stamp).ok();
            }
        }
        Ok(manifest)
    }

    /// Encodes it, with seals of the indexes that this user built; `decode` reads the result.
    pub fn encode(&self) -> Result<Vec<u8>> {
        let mut manifest = self.clone();
        for file in &mut manifest.files {
            for dataset in file.columns.iter_mut().filter(|dataset| dataset.is_own) {
                dataset.seal = Some(dataset.seal_for(file.stamp)?);
            }
        }
        let sealed = StoredManifest { checksum: manifest.checksum()?, manifest };
        serde_json::to_vec_pretty(&sealed).map_err(|error| Error::internal(format!("cannot encode a manifest: {error}")))
    }

    /// Replaces the manifest of the sidecar `folder` atomically.
    pub fn publish(self, folder: &Path) -> Result<()> {
        let bytes = self.encode()?;
        let output = Output::create_own(folder.join(MANIFEST_NAME))?;
        output.write_at(0, &bytes)?;
        output.publish(bytes.len() as u64, Existing::Replace)
    }

    /// Changes the manifest of `folder` under its lock, then removes index files that it does not name.
    pub fn change(folder: &Path, change: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        let lock = FolderLock::take(folder)?;
        let mut manifest = match Self::read(folder) {
            Ok(manifest) => manifest,
            // An unreadable manifest is replaced: its indexes cannot be used anyway.
            Err(_) => Self::empty(),
        };
        let before = manifest.index_files();
        change(&mut manifest)?;
        let after = manifest.index_files();
        manifest.publish(folder)?;
        for gone in before.difference(&after) {
            // A file that cannot be removed now is removed by the next build or by `vacuum`.
            let _ = gone.remove_from(folder);
        }
        drop(lock);
        Ok(())
    }

    /// If the data file of a sidecar of its own was renamed to `name`, assigns the indexes to that name. They are then stale,
    /// but a new build keeps the blocks that are still valid.
    pub fn renamed(mut self, name: &str, is_shared: bool) -> Self {
        if !is_shared && self.files_called(name).next().is_none() {
            for file in &mut self.files {
                file.name = name.to_owned();
                file.stamp = Stamp::default();
            }
        }
        self
    }

    /// The names of all index files in the sidecar.
    pub fn index_files(&self) -> BTreeSet<IndexFileName> {
        let datasets = self.files.iter().flat_map(|file| &file.columns);
        datasets.flat_map(|dataset| dataset.index_files.iter().filter_map(|index_file| index_file.place.name().cloned())).collect()
    }

    /// The indexes of the files with this name: one for each stamp, the latest build first.
    pub fn files_called(&self, name: &str) -> impl Iterator<Item = &IndexedFile> {
        self.files.iter().filter(move |file| file.name == name)
    }

    /// Adds or replaces the indexes of datasets, each with the name and stamp of its data file. If a data file has changed,
    /// its other indexes stay, as stale ones under the stamp that they were built for: a later build may keep some blocks.
    pub fn add(&mut self, entries: Vec<(String, Stamp, IndexedDataset)>) -> Result<()> {
        let replaced: HashSet<(&str, &str, &str)> =
            entries.iter().map(|(name, _, entry)| (name.as_str(), entry.path.as_str(), entry.identity.as_str())).collect();
        for file in &mut self.files {
            let name = &file.name;
            file.columns.retain(|column| !replaced.contains(&(name.as_str(), column.path.as_str(), column.identity.as_str())));
        }
        // A file is listed once for each stamp; the first one with its stamp is used.
        let mut positions: HashMap<(String, Stamp), usize> = HashMap::new();
        for (index, file) in self.files.iter().enumerate() {
            positions.entry((file.name.clone(), file.stamp)).or_insert(index);
        }
        let known = self.files.len();
        let mut new: Vec<IndexedFile> = Vec::new();
        for (name, stamp, entry) in entries {
            let index = *positions.entry((name.clone(), stamp)).or_insert_with(|| {
                new.push(IndexedFile { name, stamp, columns: Vec::new() });
                known + new.len() - 1
            });
            let file = if index < known { self.files.get_mut(index) } else { new.get_mut(index - known) };
            file.ok_or_else(|| Error::internal("a file of a manifest is missing"))?.columns.push(entry);
        }
        new.reverse();
        new.append(&mut self.files);
        self.files = new;
        self.files.retain(|file| !file.columns.is_empty());
        Ok(())
    }
}
