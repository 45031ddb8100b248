//! The state of a master file: what a plan was made for, and what a commit checks.

use std::path::Path;

use hyperslab_array::{Datatype, Error, ErrorKind, Result};
use hyperslab_reader::File;
use serde::{Deserialize, Serialize};

use super::commit_name::{CommitName, commit_of};

/// What exists at the path of a master.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum State {
    /// No file.
    Absent,
    /// A master, identified by its last commit.
    Committed { commit: CommitName },
    /// Another file, identified by its length and modification time.
    Foreign { bytes: u64, modified_nanos: u128 },
}

/// The value of an attribute of the root group, if it is a fixed-length string.
pub(crate) fn root_text(file: &File, name: &str) -> Option<String> {
    let root = file.attributes(file.root()).ok()?;
    let value = root.get(name)?.value.as_ref().ok()?;
    match value.datatype {
        Datatype::FixedString { .. } => {
            let text = value.bytes.split(|byte| *byte == 0).next()?;
            String::from_utf8(text.to_vec()).ok()
        }
        _ => None,
    }
}

/// The current state of the file at `path`.
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
        // A file that is not readable can be overwritten, but not appended to.
        Err(error) if error.kind() == ErrorKind::Io => return Err(error),
        found => found.unwrap_or(None),
    };
    Ok(commit.map_or(foreign, |commit| State::Committed { commit }))
}
