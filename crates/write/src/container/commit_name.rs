//! Names of commits, and how to find the last one of a master.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use hyperslab_array::{Attribute, Datatype, Result};
use hyperslab_formats::Limits;
use hyperslab_formats::hdf5::root_attributes;
use hyperslab_storage::{LocalFile, UniqueName};
use serde::{Deserialize, Serialize};

use crate::file::reserved_attributes::COMMIT_ATTRIBUTE;

/// Name of a commit, as masters store it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub(crate) struct CommitName {
    pub id: UniqueName,
    /// The folder in the container with the commit's record: the commit's own, or the folder of an earlier commit whose tail took
    /// the rows of this one.
    pub folder: UniqueName,
}

impl CommitName {
    /// Parses a name; `None` for any other text.
    pub fn parse(text: &str) -> Option<Self> {
        let (id, folder) = text.split_once(' ').unwrap_or((text, text));
        Some(Self { id: UniqueName::parse(id).ok()?, folder: UniqueName::parse(folder).ok()? })
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

/// The last commit according to the attributes of a master's root group.
pub(crate) fn commit_named_in(attributes: &[Attribute]) -> Option<CommitName> {
    let value = attributes.iter().find(|attribute| attribute.name == COMMIT_ATTRIBUTE)?.value.as_ref().ok()?;
    match value.datatype {
        Datatype::FixedString { .. } => CommitName::parse(std::str::from_utf8(value.bytes.split(|byte| *byte == 0).next()?).ok()?),
        _ => None,
    }
}

/// The last commit of the master at `path`; `None` if the file is not a master.
pub(crate) fn commit_of(path: &Path) -> Result<Option<CommitName>> {
    let attributes = root_attributes(Arc::new(LocalFile::open(path)?), &Limits::default());
    let attributes = attributes.map_err(|error| error.in_file(path.display().to_string()))?;
    Ok(attributes.and_then(|attributes| commit_named_in(&attributes)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_commits_are_text_and_back() {
        let (a, b) = ("0123456789abcdef0123456789abcdef", "fedcba9876543210fedcba9876543210");
        assert!(CommitName::parse(a).is_some_and(|name| name.id == a && name.folder == a && name.to_string() == a));
        let name = format!("{a} {b}");
        assert!(CommitName::parse(&name).is_some_and(|found| found.id == a && found.folder == b && found.to_string() == name));
        for bad in ["", "x", &a[1..], &format!("{a} .."), &format!("{a} {b} {a}"), &format!(" {a}")] {
            assert_eq!(CommitName::parse(bad), None, "{bad}");
        }
    }
}
