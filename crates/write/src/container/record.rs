//! The record that each commit writes into its folder.

use std::path::Path;

use hyperslab_array::{Envelope, Error, Result};
use hyperslab_storage::{EntryName, UniqueName};
use serde::{Deserialize, Serialize};

use super::commit_name::CommitName;

/// File name of a commit's record.
pub(crate) const RECORD: &str = "commit.json";

/// A record is JSON without a checksum, so that it can be read and repaired by hand.
const ENVELOPE: Envelope = Envelope::new("a record of a commit", 1);

/// A subfile of a commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SubfileRecord {
    /// File name in the commit's folder.
    pub name: EntryName,
    /// Length in bytes.
    pub bytes: u64,
    /// Index of the task that wrote it, or of the first of several.
    pub task: u64,
    /// Indexes of all tasks that wrote it together; empty if only one did.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<u64>,
    /// CRC-32 of each 16 MiB, if the plan asked for checksums.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checksums: Option<Vec<u32>>,
}

impl SubfileRecord {
    /// The record of a subfile that several tasks wrote.
    pub(crate) fn of_tasks(name: EntryName, bytes: u64, tasks: Vec<u64>, checksums: Option<Vec<u32>>) -> Result<Self> {
        let task = *tasks.first().ok_or_else(|| Error::internal("a subfile that no task wrote"))?;
        Ok(Self { name, bytes, task, tasks, checksums })
    }

    /// Value of the subfile's own label attribute.
    pub(crate) fn label(&self, write_id: &str) -> String {
        if self.tasks.is_empty() { format!("{write_id} {}", self.task) } else { format!("{write_id} {}", self.name) }
    }
}

/// The subfiles and predecessors of a commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Record {
    version: u32,
    pub id: UniqueName,
    /// The previous commit, if this one adds to it.
    pub previous: Option<CommitName>,
    /// The previous commit, if this one replaced it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaced: Option<CommitName>,
    pub subfiles: Vec<SubfileRecord>,
}

impl Record {
    pub fn new(id: &UniqueName, previous: Option<CommitName>, replaced: Option<CommitName>, subfiles: Vec<SubfileRecord>) -> Self {
        Self { version: ENVELOPE.version(), id: id.clone(), previous, replaced, subfiles }
    }
    pub fn encode(&self) -> Result<Vec<u8>> {
        serde_json::to_vec_pretty(self).map_err(|e| Error::internal(format!("cannot encode a commit: {e}")))
    }
}

/// Reads the record in a folder of `container`.
pub(crate) fn read_record(container: &Path, folder: &UniqueName) -> Result<Record> {
    let place = container.join(folder).join(RECORD);
    let shown = place.display().to_string();
    let bytes = std::fs::read(&place).map_err(|error| Error::from(error).in_file(&shown))?;
    parse_record(&bytes, folder, &shown)
}

/// Parses the record of the commit of `folder`; `shown` is its place in messages.
pub(crate) fn parse_record(bytes: &[u8], folder: &UniqueName, shown: &str) -> Result<Record> {
    ENVELOPE.check_version(bytes).map_err(|error| error.in_file(shown))?;
    let record: Record = serde_json::from_slice(bytes).map_err(|e| Error::corrupt(format!("not a record of a commit: {e}")).in_file(shown))?;
    if record.id != *folder {
        return Err(Error::corrupt(format!("the folder of commit {folder} has the record of commit {}", record.id)).in_file(shown));
    }
    Ok(record)
}
