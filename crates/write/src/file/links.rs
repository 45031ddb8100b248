//! Links: names for an object that has another name, or that is in another file.

use hyperslab_array::{Error, Result};
use serde::{Deserialize, Serialize};

use super::object_path::normalized_path;

/// Where a link leads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Link {
    /// To the object of this path in the same file, which has one name more.
    Hard(String),
    /// To a path of the same file, absolute or relative to the link's group.
    Soft(String),
    /// To a path of another file.
    External {
        /// The other file, relative to the folder of this one unless absolute.
        file: String,
        /// The path in it.
        path: String,
    },
}

impl Link {
    /// The same if it can be stored; the target of a hard link without slashes around it.
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
