//! Names of entries of a folder. Names that come from files of others are joined to a folder and then opened, copied or
//! removed, so they are types that cannot hold a path.

use std::fmt;
use std::fs::File;
use std::ops::Deref;
use std::path::{Path, PathBuf};

use hyperslab_array::{Error, Result};
use serde::{Deserialize, Serialize};

use crate::local::open_regular;
use crate::temporary_name::unique_name;

/// Longest name of common file systems, in bytes.
const MAX_NAME_BYTES: usize = 255;

/// The name of a file or folder inside of another folder: one part of a path, and neither `.` nor `..`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct EntryName(String);

impl EntryName {
    /// Checks a name. `InvalidInput` if it is empty, longer than 255 bytes, `.` or `..`, or has a slash or a zero byte.
    pub fn parse(name: &str) -> Result<Self> {
        let is_part = !name.is_empty() && name.len() <= MAX_NAME_BYTES && !name.contains(['/', '\0']) && name != "." && name != "..";
        if is_part { Ok(Self(name.to_owned())) } else { Err(refused(name, "the name of a file in a folder")) }
    }

    /// A name that this crate makes, of letters and digits.
    pub(crate) fn of_ours(name: &str) -> Self {
        debug_assert!(!name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'.') && !name.starts_with('.'));
        Self(name.to_owned())
    }

    /// Its path in `folder`.
    pub fn path_in(&self, folder: &Path) -> PathBuf {
        folder.join(&self.0)
    }

    /// Opens the file of this name in `folder` for reading. A symbolic link, a pipe and a device are errors.
    pub fn open_in(&self, folder: &Path) -> std::io::Result<File> {
        open_regular(self.path_in(folder))
    }

    /// Removes the file of this name from `folder`; a symbolic link itself, not its target.
    pub fn remove_from(&self, folder: &Path) -> std::io::Result<()> {
        std::fs::remove_file(self.path_in(folder))
    }
}

/// A name that is unique across calls, processes and machines: 32 lowercase hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct UniqueName(String);

impl UniqueName {
    /// A new name.
    pub fn generate() -> Self {
        Self(unique_name())
    }

    /// Checks a name. `InvalidInput` for anything but 32 lowercase hexadecimal digits.
    pub fn parse(name: &str) -> Result<Self> {
        let is_unique = name.len() == 32 && name.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        if is_unique { Ok(Self(name.to_owned())) } else { Err(refused(name, "32 hexadecimal digits")) }
    }

    /// Its first `count` digits, at most 32.
    pub fn prefix(&self, count: usize) -> &str {
        self.0.get(..count).unwrap_or(&self.0)
    }
}

/// The error for a text that is not such a name; it may come from a file of others, so that only its beginning is shown.
fn refused(name: &str, wanted: &str) -> Error {
    let shown: String = name.chars().take(80).flat_map(char::escape_default).collect();
    Error::invalid_input(format!("'{shown}' is not {wanted}"))
}

macro_rules! is_text {
    ($name:ident) => {
        impl Deref for $name {
            type Target = str;
            fn deref(&self) -> &str {
                &self.0
            }
        }
        impl AsRef<Path> for $name {
            fn as_ref(&self) -> &Path {
                Path::new(&self.0)
            }
        }
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
        impl TryFrom<String> for $name {
            type Error = String;
            fn try_from(name: String) -> std::result::Result<Self, String> {
                Self::parse(&name).map_err(|error| error.message().to_owned())
            }
        }
        impl From<$name> for String {
            fn from(name: $name) -> Self {
                name.0
            }
        }
        impl PartialEq<str> for $name {
            fn eq(&self, other: &str) -> bool {
                self.0 == other
            }
        }
        impl PartialEq<&str> for $name {
            fn eq(&self, other: &&str) -> bool {
                self.0 == *other
            }
        }
    };
}
is_text!(EntryName);
is_text!(UniqueName);

impl From<UniqueName> for EntryName {
    fn from(name: UniqueName) -> Self {
        Self(name.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_leads_nowhere_but_into_its_folder() {
        for bad in ["", ".", "..", "/", "/etc/passwd", "../x", "a/b", "a/", "a\0b", &"x".repeat(256)] {
            assert!(EntryName::parse(bad).is_err(), "{bad:?}");
            assert!(serde_json::from_value::<EntryName>(serde_json::Value::from(bad)).is_err());
            assert!(UniqueName::parse(bad).is_err());
        }
        let digits = "0123456789abcdef0123456789abcdef";
        for bad in [&digits[1..], &digits.to_uppercase(), &digits.replace('a', "g")] {
            assert!(UniqueName::parse(bad).is_err(), "{bad}");
        }
        for good in ["x", "...", ".x", "a b", "ä", digits] {
            assert!(EntryName::parse(good).is_ok_and(|name| name.path_in(Path::new("/f")).parent() == Some(Path::new("/f"))), "{good}");
        }
        assert!(UniqueName::parse(digits).is_ok_and(|name| name == digits && name.prefix(8) == "01234567"));
        assert!(UniqueName::parse(&UniqueName::generate()).is_ok());
    }

    #[test]
    fn a_name_opens_regular_files_only_and_removes_no_target() -> std::io::Result<()> {
        let folder = tempfile::tempdir()?;
        let (far, link) = (folder.path().join("far"), EntryName("link".to_owned()));
        std::fs::write(&far, b"precious")?;
        std::os::unix::fs::symlink(&far, link.path_in(folder.path()))?;
        assert!(link.open_in(folder.path()).is_err());
        assert!(EntryName("far".to_owned()).open_in(folder.path()).is_ok());
        link.remove_from(folder.path())?;
        assert_eq!(std::fs::read(&far)?, b"precious");
        Ok(())
    }
}
