//! Results of value indexes.

use hyperslab::index;
use pyo3::prelude::*;

/// A dataset of a planned build of indexes.
#[pyclass(frozen, get_all, module = "hyperslab._native")]
pub(crate) struct PlannedIndex {
    /// Path of the file.
    pub file: String,
    /// Path of the dataset.
    pub path: String,
    /// Letter of the level.
    pub level: char,
    /// Why this level, or why the dataset is left out.
    pub reason: String,
    /// Number of values.
    pub elements: u64,
    /// Bytes of values to be read.
    pub value_bytes: u64,
    /// Estimated bytes of the index.
    pub index_bytes: u64,
    /// Whether the index is to be built; false if a valid one exists.
    pub needed: bool,
}

impl From<&index::PlannedIndex> for PlannedIndex {
    fn from(planned: &index::PlannedIndex) -> Self {
        Self {
            file: planned.file.clone(),
            path: planned.path.clone(),
            level: planned.level.letter(),
            reason: planned.reason.clone(),
            elements: planned.elements,
            value_bytes: planned.value_bytes,
            index_bytes: planned.index_bytes,
            needed: planned.needed,
        }
    }
}

/// What a commit of index fragments published.
#[pyclass(frozen, get_all, module = "hyperslab._native")]
pub(crate) struct Indexed {
    /// Number of datasets.
    pub datasets: u64,
    /// Blocks that were built.
    pub built_blocks: u64,
    /// Blocks of older indexes that were kept.
    pub kept_blocks: u64,
}

/// How many values an index has of each kind.
#[pyclass(frozen, get_all, module = "hyperslab._native")]
pub(crate) struct ValueCounts {
    /// Values that are neither NaN nor null.
    pub values: u64,
    /// NaN.
    pub nans: u64,
    /// Nulls.
    pub nulls: u64,
}
