//! Tidy: what plans have left that were never committed.

use std::path::Path;
use std::time::{Duration, SystemTime};

use hyperslab_array::{Error, Result};
use hyperslab_storage::{FolderLock, real_path};

use super::commit::remove_folder;
use super::folder::{is_removed, write_of};
use super::plan::container_of;
use super::state::{State, records, state_of};

/// What was removed, and what was left.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tidied {
    /// Writes whose subfiles are gone.
    pub removed: Vec<String>,
    /// Writes that were touched not long ago: somebody may be at them.
    pub young: Vec<String>,
}

/// Removes the subfiles of plans for `master` that were not committed and that nobody has touched for `age`. What the
/// last commit and those before it consist of stays; so does all where that cannot be told.
pub fn tidy(master: &Path, age: Duration) -> Result<Tidied> {
    let master = &real_path(master)?;
    let container = container_of(master);
    let shown = container.display().to_string();
    let failed = |error: std::io::Error| Error::from(error).in_file(&shown);
    let mut tidied = Tidied::default();
    if !container.exists() {
        return Ok(tidied);
    }
    let _lock = FolderLock::take(&container)?;
    let kept: Vec<String> = match state_of(master)? {
        State::Committed { id } => records(master, &id)?.into_iter().map(|record| record.id).collect(),
        State::Absent => Vec::new(),
        State::Foreign { .. } => return Err(Error::invalid_input("this is one file, not a master with subfiles").in_file(master.display().to_string())),
    };
    for entry in std::fs::read_dir(&container).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let Some(name) = write_of(&name).map(str::to_owned) else { continue };
        let removed = is_removed(&entry.path());
        if kept.contains(&name) && !removed {
            continue;
        }
        if removed || newest(&entry.path()).map_err(failed)?.elapsed().is_ok_and(|since| since >= age) {
            remove_folder(&entry.path())?;
            tidied.removed.push(name);
        } else {
            tidied.young.push(name);
        }
    }
    tidied.removed.sort();
    tidied.young.sort();
    // The folder of all commits goes with its last one.
    let _ = std::fs::remove_dir(&container);
    Ok(tidied)
}

/// When the folder or a file in it was changed last.
fn newest(folder: &Path) -> std::io::Result<SystemTime> {
    let mut newest = std::fs::metadata(folder)?.modified()?;
    for entry in std::fs::read_dir(folder)? {
        newest = newest.max(entry?.metadata()?.modified()?);
    }
    Ok(newest)
}
