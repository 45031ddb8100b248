//! Trust: whose indexes a session uses. Queries believe an index and do not read the data, so its author decides what they return.

use std::str::FromStr;

use hyperslab_array::{Error, Result};

/// Which indexes a session uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum IndexTrust {
    /// No index: everything is read from the data.
    None,
    /// Indexes that this user built, which their seals show, and those in the folder that was given for indexes.
    #[default]
    Own,
    /// All indexes, no matter who built them.
    Any,
}

impl FromStr for IndexTrust {
    type Err = Error;

    /// `none`, `own` or `any`.
    fn from_str(word: &str) -> Result<Self> {
        match word {
            "none" => Ok(Self::None),
            "own" => Ok(Self::Own),
            "any" => Ok(Self::Any),
            other => Err(Error::unknown_choice("indexes", other, &["own", "any", "none"])),
        }
    }
}
