//! Levels of an index.

use hyperslab_array::{Error, Result};

/// How much an index stores for each block. Each level up to `Exact` includes the ones before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[expect(clippy::exhaustive_enums, reason = "each level answers other questions: a new one must be handled wherever indexes are asked")]
pub enum Level {
    /// Minimum, maximum and counts.
    Zone,
    /// Also every 64th value in sorted order: gives counts within tight bounds.
    Keys,
    /// Also the row of each value in sorted order: finds rows, and compares values at the edges of a condition with the data.
    Positions,
    /// Also the values: answers everything exactly, without the data.
    Exact,
    /// The rows of each distinct value: answers everything exactly, for columns with few distinct values.
    Bitmaps,
    /// The rows of each distinct text, or the rows of each word if a block has many: answers what words say, and leaves few
    /// rows of texts that equal another one.
    Words,
    /// The values of several datasets of one shape together, in groups of rows that are near each other: answers boxes exactly,
    /// without the data.
    Composite,
}

impl Level {
    /// Its letter in the user interface.
    pub fn letter(self) -> char {
        match self {
            Self::Zone => 'Z',
            Self::Keys => 'K',
            Self::Positions => 'P',
            Self::Exact => 'X',
            Self::Bitmaps => 'B',
            Self::Words => 'W',
            Self::Composite => 'C',
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
            "W" | "words" => Ok(Self::Words),
            "C" | "composite" => Ok(Self::Composite),
            other => Err(Error::unknown_choice("level", other, &["Z", "K", "P", "X", "B", "W", "C"])),
        }
    }
}
