//! What a caller wants indexed.

use hyperslab_array::{Error, Result};

use crate::scan::pruner::Level;

/// Datasets to index.
#[derive(Debug, Clone, Default)]
pub struct IndexRequest {
    /// Paths of datasets, or of groups for all datasets in them. `*` and `?` are wildcards within a part.
    pub datasets: Vec<String>,
    /// How much to know; `None` picks a level for each dataset.
    pub level: Option<Level>,
    /// Whether values are indexed as stored, without netCDF conventions.
    pub raw: bool,
    /// One sidecar for the files of a folder, rather than one beside each file.
    pub together: bool,
    /// Builds all anew, also what is valid.
    pub anew: bool,
}

impl std::str::FromStr for Level {
    type Err = Error;

    /// The level called `word`: its letter or its name.
    fn from_str(word: &str) -> Result<Self> {
        match word {
            "Z" | "zone" => Ok(Self::Zone),
            "K" | "keys" => Ok(Self::Keys),
            "P" | "positions" => Ok(Self::Positions),
            "X" | "exact" => Ok(Self::Exact),
            "B" | "bitmaps" => Ok(Self::Bitmaps),
            other => Err(Error::invalid_input(format!("level {other:?} is none of Z, K, P, X, B"))),
        }
    }
}

impl Level {
    /// Its letter.
    pub fn letter(self) -> char {
        match self {
            Self::Zone => 'Z',
            Self::Keys => 'K',
            Self::Positions => 'P',
            Self::Exact => 'X',
            Self::Bitmaps => 'B',
        }
    }
}
