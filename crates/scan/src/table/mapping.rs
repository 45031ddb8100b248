//! Mapping: which element of a dataset belongs to a row.
#![expect(clippy::exhaustive_enums, clippy::exhaustive_structs, reason = "mappings are made by queries, too")]

use hyperslab_array::{Axis, Error, Result};
use hyperslab_reader::File;

/// Maps a segment's rows to elements of a dataset.
#[derive(Clone)]
pub struct RowMapping {
    /// The file that holds the dataset.
    pub file: File,
    /// One for each dimension of the dataset.
    pub dimensions: Vec<DimensionMapping>,
}

/// Maps rows to indexes along one dimension of a dataset.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DimensionMapping {
    /// The same index for all rows.
    Fixed(u64),
    /// The next row dimension, from index `start` on, in steps of `step`.
    Rows {
        /// Index in the dataset of row index 0.
        start: u64,
        /// Distance in the dataset between adjacent row indexes.
        step: u64,
    },
}

impl std::fmt::Debug for RowMapping {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{:?} of {}", self.dimensions, self.file.name())
    }
}

impl RowMapping {
    /// The axes of the dataset for `rows`, axes of the segment.
    ///
    /// # Errors
    /// `Internal` if `rows` has fewer dimensions than the mapping, or leads beyond 64 bits.
    pub fn axes(&self, rows: &[Axis]) -> Result<Vec<Axis>> {
        let mut rows = rows.iter();
        let axes = self.dimensions.iter().map(|dimension| match dimension {
            DimensionMapping::Fixed(index) => Ok(Axis::range(*index, index.saturating_add(1))),
            DimensionMapping::Rows { start, step } => {
                let axis = rows.next().ok_or_else(|| Error::internal("a mapping of fewer dimensions than its rows"))?;
                let mapped = |index: u64| index.checked_mul(*step).and_then(|offset| offset.checked_add(*start));
                let beyond = || Error::internal("a mapped index beyond 64 bits");
                Ok(match axis {
                    Axis::Range { start, count, step: stride } => {
                        Axis::Range { start: mapped(*start).ok_or_else(beyond)?, count: *count, step: stride.checked_mul(*step).ok_or_else(beyond)? }
                    }
                    Axis::Runs(runs) if *step == 1 => Axis::Runs(runs.shifted(*start).ok_or_else(beyond)?),
                    Axis::Runs(_) => Axis::Indices(axis.indexes().map(mapped).collect::<Option<_>>().ok_or_else(beyond)?),
                    Axis::Indices(indices) => Axis::Indices(indices.iter().map(|index| mapped(*index)).collect::<Option<_>>().ok_or_else(beyond)?),
                })
            }
        });
        axes.collect()
    }
}
