//! Finds which folders of a container belong to which master. Masters are identified by the commit that they name, not by
//! their file name, so they may be moved or copied.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use hyperslab_array::{Error, Result};
use hyperslab_storage::{UniqueName, folder_of};

use super::commit_name::{CommitName, commit_of};
use super::record::{RECORD, Record, read_record};

/// Suffix of a container's name, after the name of its master.
pub(crate) const CONTAINER_SUFFIX: &str = ".d";
/// Maximum number of commits of a container.
const MAX_COMMITS: usize = 1 << 20;

/// Records of a master's commits in `container`, latest first. Commits that share a folder have one record.
pub(crate) fn records(container: &Path, last: &CommitName) -> Result<Vec<Record>> {
    let mut records: Vec<Record> = Vec::new();
    let mut seen = BTreeSet::new();
    let mut next = Some(last.clone());
    while let Some(name) = next {
        if records.len() >= MAX_COMMITS || !seen.insert(name.folder.clone()) {
            return Err(Error::corrupt(format!("commit {name} is its own predecessor")).in_file(container.display().to_string()));
        }
        let record = read_record(container, &name.folder)?;
        next = record.previous.clone();
        records.push(record);
    }
    Ok(records)
}

/// The container with the commit's record: the one named after the master, or another one in the same folder if the master
/// was renamed.
pub(crate) fn home_of(master: &Path, commit: &CommitName) -> Option<PathBuf> {
    let has = |container: &Path| container.join(&commit.folder).join(RECORD).is_file();
    let expected = container_of(master);
    if has(&expected) {
        return Some(expected);
    }
    let entries = std::fs::read_dir(folder_of(master)).ok()?;
    let containers = entries.flatten().map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|end| end == "d"));
    containers.filter(|path| has(path)).min()
}

/// The container folder of a master that was not renamed. `path` must not be a symbolic link.
pub(crate) fn container_of(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(CONTAINER_SUFFIX);
    path.with_file_name(name)
}

/// Which commits of a container are used by the masters next to it.
#[derive(Debug, Default)]
pub(crate) struct LivingCommits {
    /// Folders of commits that a master uses.
    pub folders: BTreeSet<UniqueName>,
    /// Folders of commits that used commits replaced, and that no master uses; oldest first.
    pub superseded: Vec<Superseded>,
    /// Set if masters may use more: the error of a file or record that cannot be read.
    pub unknown: Option<Error>,
}

impl LivingCommits {
    /// Returns an error if some file or record could not be read, so that unused commits are not known for certain.
    pub fn require_complete(&self) -> Result<&Self> {
        self.unknown.clone().map_or(Ok(self), Err)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Superseded {
    pub folder: UniqueName,
    /// Folder of the commit that replaced it.
    pub by: UniqueName,
}

/// Finds the used commits by reading every file in the folder of `container`.
pub(crate) fn living(container: &Path) -> Result<LivingCommits> {
    let parent = folder_of(container);
    let failed = |error: std::io::Error| Error::from(error).in_file(parent.display().to_string());
    let mut living = LivingCommits::default();
    let mut replaced: Vec<(CommitName, UniqueName)> = Vec::new();
    for entry in std::fs::read_dir(&parent).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        // Files with this suffix are still being written.
        if path.extension().is_some_and(|end| end == "part") || !path.is_file() {
            continue;
        }
        let found = commit_of(&path).and_then(|commit| {
            let Some(commit) = commit.filter(|commit| container.join(&commit.folder).is_dir()) else { return Ok(Vec::new()) };
            living.folders.insert(commit.folder.clone());
            records(container, &commit)
        });
        match found {
            Ok(records) => {
                for record in records {
                    living.folders.insert(record.id.clone());
                    replaced.extend(record.replaced.map(|name| (name, record.id)));
                }
            }
            // The file was renamed or removed after the folder was listed.
            Err(_) if !path.exists() => {}
            Err(error) => living.unknown = Some(error),
        }
    }
    let mut seen = BTreeSet::new();
    while let Some((name, by)) = replaced.pop() {
        let mut next = Some(name);
        // Records of replaced commits may be gone. Then the commits before them are gone, too.
        while let Some(name) = next.filter(|name| seen.insert(name.folder.clone())) {
            if !living.folders.contains(&name.folder) && container.join(&name.folder).is_dir() {
                living.superseded.push(Superseded { folder: name.folder.clone(), by: by.clone() });
            }
            let record = read_record(container, &name.folder).ok();
            replaced.extend(record.as_ref().and_then(|record| record.replaced.clone()).map(|older| (older, name.folder.clone())));
            next = record.and_then(|record| record.previous);
        }
    }
    // Each record leads to older ones, so reverse to get the oldest first.
    living.superseded.reverse();
    Ok(living)
}
