//! Plan: who writes what file in parallel, as plain data for other processes and machines.

use std::path::{Path, PathBuf};

use hyperslab_array::{Error, Result};
use hyperslab_storage::{block_bytes_in, check_replaceable, folder_of, is_parallel_file_system, real_path, unique_name};
use serde::{Deserialize, Serialize};

use crate::encoding::envelope::{decode_envelope, encode_envelope};
use crate::file::allocator::checked_alignment;
use crate::file::definition::DatasetDefinition;
use crate::file::object_path::normalized_path;
use crate::file::region::Region;
use crate::shared::shared_datasets::SharedDatasets;
use super::commit_name::is_id;
use super::definitions::Definitions;
use super::lineage::{container_of, home_of};
use super::state::{State, state_of};

/// The version of the bytes; raised when their meaning changes.
const VERSION: u32 = 5;

/// What becomes of a file that is there already.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum WriteMode {
    /// There must be none.
    Create,
    /// The commit takes its place.
    Overwrite,
    /// The commit adds to it: objects, and rows of datasets that were written by rows.
    Append,
}

/// How a container is to be written. Making one touches nothing, [`WritePlan::begin`] makes a folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WritePlan {
    version: u32,
    /// Of this write and no other.
    pub(crate) id: String,
    path: String,
    /// Name of the folder beside it that holds the subfiles of all commits, if it is not `path` and `.d`: the file was renamed.
    container: Option<String>,
    pub(crate) mode: WriteMode,
    /// What was there when the plan was made: the commit changes that and nothing else.
    pub(crate) base: State,
    pub(crate) alignment: Option<u64>,
    /// Subfiles that several tasks write.
    pub(crate) sharing: Option<SharedDatasets>,
    /// Whether tasks and the commit wait for the disk.
    pub(crate) durable: bool,
    /// Whether subfiles get checksums.
    pub(crate) checksums: bool,
    /// Whether the folder of the subfiles was made with the plan, so that no task may make it.
    pub(crate) begun: bool,
    /// Whether the file and the subfiles record the order of creation.
    pub(crate) tracked: bool,
    /// Objects that no task needs to define.
    pub(crate) definitions: Definitions,
    /// What the program that made the plan says of it to its tasks.
    note: String,
}

impl WritePlan {
    /// A plan for the master file `path`, whose folder must exist; symbolic links are followed.
    pub fn new(path: &Path, mode: WriteMode, alignment: Option<u64>) -> Result<Self> {
        let shown = path.display().to_string();
        let path = &real_path(path)?;
        let folder = std::fs::canonicalize(folder_of(path)).map_err(|error| Error::from(error).in_file(&shown))?;
        let name = path.file_name().ok_or_else(|| Error::invalid_input("no name of a file").in_file(&shown))?;
        let path = folder.join(name);
        let text = path.to_str().ok_or_else(|| Error::unsupported("a path that is no UTF-8").in_file(&shown))?.to_owned();
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
        // The folder of a master that was renamed keeps its name.
        let renamed = match &base {
            State::Committed { commit } => home_of(&path, commit).filter(|home| *home != container_of(&path)),
            _ => None,
        };
        let container = renamed.as_deref().and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
        Ok(Self { version: VERSION, id: unique_name(), path: text, container, mode, base, alignment, sharing: None, durable: true, checksums: false, begun: false, tracked: false, definitions: Definitions::default(), note: String::new() })
    }

    /// Lets `writers` tasks share subfiles, for datasets that [`WritePlan::create_dataset`] adds: `factor` tasks each;
    /// `None` chooses by the file system.
    pub fn share(&mut self, writers: u64, factor: Option<u64>) -> Result<()> {
        if self.sharing.is_some() {
            return Err(Error::invalid_input("how many tasks there are was said already"));
        }
        let folder = folder_of(self.path());
        let alignment = checked_alignment(self.alignment)?.map_or_else(|| block_bytes_in(&folder), Ok)?;
        let factor = factor.unwrap_or_else(|| chosen_factor(writers, is_parallel_file_system(&folder)));
        self.sharing = Some(SharedDatasets::new(writers, factor, alignment)?);
        Ok(())
    }

    fn sharing(&self) -> Result<&SharedDatasets> {
        self.sharing.as_ref().ok_or_else(|| Error::invalid_input("a plan that does not say how many tasks write it: give writers"))
    }

    /// Tasks that write a subfile together; 1 where each has its own.
    pub fn factor(&self) -> u64 {
        self.sharing.as_ref().map_or(1, |sharing| sharing.factor)
    }

    /// Adds a dataset that all tasks write together, task `n` its part `regions[n]`, or as many rows as the others:
    /// every task has it from its beginning, in a subfile that it shares.
    pub fn create_dataset(&mut self, path: &str, definition: DatasetDefinition, regions: Option<Vec<Region>>) -> Result<()> {
        let path = normalized_path(path)?;
        if path.is_empty() {
            return Err(Error::invalid_input("a dataset without a name"));
        }
        self.sharing()?;
        let sharing = self.sharing.as_mut().ok_or_else(|| Error::internal("a plan that shares nothing"))?;
        sharing.add(&path, definition, regions).map_err(|error| error.at_object(format!("/{path}")))
    }

    /// What goes with the plan to its tasks, for programs to read.
    pub fn note(&self) -> &str {
        &self.note
    }

    /// Sets what [`WritePlan::note`] gives.
    pub fn set_note(&mut self, note: String) {
        self.note = note;
    }

    /// The objects that the plan has itself.
    pub fn definitions(&mut self) -> &mut Definitions {
        &mut self.definitions
    }

    /// Which part of a dataset of the plan a task writes.
    pub fn region(&self, path: &str, task: u64) -> Result<Region> {
        let sharing = self.sharing()?;
        sharing.group_of(task)?;
        sharing.region(&normalized_path(path)?, task)
    }

    /// Leaves it to the operating system when the bytes get to the disk. Readers see all or nothing all the same,
    /// whoever is killed; after a power cut the last commits may be damaged.
    pub fn without_sync(&mut self) {
        self.durable = false;
    }

    /// Whether tasks and the commit wait for the disk.
    pub fn is_durable(&self) -> bool {
        self.durable
    }

    /// Records the order in which attributes and the members of groups were created, in the file and in each subfile:
    /// what the first task defines comes first, in its order.
    pub fn track_order(&mut self) {
        self.tracked = true;
    }

    /// Records checksums of all bytes of all subfiles, for [`crate::maintenance::verify`].
    pub fn with_checksums(&mut self) {
        self.checksums = true;
    }

    /// The master file.
    pub fn path(&self) -> &Path {
        Path::new(&self.path)
    }

    /// The folder beside it that holds the subfiles of all commits.
    pub(crate) fn container(&self) -> PathBuf {
        match &self.container {
            Some(name) => self.path().with_file_name(name),
            None => container_of(self.path()),
        }
    }

    /// The folder in that, that holds the subfiles of this one.
    pub(crate) fn folder(&self) -> PathBuf {
        self.container().join(&self.id)
    }

    /// What identifies this write.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Versioned bytes (JSON, and a checksum behind).
    pub fn encode(&self) -> Result<Vec<u8>> {
        serde_json::to_vec(self).map(encode_envelope).map_err(|e| Error::internal(format!("cannot encode a plan: {e}")))
    }

    /// The plan of [`WritePlan::encode`].
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        let body = decode_envelope(bytes, VERSION, "write plan")?;
        let plan: Self = serde_json::from_slice(body).map_err(|e| Error::invalid_input(format!("these bytes are no write plan: {e}")))?;
        // The id names the folder that `abort` removes.
        if !is_id(&plan.id) {
            return Err(Error::invalid_input("these bytes are no write plan: its id is not 32 hexadecimal digits"));
        }
        if plan.container.as_ref().is_some_and(|name| name.contains('/') || !name.ends_with(".d")) {
            return Err(Error::invalid_input("these bytes are no write plan: its folder is not beside its file"));
        }
        Ok(plan)
    }
}

/// How many tasks write one subfile. On a parallel file system the paper's best, 8 to 32, more where there are more;
/// on a local disk a file costs little, and all who write one wait for its lock in the kernel.
fn chosen_factor(writers: u64, parallel: bool) -> u64 {
    match (parallel, writers) {
        (false, _) => 1,
        (true, ..=1024) => 8,
        (true, ..=4096) => 16,
        (true, _) => 32,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_writers_share_a_subfile_where_the_file_system_is_parallel() {
        assert_eq!([1, 64, 2048, 10_240].map(|writers| chosen_factor(writers, true)), [8, 8, 16, 32]);
        assert_eq!([1, 64, 10_240].map(|writers| chosen_factor(writers, false)), [1, 1, 1]);
    }
}
