//! State: what a master file is before and after a commit, and the record that each commit leaves.

use std::path::Path;

use hyperslab_array::{Datatype, Error, ErrorKind, Result};
use serde::{Deserialize, Serialize};

use super::plan::{check_version, container_of};
use crate::{File, ObjectId, PathPolicy, Session, SessionOptions};

/// The attribute of a master's root group that names its last commit.
pub const COMMIT_ATTRIBUTE: &str = "_hyperslab_commit";
/// The attribute of a subfile's root group that names its write and task.
pub(super) const SUBFILE_ATTRIBUTE: &str = "_hyperslab_task";
/// The record of a commit, in its folder.
pub(super) const RECORD: &str = "commit.json";
const VERSION: u32 = 1;

/// What there is at a master's place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum State {
    /// No file.
    Absent,
    /// A master, by its last commit.
    Committed { id: String },
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
    pub(super) fn label(&self, write_id: &str) -> String {
        if self.tasks.is_empty() { format!("{write_id} {}", self.task) } else { format!("{write_id} {}", self.name) }
    }
}

/// What a commit consists of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Record {
    version: u32,
    pub id: String,
    /// The commit before this one, that this one adds to.
    pub previous: Option<String>,
    pub subfiles: Vec<SubfileRecord>,
}

impl Record {
    pub fn new(id: &str, previous: Option<String>, subfiles: Vec<SubfileRecord>) -> Self {
        Self { version: VERSION, id: id.to_owned(), previous, subfiles }
    }
    pub fn encode(&self) -> Result<Vec<u8>> {
        serde_json::to_vec_pretty(self).map_err(|e| Error::internal(format!("cannot encode a commit: {e}")))
    }
}

/// Whether a commit is called so; names come from files, and name folders.
pub(super) fn is_id(id: &str) -> bool {
    id.len() == 32 && id.bytes().all(|b| b.is_ascii_hexdigit())
}

/// The records of a master's commits, the last one first.
pub(super) fn records(master: &Path, last: &str) -> Result<Vec<Record>> {
    /// Commits that one container may have.
    const MOST: usize = 1 << 20;
    let mut records = Vec::new();
    let mut next = Some(last.to_owned());
    while let Some(id) = next {
        if !is_id(&id) || records.len() >= MOST || records.iter().any(|record: &Record| record.id == id) {
            return Err(Error::corrupt(format!("{id:?} as a commit of this file")).in_file(master.display().to_string()));
        }
        let place = container_of(master).join(&id).join(RECORD);
        let shown = place.display().to_string();
        let bytes = std::fs::read(&place).map_err(|error| Error::from(error).in_file(&shown))?;
        check_version(&bytes, VERSION, "record of a commit").map_err(|error| error.in_file(&shown))?;
        let record: Record = serde_json::from_slice(&bytes).map_err(|e| Error::corrupt(format!("no record of a commit: {e}")).in_file(&shown))?;
        if record.id != id {
            return Err(Error::corrupt(format!("the record of commit {} where that of {id} belongs", record.id)).in_file(&shown));
        }
        next = record.previous.clone();
        records.push(record);
    }
    Ok(records)
}

/// A session for a container's own files.
pub(super) fn reading_session() -> Result<Session> {
    Session::new(SessionOptions { paths: PathPolicy::SameFolder, interpretation: crate::Interpretation::Hdf5, ..SessionOptions::default() })
}

/// The text of an attribute of the root group, if it is text of one element.
pub(super) fn root_text(file: &File, name: &str) -> Option<String> {
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
pub(super) fn state_of(path: &Path) -> Result<State> {
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
    let id = match reading_session()?.open(path) {
        Ok(file) => root_text(&file, COMMIT_ATTRIBUTE),
        // A file that we cannot read can be written over, but not added to.
        Err(error) if error.kind() == ErrorKind::Io => return Err(error),
        Err(_) => None,
    };
    Ok(id.filter(|id| is_id(id)).map_or(foreign, |id| State::Committed { id }))
}
