//! Plan: who writes what file in parallel, as plain data for other processes and machines.

use std::path::{Path, PathBuf};

use hyperslab_array::{Error, Result};
use hyperslab_storage::{folder_of, unique_name};
use serde::{Deserialize, Serialize};

use super::state::{State, state_of};
use super::task::Task;
use crate::Session;

/// The version of the bytes; raised when their meaning changes.
const VERSION: u32 = 1;

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

/// How a container is to be written. Making one touches nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WritePlan {
    version: u32,
    /// Of this write and no other.
    pub(super) id: String,
    path: String,
    pub(super) mode: WriteMode,
    /// What was there when the plan was made: the commit changes that and nothing else.
    pub(super) base: State,
    pub(super) alignment: Option<u64>,
}

impl WritePlan {
    /// A plan for the master file `path`, whose folder must exist.
    pub fn new(path: &Path, mode: WriteMode, alignment: Option<u64>) -> Result<Self> {
        let shown = path.display().to_string();
        let folder = std::fs::canonicalize(folder_of(path)).map_err(|error| Error::from(error).in_file(&shown))?;
        let name = path.file_name().ok_or_else(|| Error::invalid_input("no name of a file").in_file(&shown))?;
        let path = folder.join(name);
        let text = path.to_str().ok_or_else(|| Error::unsupported("a path that is no UTF-8").in_file(&shown))?.to_owned();
        let base = state_of(&path)?;
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
        Ok(Self { version: VERSION, id: unique_name(), path: text, mode, base, alignment })
    }

    /// The master file.
    pub fn path(&self) -> &Path {
        Path::new(&self.path)
    }

    /// The folder beside it that holds the subfiles of all commits.
    pub(super) fn container(&self) -> PathBuf {
        container_of(self.path())
    }

    /// The folder in that, that holds the subfiles of this one.
    pub(super) fn folder(&self) -> PathBuf {
        self.container().join(&self.id)
    }

    /// What identifies this write.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Begins the task with this number, or another attempt at it: a subfile of its own. Rows that tasks
    /// append follow each other in the order of the numbers.
    pub fn task(&self, number: u64, session: &Session) -> Result<Task> {
        Task::begin(self, number, session)
    }

    /// Versioned bytes (JSON).
    pub fn encode(&self) -> Result<Vec<u8>> {
        serde_json::to_vec(self).map_err(|e| Error::internal(format!("cannot encode a plan: {e}")))
    }

    /// The plan of [`WritePlan::encode`].
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        check_version(bytes, VERSION, "write plan")?;
        serde_json::from_slice(bytes).map_err(|e| Error::invalid_input(format!("these bytes are no write plan: {e}")))
    }
}

/// The folder that holds the subfiles of a master.
pub(super) fn container_of(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(".d");
    path.with_file_name(name)
}

/// Refuses bytes of another version or of something else.
pub(super) fn check_version(bytes: &[u8], known: u32, what: &str) -> Result<()> {
    #[derive(Deserialize)]
    struct Version {
        version: u32,
    }
    let Version { version } =
        serde_json::from_slice(bytes).map_err(|e| Error::invalid_input(format!("these bytes are no {what}: {e}")))?;
    if version == known {
        return Ok(());
    }
    Err(Error::invalid_input(format!("this {what} has version {version}, this release knows {known}: use one release throughout")))
}
