//! State: what a master file is before and after a commit, and the record that each commit leaves.

use std::path::Path;

use hyperslab_array::{Datatype, Error, ErrorKind, Result};
use hyperslab_formats::ObjectId;
use hyperslab_reader::{File, PathPolicy, Session, SessionOptions};
use serde::{Deserialize, Serialize};

use super::lineage::{CommitName, commit_of};
use super::plan::check_version;

/// The attribute of a master's root group that names its last commit.
pub const COMMIT_ATTRIBUTE: &str = "_hyperslab_commit";
/// The attribute of a subfile's root group that names its write and task.
pub(crate) const SUBFILE_ATTRIBUTE: &str = "_hyperslab_task";
/// The record of a commit, in its folder.
pub(crate) const RECORD: &str = "commit.json";
const VERSION: u32 = 1;

/// What there is at a master's place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum State {
    /// No file.
    Absent,
    /// A master, by its last commit.
    Committed { commit: CommitName },
    /// Some other file, by its length and time.
    Foreign { bytes: u64, modified_nanos: u128 },
}

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

/// A session for a container's own files.
pub(crate) fn reading_session() -> Result<Session> {
    Session::new(SessionOptions { paths: PathPolicy::SameFolder, interpretation: hyperslab_formats::Interpretation::Hdf5, ..SessionOptions::default() })
}

/// The text of an attribute of the root group, if it is text of one element.
pub(crate) fn root_text(file: &File, name: &str) -> Option<String> {
    let root = file.object(ObjectId(0)).ok()?;
    let value = root.attributes.iter().find(|attribute| attribute.name == name)?.value.as_ref().ok()?;
    match value.datatype {
        Datatype::FixedString { .. } => {
            let text = value.bytes.split(|byte| *byte == 0).next()?;
            String::from_utf8(text.to_vec()).ok()
        }
        _ => None,
    }
}

/// What there is at `path` now.
pub(crate) fn state_of(path: &Path) -> Result<State> {
    let shown = || path.display().to_string();
    let metadata = match std::fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(State::Absent),
        Err(error) => return Err(Error::from(error).in_file(shown())),
    };
    if metadata.is_dir() {
        return Err(Error::invalid_input("this is a folder, not a file").in_file(shown()));
    }
    let modified = metadata.modified().ok().and_then(|at| at.duration_since(std::time::UNIX_EPOCH).ok());
    let foreign = State::Foreign { bytes: metadata.len(), modified_nanos: modified.map_or(0, |at| at.as_nanos()) };
    let commit = match commit_of(path) {
        // A file that we cannot read can be written over, but not added to.
        Err(error) if error.kind() == ErrorKind::Io => return Err(error),
        found => found.unwrap_or(None),
    };
    Ok(commit.map_or(foreign, |commit| State::Committed { commit }))
}
