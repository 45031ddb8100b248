//! Lineage: which folders of a container belong to which master. Masters are known by the commit that they name, wherever
//! they were moved or copied to, not by their own name.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use hyperslab_array::{Error, Result};
use hyperslab_storage::folder_of;

use super::commit_name::{CommitName, commit_of};
use super::record::{RECORD, Record, read_record};

/// Commits that one container may have.
const MAX_COMMITS: usize = 1 << 20;

/// The records of a master's commits in `container`, the last one first. Commits that share a folder have one record.
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

/// The container that has the commit's record: the one named after the master, or another one in the same folder where
/// the master was renamed.
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

/// The folder that holds the subfiles of a master that was not renamed; `path` is no symbolic link.
pub(crate) fn container_of(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(".d");
    path.with_file_name(name)
}

/// What the masters next to a container use of it.
#[derive(Debug, Default)]
pub(crate) struct LivingCommits {
    /// Folders of commits that a master is made of.
    pub folders: BTreeSet<String>,
    /// Folders of commits that those have replaced, and that no master is made of; the oldest first.
    pub superseded: Vec<Superseded>,
    /// Why there may be more that masters use: a file or a record that cannot be read.
    pub unknown: Option<Error>,
}

impl LivingCommits {
    /// What no master is made of; an error where that cannot be told.
    pub fn require_complete(&self) -> Result<&Self> {
        self.unknown.clone().map_or(Ok(self), Err)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Superseded {
    pub folder: String,
    /// The folder of the commit that replaced it.
    pub by: String,
}

/// Looks at every file in the folder of `container`.
pub(crate) fn living(container: &Path) -> Result<LivingCommits> {
    let parent = folder_of(container);
    let failed = |error: std::io::Error| Error::from(error).in_file(parent.display().to_string());
    let mut living = LivingCommits::default();
    let mut replaced: Vec<(CommitName, String)> = Vec::new();
    for entry in std::fs::read_dir(&parent).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        // Files under these names are still being written.
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
            // It was renamed or removed since the folder was listed.
            Err(_) if !path.exists() => {}
            Err(error) => living.unknown = Some(error),
        }
    }
    let mut seen = BTreeSet::new();
    while let Some((name, by)) = replaced.pop() {
        let mut next = Some(name);
        // Of commits that were replaced, records may be gone: then nothing is left of those before them.
        while let Some(name) = next.filter(|name| seen.insert(name.folder.clone())) {
            if !living.folders.contains(&name.folder) && container.join(&name.folder).is_dir() {
                living.superseded.push(Superseded { folder: name.folder.clone(), by: by.clone() });
            }
            let record = read_record(container, &name.folder).ok();
            replaced.extend(record.as_ref().and_then(|record| record.replaced.clone()).map(|older| (older, name.folder.clone())));
            next = record.and_then(|record| record.previous);
        }
    }
    // A record, gone or not, tells of those before it.
    living.superseded.reverse();
    Ok(living)
}
