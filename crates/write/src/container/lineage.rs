//! Lineage: which folders of a container belong to which master. Masters are known by the commit that they name, wherever
//! they were moved or copied to, not by their own name.

use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hyperslab_array::{Attribute, Datatype, Error, Result};
use hyperslab_formats::Limits;
use hyperslab_formats::hdf5::root_attributes;
use hyperslab_storage::{LocalFile, folder_of};
use serde::{Deserialize, Serialize};

use super::state::{COMMIT_ATTRIBUTE, RECORD, Record, read_record};

/// Commits that one container may have.
const MAX_COMMITS: usize = 1 << 20;

/// Which commit a master names as its last one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub(crate) struct CommitName {
    pub id: String,
    /// The folder in the container that has the commit's record: the commit's own, or that of an earlier commit whose
    /// subfile took in the rows of this one.
    pub folder: String,
}

impl CommitName {
    /// The name that this text gives; names come from files, and name folders.
    pub fn parse(text: &str) -> Option<Self> {
        let (id, folder) = text.split_once(' ').unwrap_or((text, text));
        (is_id(id) && is_id(folder)).then(|| Self { id: id.to_owned(), folder: folder.to_owned() })
    }
}

impl fmt::Display for CommitName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.id)?;
        if self.folder != self.id { write!(f, " {}", self.folder) } else { Ok(()) }
    }
}

impl From<CommitName> for String {
    fn from(name: CommitName) -> Self {
        name.to_string()
    }
}

impl TryFrom<String> for CommitName {
    type Error = String;
    fn try_from(text: String) -> std::result::Result<Self, String> {
        Self::parse(&text).ok_or_else(|| format!("{text:?} is not the name of a commit"))
    }
}

/// Whether a commit may be called so.
pub(crate) fn is_id(id: &str) -> bool {
    id.len() == 32 && id.bytes().all(|b| b.is_ascii_hexdigit())
}

/// The commit that the attributes of a master's root group name.
pub(crate) fn named_by(attributes: &[Attribute]) -> Option<CommitName> {
    let value = attributes.iter().find(|attribute| attribute.name == COMMIT_ATTRIBUTE)?.value.as_ref().ok()?;
    match value.datatype {
        Datatype::FixedString { .. } => CommitName::parse(std::str::from_utf8(value.bytes.split(|byte| *byte == 0).next()?).ok()?),
        _ => None,
    }
}

/// The commit that the file at `path` names as its last one; `None` for files that are not masters.
pub(crate) fn commit_of(path: &Path) -> Result<Option<CommitName>> {
    let attributes = root_attributes(Arc::new(LocalFile::open(path)?), &Limits::default());
    let attributes = attributes.map_err(|error| error.in_file(path.display().to_string()))?;
    Ok(attributes.and_then(|attributes| named_by(&attributes)))
}

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
pub(crate) struct Living {
    /// Folders of commits that a master is made of.
    pub folders: BTreeSet<String>,
    /// Folders of commits that those have replaced, and that no master is made of; the oldest first.
    pub superseded: Vec<Superseded>,
    /// Why there may be more that masters use: a file or a record that cannot be read.
    pub unknown: Option<Error>,
}

impl Living {
    /// What no master is made of; an error where that cannot be told.
    pub fn certain(&self) -> Result<&Self> {
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
pub(crate) fn living(container: &Path) -> Result<Living> {
    let parent = folder_of(container);
    let failed = |error: std::io::Error| Error::from(error).in_file(parent.display().to_string());
    let mut living = Living::default();
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_commits_are_text_and_back() {
        let (a, b) = ("0123456789abcdef0123456789abcdef", "fedcba9876543210fedcba9876543210");
        assert_eq!(CommitName::parse(a), Some(CommitName { id: a.to_owned(), folder: a.to_owned() }));
        let name = CommitName { id: a.to_owned(), folder: b.to_owned() };
        assert_eq!((name.to_string(), CommitName::parse(&name.to_string())), (format!("{a} {b}"), Some(name)));
        for bad in ["", "x", &a[1..], &format!("{a} .."), &format!("{a} {b} {a}"), &format!(" {a}")] {
            assert_eq!(CommitName::parse(bad), None, "{bad}");
        }
    }
}
