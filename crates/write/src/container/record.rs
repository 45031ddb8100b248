//! The record that each commit leaves in its folder.

use std::path::Path;

use hyperslab_array::{Error, Result};
use serde::{Deserialize, Serialize};

use crate::encoding::envelope::check_version;
use super::commit_name::CommitName;

/// The record of a commit, in its folder.
pub(crate) const RECORD: &str = "commit.json";

const VERSION: u32 = 1;

/// A subfile of a commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubfileRecord {
    /// Name in the commit's folder.
    pub name: String,
    /// Its length.
    pub bytes: u64,
    /// The task that wrote it, or the first of several.
    pub task: u64,
    /// All tasks that wrote it together; none where it is one task's own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<u64>,
    /// CRC-32 of each 16 MiB, where the plan asked for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checksums: Option<Vec<u32>>,
}

impl SubfileRecord {
    /// The record of a subfile that several tasks wrote.
    pub(crate) fn of_tasks(name: String, bytes: u64, tasks: Vec<u64>, checksums: Option<Vec<u32>>) -> Result<Self> {
        let task = *tasks.first().ok_or_else(|| Error::internal("a subfile that no task wrote"))?;
        Ok(Self { name, bytes, task, tasks, checksums })
    }

    /// What the subfile says of itself.
    pub(crate) fn label(&self, write_id: &str) -> String {
        if self.tasks.is_empty() { format!("{write_id} {}", self.task) } else { format!("{write_id} {}", self.name) }
    }
}

/// What a commit consists of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Record {
    version: u32,
    pub id: String,
    /// The commit before this one, that this one adds to.
    pub previous: Option<CommitName>,
    /// The commit before this one, whose place this one took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaced: Option<CommitName>,
    pub subfiles: Vec<SubfileRecord>,
}

impl Record {
    pub fn new(id: &str, previous: Option<CommitName>, replaced: Option<CommitName>, subfiles: Vec<SubfileRecord>) -> Self {
        Self { version: VERSION, id: id.to_owned(), previous, replaced, subfiles }
    }
    pub fn encode(&self) -> Result<Vec<u8>> {
        serde_json::to_vec_pretty(self).map_err(|e| Error::internal(format!("cannot encode a commit: {e}")))
    }
}

/// The record in a folder of `container`.
pub(crate) fn read_record(container: &Path, folder: &str) -> Result<Record> {
    let place = container.join(folder).join(RECORD);
    let shown = place.display().to_string();
    let bytes = std::fs::read(&place).map_err(|error| Error::from(error).in_file(&shown))?;
    check_version(&bytes, VERSION, "record of a commit").map_err(|error| error.in_file(&shown))?;
    let record: Record = serde_json::from_slice(&bytes).map_err(|e| Error::corrupt(format!("no record of a commit: {e}")).in_file(&shown))?;
    if record.id != folder {
        return Err(Error::corrupt(format!("the record of commit {} where that of {folder} belongs", record.id)).in_file(&shown));
    }
    Ok(record)
}
