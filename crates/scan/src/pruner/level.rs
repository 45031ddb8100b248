//! Levels of an index.

use hyperslab_array::{Error, Result};

/// How much an index knows of each block; more includes less.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub enum Level {
    /// Least and greatest value, counts.
    Zone,
    /// And every 64th value in order: counts within tight bounds.
    Keys,
    /// And where each value in order lies: positions, values at the edges tested against the data.
    Positions,
    /// And the values: everything exactly, without the data.
    Exact,
    /// Where each distinct value lies: everything exactly, for columns of few distinct values.
    Bitmaps,
}

impl Level {
    /// The letter that names it to users.
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
