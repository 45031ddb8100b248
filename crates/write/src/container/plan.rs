//! The plan of a parallel write, as plain data for other processes and machines.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use hyperslab_array::{Envelope, Error, Result};
use hyperslab_storage::{
    EntryName, UniqueName, block_bytes_in, check_replaceable, folder_of, is_address, is_parallel_file_system, profile, real_path, shown_address, target_layout,
};
use serde::{Deserialize, Serialize};

use super::definitions::Definitions;
use super::lineage::{CONTAINER_SUFFIX, container_of, home_of};
use super::state::{State, state_of};
use super::store::place::StorePlace;
use crate::file::allocator::checked_alignment;
use crate::file::definition::DatasetDefinition;
use crate::file::references::object_path::normalized_path;
use crate::file::regions::region::Region;
use crate::shared::shared_datasets::SharedDatasets;

/// Version of the encoding; raised when its meaning changes.
const ENVELOPE: Envelope = Envelope::new("a write plan", 5);

/// Alignment of blocks in the subfiles of an object store, in bytes: a page of memory.
const STORE_ALIGNMENT: u64 = 4096;

/// What happens to an existing file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum WriteMode {
    /// The file must not exist.
    Create,
    /// The commit replaces it.
    Overwrite,
    /// The commit adds objects to it, and rows to datasets that are written by rows.
    Append,
}

/// Describes how a container is written. Creating a plan writes nothing; [`WritePlan::begin`] creates a folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WritePlan {
    version: u32,
    /// Unique id of this write.
    pub(crate) id: UniqueName,
    path: String,
    /// Name of the container folder next to the master, if the master was renamed. Otherwise it is the master's name plus `.d`.
    container: Option<EntryName>,
    pub(crate) mode: WriteMode,
    /// State of the master when the plan was made. The commit replaces this state only.
    pub(crate) base: State,
    pub(crate) alignment: Option<u64>,
    /// Datasets of shared subfiles.
    pub(crate) sharing: Option<SharedDatasets>,
    /// Whether tasks and the commit sync to disk.
    pub(crate) durable: bool,
    /// Whether checksums of subfiles are recorded.
    pub(crate) checksums: bool,
    /// Whether [`WritePlan::begin`] created the folder of the subfiles, so that tasks must not.
    pub(crate) begun: bool,
    /// Whether the master and the subfiles record creation order.
    pub(crate) tracked: bool,
    /// Objects that the plan defines.
    pub(crate) definitions: Definitions,
    /// Free text from the program that made the plan for its tasks.
    note: String,
    /// Set if the container is in an object store: `path` is the address of the master then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) store: Option<StorePlace>,
}

impl WritePlan {
    /// A plan for the master file `path`. Its folder must exist; symbolic links are followed.
    ///
    /// # Errors
    /// `NotFound` if the folder is missing; `InvalidInput` for a path without a file name; `Conflict` if `mode` does
    /// not allow a file of this name; `Unsupported` for appending to a file that no plan has written, and for an address, which
    /// [`WritePlan::new_at`] takes.
    pub fn new(path: &Path, mode: WriteMode, alignment: Option<u64>) -> Result<Self> {
        let shown = path.display().to_string();
        if is_address(&shown) {
            return Err(Error::unsupported("this plan writes local files only: give a path").in_file(shown_address(&shown)));
        }
        let path = &real_path(path)?;
        let folder = std::fs::canonicalize(folder_of(path)).map_err(|error| Error::from(error).in_file(&shown))?;
        let name = path.file_name().ok_or_else(|| Error::invalid_input("a path without a file name").in_file(&shown))?;
        let path = folder.join(name);
        let text = path.to_str().ok_or_else(|| Error::unsupported("a path that is not UTF-8").in_file(&shown))?.to_owned();
        let base = state_of(&path)?;
        if mode != WriteMode::Create {
            check_replaceable(&path)?;
        }
        match (mode, &base) {
            (WriteMode::Create, State::Absent) | (WriteMode::Overwrite, _) => {}
            (WriteMode::Append, State::Committed { .. } | State::Absent) => {}
            (WriteMode::Create, _) => {
                return Err(Error::new(hyperslab_array::ErrorKind::Conflict, "there is a file of this name already").in_file(shown));
            }
            (WriteMode::Append, State::Foreign { .. }) => {
                return Err(Error::unsupported("appending to a file that no plan has written").in_file(shown));
            }
        }
        // When a master is renamed, its container folder keeps its name.
        let renamed = match &base {
            State::Committed { commit } => home_of(&path, commit).filter(|home| *home != container_of(&path)),
            _ => None,
        };
        let container = renamed.as_deref().and_then(Path::file_name).and_then(OsStr::to_str).map(EntryName::parse).transpose()?;
        Ok(Self { container, ..Self::made(text, mode, base, alignment) })
    }

    /// A plan without definitions.
    pub(super) fn made(path: String, mode: WriteMode, base: State, alignment: Option<u64>) -> Self {
        Self {
            version: ENVELOPE.version(),
            id: UniqueName::generate(),
            path,
            container: None,
            mode,
            base,
            alignment,
            sharing: None,
            durable: true,
            checksums: false,
            begun: false,
            tracked: false,
            definitions: Definitions::default(),
            note: String::new(),
            store: None,
        }
    }

    /// The same plan with another path.
    pub(super) fn with_path(&self, path: String) -> Self {
        Self { path, ..self.clone() }
    }

    /// Lets `factor` of the `writers` tasks share one subfile for the datasets of [`WritePlan::create_dataset`]. `None` chooses
    /// by the file system. In an object store each task has a subfile of its own.
    ///
    /// # Errors
    /// `InvalidInput` for 0 tasks, a factor that does not fit, or a second call; `Unsupported` for several tasks to an object.
    pub fn share(&mut self, writers: u64, factor: Option<u64>) -> Result<()> {
        if self.sharing.is_some() {
            return Err(Error::invalid_input("the number of tasks was set already"));
        }
        if self.store.is_some() {
            if factor.is_some_and(|factor| factor > 1) {
                return Err(Error::unsupported(
                    "several tasks to an object, which stores cannot write at any position: leave out factor, so that each task writes a subfile of its own",
                )
                .in_file(self.path.clone()));
            }
            let alignment = checked_alignment(self.alignment)?.unwrap_or(STORE_ALIGNMENT);
            self.sharing = Some(SharedDatasets::new(writers, 1, alignment)?);
            return Ok(());
        }
        let folder = folder_of(self.path());
        let alignment = checked_alignment(self.alignment)?.map_or_else(|| block_bytes_in(&folder), Ok)?;
        let factor = factor
            .or(profile().settings.subfile_factor.map(|factor| factor.min(writers)))
            .unwrap_or_else(|| chosen_factor(writers, is_parallel_file_system(&folder), stripe_count(&folder)));
        self.sharing = Some(SharedDatasets::new(writers, factor, alignment)?);
        Ok(())
    }

    fn sharing(&self) -> Result<&SharedDatasets> {
        self.sharing.as_ref().ok_or_else(|| Error::invalid_input("the plan has no number of tasks: give writers"))
    }

    /// Number of tasks that share a subfile; 1 if each has its own.
    pub fn factor(&self) -> u64 {
        self.sharing.as_ref().map_or(1, |sharing| sharing.factor)
    }

    /// Adds a dataset that all tasks write together into shared subfiles: task `i` writes `regions[i]`, or an equal share of the
    /// rows. Tasks do not need to create it.
    ///
    /// # Errors
    /// `InvalidInput` for an invalid path, or one that has another object; `Unsupported` for what HDF5 cannot store.
    pub fn create_dataset(&mut self, path: &str, definition: DatasetDefinition, regions: Option<Vec<Region>>) -> Result<()> {
        let path = normalized_path(path)?;
        if path.is_empty() {
            return Err(Error::invalid_input("a dataset without a name"));
        }
        self.sharing()?;
        let sharing = self.sharing.as_mut().ok_or_else(|| Error::internal("a plan without shared datasets"))?;
        sharing.add(&path, definition, regions).map_err(|error| error.at_object(format!("/{path}")))
    }

    /// Free text that programs pass to the tasks.
    pub fn note(&self) -> &str {
        &self.note
    }

    /// Sets the text of [`WritePlan::note`].
    pub fn set_note(&mut self, note: String) {
        self.note = note;
    }

    /// The objects that the plan defines.
    pub fn definitions(&mut self) -> &mut Definitions {
        &mut self.definitions
    }

    /// The region of a dataset of the plan that a task writes.
    ///
    /// # Errors
    /// `NotFound` if the plan has no such dataset; `InvalidInput` if it has no such task.
    pub fn region(&self, path: &str, task: u64) -> Result<Region> {
        let sharing = self.sharing()?;
        sharing.group_of(task)?;
        sharing.region(&normalized_path(path)?, task)
    }

    /// Does not wait until bytes are on disk. Readers still see all or nothing if a process is killed, but after a power failure
    /// the last commits may be damaged.
    pub fn without_sync(&mut self) {
        self.durable = false;
    }

    /// Whether tasks and the commit sync to disk.
    pub fn is_durable(&self) -> bool {
        self.durable
    }

    /// Records the creation order of attributes and group members, in the master and in each subfile. Objects of the first task
    /// come first, in its order.
    pub fn track_order(&mut self) {
        self.tracked = true;
    }

    /// Records checksums of all subfiles, for [`crate::verify`].
    ///
    /// # Errors
    /// `Unsupported` for an object store.
    pub fn with_checksums(&mut self) -> Result<()> {
        if self.store.is_some() {
            return Err(Error::unsupported("checksums of subfiles in an object store, which keeps its own").in_file(self.path.clone()));
        }
        self.checksums = true;
        Ok(())
    }

    /// The master file.
    pub fn path(&self) -> &Path {
        Path::new(&self.path)
    }

    /// The container folder, which holds the subfiles of all commits.
    pub(crate) fn container(&self) -> PathBuf {
        match &self.container {
            Some(name) => name.path_in(&folder_of(self.path())),
            None => container_of(self.path()),
        }
    }

    /// The folder in the container with the subfiles of this write.
    pub(crate) fn folder(&self) -> PathBuf {
        self.container().join(&self.id)
    }

    /// Unique id of this write.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Encodes as versioned JSON with a trailing checksum.
    ///
    /// # Errors
    /// `Internal` if the data cannot be encoded.
    pub fn encode(&self) -> Result<Vec<u8>> {
        ENVELOPE.encode(self)
    }

    /// Decodes [`WritePlan::encode`].
    ///
    /// # Errors
    /// `InvalidInput` for damaged bytes, other versions and other data.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        let plan: Self = ENVELOPE.decode(bytes)?;
        if plan.container.as_ref().is_some_and(|name| !name.ends_with(CONTAINER_SUFFIX)) {
            return Err(Error::invalid_input("these bytes are not a write plan: its folder is not next to its file"));
        }
        if plan.store.is_some() != is_address(&plan.path) {
            return Err(Error::invalid_input("these bytes are not a write plan: its path does not fit its store"));
        }
        Ok(plan)
    }
}

/// Number of stripes of new files in a folder; `None` if it is not known.
fn stripe_count(folder: &Path) -> Option<u64> {
    target_layout(folder).ok()?.components.last()?.stripe_count.map(u64::from)
}

/// Number of tasks that share one subfile. On a parallel file system 8 to 32, more if there are more tasks (the best values
/// in published measurements), and a multiple of the stripes of a file, so that each of its targets serves as many tasks. On a
/// local disk files are cheap, and writers of one file would wait for its kernel lock.
fn chosen_factor(writers: u64, parallel: bool, stripes: Option<u64>) -> u64 {
    const MAX_FACTOR: u64 = 64;
    let factor = match (parallel, writers) {
        (false, _) => return 1,
        (true, ..=1024) => 8,
        (true, ..=4096) => 16,
        (true, _) => 32,
    };
    let even = stripes.and_then(|stripes| u64::checked_next_multiple_of(factor, stripes));
    even.filter(|even| *even <= MAX_FACTOR && *even <= writers).unwrap_or(factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_writers_share_a_subfile_where_the_file_system_is_parallel() {
        assert_eq!([1, 64, 2048, 10_240].map(|writers| chosen_factor(writers, true, None)), [8, 8, 16, 32]);
        assert_eq!([1, 64, 10_240].map(|writers| chosen_factor(writers, false, Some(4))), [1, 1, 1]);
        // 36 targets, as on Edison's scratch3; more than a subfile should have; fewer writers than stripes.
        assert_eq!([(4096, 36), (4096, 248), (9, 12), (64, 3)].map(|(writers, stripes)| chosen_factor(writers, true, Some(stripes))), [36, 16, 8, 9]);
        assert_eq!(chosen_factor(64, true, Some(0)), 8);
    }
}
