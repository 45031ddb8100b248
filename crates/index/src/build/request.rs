//! What a caller wants indexed.

use hyperslab_scan::pruner::Level;

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
