//! Dataset task: which blocks of one dataset to build, and what was built. Both are plain data that can be sent to another
//! process or machine.

use std::path::{Path, PathBuf};

use hyperslab_array::{Error, ErrorKind, Result};
use hyperslab_reader::File;
use hyperslab_scan::pruner::Level;
use serde::{Deserialize, Serialize};

use crate::block::block_grid::BlockGrid;
use crate::block::composite;
use crate::freshness::indexed_parts::IndexedParts;
use crate::freshness::indexed_values::IndexedValues;
use crate::store::manifest::{IndexFileEntry, PartPlace, SIDECAR_SUFFIX, check_index_files, joined_labels, label};
use crate::store::stamp::Stamp;
use crate::store::sweep;

/// A file that was changed less than this time ago may be changed again without a new modification time.
const CLOCK_TICK: std::time::Duration = std::time::Duration::from_millis(50);
/// Maximum number of elements of a dataset whose index file shares a file with others: the elements of two blocks. One thread
/// builds them, and creating a file costs more than building the index.
const MAX_SHARED_FILE_ELEMENTS: u64 = 1 << 17;

/// Some blocks of one dataset that are to be built.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct DatasetTask {
    /// Path of the data file.
    pub(crate) file: String,
    /// Path of the dataset.
    pub(crate) path: String,
    /// The member of the compound dataset whose values are indexed; `None` for whole elements.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) member: Option<String>,
    /// The other datasets of a composite index, in its order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) others: Vec<PartPlace>,
    /// Path of the sidecar.
    pub(crate) folder: PathBuf,
    /// Name of the data file in the manifest.
    pub(crate) name: String,
    pub(crate) stamp: Stamp,
    pub(crate) identity: String,
    pub(crate) data_type: String,
    pub(crate) raw: bool,
    pub(crate) level: Level,
    pub(crate) shape: Vec<u64>,
    pub(crate) grid: BlockGrid,
    pub(crate) fingerprint: String,
    /// Index files of the previous build, some of whose blocks may still be valid.
    pub(crate) previous: Vec<IndexFileEntry>,
    /// The index of this task among the tasks of its dataset.
    pub(crate) part: u64,
    /// Number of tasks of its dataset.
    pub(crate) parts: u64,
    /// Whether the process that planned the task also builds and commits it.
    #[serde(skip)]
    pub(crate) is_local: bool,
}

/// What a task has built of one dataset.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct DatasetFragment {
    pub(crate) task: DatasetTask,
    /// The new index file, unless all blocks were kept.
    pub(crate) index_file: Option<IndexFileEntry>,
    /// The previous index files, if blocks of them were kept.
    pub(crate) kept: Vec<IndexFileEntry>,
    /// Number of blocks that were built.
    pub(crate) built_blocks: u64,
    /// Number of blocks that were still valid.
    pub(crate) kept_blocks: u64,
}

impl DatasetFragment {
    /// Refuses file names outside the sidecar: encoded fragments may come from an untrusted source.
    pub(crate) fn check(&self) -> Result<()> {
        self.task.check()?;
        check_index_files(&self.kept)?;
        match &self.index_file {
            Some(index_file) if index_file.place.name().is_none() => {
                Err(Error::invalid_input("not a valid index fragment: its index file is outside the sidecar"))
            }
            _ => Ok(()),
        }
    }

    /// Removes its index file, which will not be committed; best effort.
    pub(crate) fn discard(&self) {
        if let Some(name) = self.index_file.as_ref().and_then(|index_file| index_file.place.name()) {
            let _ = name.remove_from(&self.task.folder);
        }
    }
}

impl DatasetTask {
    /// Removes the sidecar of an index that was not built, if it has no other index; best effort.
    pub(crate) fn discard(&self) {
        sweep::remove_unbuilt(&self.folder);
    }

    /// The number of this build: greater than the numbers of the builds whose blocks it may keep.
    pub(crate) fn build_number(&self) -> u64 {
        self.previous.iter().map(|index_file| index_file.build.saturating_add(1)).max().unwrap_or_default()
    }

    /// Refuses file names outside the sidecar and impossible parts: encoded tasks may come from an untrusted source.
    pub(crate) fn check(&self) -> Result<()> {
        if self.part >= self.parts {
            return Err(Error::invalid_input(format!("not a valid index task: it is part {} of {}", self.part, self.parts)));
        }
        let is_plain = |name: &str| !name.is_empty() && !name.contains(['/', '\0']) && name != "." && name != "..";
        let of_file = Path::new(&self.file).file_name().and_then(|name| name.to_str());
        let of_index = self.folder.file_name().and_then(|name| name.to_str());
        if !is_plain(&self.name) || of_file != Some(self.name.as_str()) || !of_index.is_some_and(|name| name.ends_with(SIDECAR_SUFFIX)) {
            return Err(Error::invalid_input("not a valid index task: its file names do not belong together"));
        }
        let is_composite = self.level == Level::Composite;
        if is_composite == self.others.is_empty() || (is_composite && !composite::COLUMNS.contains(&(1 + self.others.len()))) {
            return Err(Error::invalid_input("not a valid index task: its level and its datasets do not belong together"));
        }
        check_index_files(&self.previous)
    }

    /// The path and member of each dataset.
    fn places(&self) -> impl Iterator<Item = (&str, Option<&str>)> {
        std::iter::once((self.path.as_str(), self.member.as_deref())).chain(self.others.iter().map(|other| (other.path.as_str(), other.member.as_deref())))
    }

    /// The paths of its datasets, with the names of their members.
    pub(crate) fn label(&self) -> String {
        joined_labels(self.places().map(|(path, member)| label(path, member)))
    }

    /// The values of its datasets. `NotFound` if one does not exist, `Unsupported` if it cannot have an index.
    pub(crate) fn values(&self, file: &File) -> Result<IndexedParts> {
        IndexedParts::of_all(self.places().map(|(path, member)| IndexedValues::new(file, file.find(path)?.object, member, self.raw)).collect::<Result<_>>()?)
    }

    pub(crate) fn elements(&self) -> u64 {
        self.shape.iter().fold(1, |n, extent| n.saturating_mul(*extent))
    }

    /// Splits the task into `parts` tasks, or fewer if there are fewer boxes of whole chunks.
    pub(crate) fn cut(&self, parts: u64) -> Vec<Self> {
        let parts = parts.min(self.grid.outer_count(&self.shape)).max(1);
        (0..parts).map(|part| Self { part, parts, ..self.clone() }).collect()
    }

    /// `Conflict` unless the file is in the state that was planned for. If it was changed very recently, waits first until a
    /// further change would get a new modification time.
    pub(crate) fn check_file(&self, file: &File) -> Result<()> {
        if let Some(age) = std::fs::metadata(file.path()).ok().and_then(|m| m.modified().ok()).and_then(|at| at.elapsed().ok()).filter(|age| *age < CLOCK_TICK)
        {
            std::thread::sleep(CLOCK_TICK - age);
        }
        let planned = Some(self.stamp);
        if Stamp::of(file) != planned || Stamp::now(file.path()) != planned {
            return Err(Error::new(ErrorKind::Conflict, "the file has changed since its index was planned; plan again").in_file(file.name()));
        }
        Ok(())
    }

    /// Whether its index file goes into a file that datasets share.
    pub(crate) fn is_small(&self) -> bool {
        self.elements() <= MAX_SHARED_FILE_ELEMENTS
    }
}
