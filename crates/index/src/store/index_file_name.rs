//! Names of index files. A manifest may come from an untrusted source, and the files that it names are opened, copied and
//! removed: a name of any other form cannot be decoded.

use std::fmt;
use std::fs::File;
use std::path::{Path, PathBuf};

use hyperslab_storage::{UniqueName, open_regular};
use serde::{Deserialize, Serialize};

const SUFFIX: &str = ".arrow";

/// The name of an index file in its sidecar: 32 hexadecimal digits and `.arrow`. The first digit is 0 to 7 if the process that
/// wrote the file also commits it, else 8 to f.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct IndexFileName(UniqueName);

impl IndexFileName {
    /// A new name.
    pub fn generate(is_local: bool) -> Self {
        loop {
            let name = Self(UniqueName::generate());
            if name.is_local() == is_local {
                return name;
            }
        }
    }

    /// The name, if it is an index file's name.
    pub fn parse(name: &str) -> Option<Self> {
        UniqueName::parse(name.strip_suffix(SUFFIX)?).ok().map(Self)
    }

    /// Whether the process that wrote the file also commits it.
    pub fn is_local(&self) -> bool {
        self.0.starts_with(|first| ('0'..='7').contains(&first))
    }

    /// Its path in the sidecar `folder`.
    pub fn path_in(&self, folder: &Path) -> PathBuf {
        folder.join(self.to_string())
    }

    /// Opens it in the sidecar `folder`; only a regular file.
    pub fn open_in(&self, folder: &Path) -> std::io::Result<File> {
        open_regular(self.path_in(folder))
    }

    /// Removes it from the sidecar `folder`.
    pub fn remove_from(&self, folder: &Path) -> std::io::Result<()> {
        std::fs::remove_file(self.path_in(folder))
    }
}

impl fmt::Display for IndexFileName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{SUFFIX}", self.0)
    }
}

/// Where the bytes of an index file are. As text: its name, or `@` and an offset.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(crate) enum IndexFilePlace {
    /// In this file of the sidecar.
    Sidecar(IndexFileName),
    /// In the data file, from this offset on.
    Embedded(u64),
}

impl IndexFilePlace {
    /// Its name in the sidecar, if it is there.
    pub fn name(&self) -> Option<&IndexFileName> {
        match self {
            Self::Sidecar(name) => Some(name),
            Self::Embedded(_) => None,
        }
    }

    /// Its offset in the data file, if it is there.
    pub fn embedded_offset(&self) -> Option<u64> {
        match self {
            Self::Sidecar(_) => None,
            Self::Embedded(offset) => Some(*offset),
        }
    }
}

impl fmt::Display for IndexFilePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sidecar(name) => name.fmt(f),
            Self::Embedded(offset) => write!(f, "@{offset}"),
        }
    }
}

impl From<IndexFilePlace> for String {
    fn from(place: IndexFilePlace) -> Self {
        place.to_string()
    }
}

impl TryFrom<String> for IndexFilePlace {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        let offset = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok()).flatten();
        let place = match text.strip_prefix('@') {
            Some(digits) => offset(digits).map(Self::Embedded),
            None => IndexFileName::parse(&text).map(Self::Sidecar),
        };
        place.ok_or_else(|| {
            let shown: String = text.chars().take(80).flat_map(char::escape_default).collect();
            format!("an index names the index file '{shown}', which cannot belong to it")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_text_and_back_and_nothing_else_is_one() {
        let name = "0".repeat(32) + SUFFIX;
        for good in [name.as_str(), "@0", "@4096"] {
            let place = IndexFilePlace::try_from(good.to_owned());
            assert!(place.is_ok_and(|place| place.to_string() == good), "{good}");
        }
        for bad in ["", "@", "@-1", "@1x", "@99999999999999999999999", "..", "../x", "manifest.json", &name[1..], &format!("x/{name}"), &name.replace('0', "G")]
        {
            assert!(IndexFilePlace::try_from(bad.to_owned()).is_err(), "{bad}");
        }
        for is_local in [true, false] {
            let name = IndexFileName::generate(is_local);
            assert_eq!((name.is_local(), IndexFileName::parse(&name.to_string())), (is_local, Some(name)));
        }
    }
}
