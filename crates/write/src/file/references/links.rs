//! Links: additional names of objects, in the same file or in another.

use hyperslab_array::{Error, Result};
use serde::{Deserialize, Serialize};

use super::object_path::normalized_path;

/// Target of a link.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[expect(clippy::exhaustive_enums, reason = "HDF5 has no other links that can be written")]
pub enum Link {
    /// Another name for the object at this path in the same file.
    Hard(String),
    /// A path in the same file, absolute or relative to the link's group.
    Soft(String),
    /// A path in another file.
    External {
        /// Path of the other file; relative paths start at the folder of this file.
        file: String,
        /// Path of the object in that file.
        path: String,
    },
}

impl Link {
    /// Checks that the link can be stored; normalizes the path of a hard link.
    pub(crate) fn checked(self) -> Result<Self> {
        let (link, texts) = match self {
            Self::Hard(path) => return Ok(Self::Hard(normalized_path(&path)?)),
            Self::Soft(path) => (Self::Soft(path.clone()), [path, ".".to_owned()]),
            Self::External { file, path } => (Self::External { file: file.clone(), path: path.clone() }, [file, path]),
        };
        if texts.iter().any(|text| text.is_empty() || text.contains('\0')) {
            return Err(Error::invalid_input("a link to an empty name, or to one with a NUL"));
        }
        Ok(link)
    }
}

impl std::fmt::Display for Link {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Hard(path) => write!(f, "a hard link to '/{path}'"),
            Self::Soft(path) => write!(f, "a soft link to '{path}'"),
            Self::External { file, path } => write!(f, "a link to '{path}' in '{file}'"),
        }
    }
}
