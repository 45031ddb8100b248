//! An array that a definition names, and which of its elements belong to the rows.

use serde::{Deserialize, Serialize};

use super::mapping::DimensionMapping;

/// An array of a file, and the mapping of rows to its elements.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ArrayPart {
    /// Index in the list of files.
    pub(super) file: usize,
    /// Path of the dataset.
    pub(super) path: String,
    /// `None`: the whole array.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) dimensions: Option<Vec<DimensionMapping>>,
    /// The member of a compound dataset whose values are meant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) member: Option<String>,
    /// Units that count in place of the array's own attribute, such as `seconds since` a start that is stored elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) units: Option<String>,
    /// Path of a variable whose units and calendar hold for this array, too, unless it has its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) inherits: Option<String>,
    /// Whether times of 8 bytes are seconds and microseconds, which HDF5 does not say.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) timevals: bool,
}

impl ArrayPart {
    /// The whole array at `path` of the requested file.
    pub fn whole(path: impl Into<String>) -> Self {
        Self { file: 0, path: path.into(), dimensions: None, member: None, units: None, inherits: None, timevals: false }
    }

    /// Part of an array: a mapping for each of its dimensions.
    #[must_use]
    pub fn with_dimensions(self, dimensions: Vec<DimensionMapping>) -> Self {
        Self { dimensions: Some(dimensions), ..self }
    }

    /// With units in place of the array's attribute `units`: `seconds since 2024-01-01T00:00:00` makes times.
    #[must_use]
    pub fn with_units(self, units: impl Into<String>) -> Self {
        Self { units: Some(units.into()), ..self }
    }

    /// An array with the units and the calendar of the variable at `path`, unless it has its own, as bounds do (CF 7.1).
    #[must_use]
    pub fn with_units_of(self, path: impl Into<String>) -> Self {
        Self { inherits: Some(path.into()), ..self }
    }

    /// An array whose times of 8 bytes are seconds and microseconds, as in PyTables. The column has seconds.
    #[must_use]
    pub fn with_timevals(self) -> Self {
        Self { timevals: true, ..self }
    }

    /// The values of one member of a compound dataset.
    #[must_use]
    pub fn with_member(self, member: impl Into<String>) -> Self {
        Self { member: Some(member.into()), ..self }
    }
}
