//! Request: what a caller wants to be indexed.

use hyperslab_scan::pruner::Level;

/// The datasets to index, and how.
#[derive(Debug, Clone, Default)]
pub struct IndexRequest {
    /// Paths of datasets, or of groups for all datasets in them. `*` and `?` are wildcards within one part of a path.
    pub datasets: Vec<String>,
    /// The level of the index; `None` chooses a level for each dataset.
    pub level: Option<Level>,
    /// Whether values are indexed as stored, without netCDF conventions.
    pub raw: bool,
    /// Whether the files of a folder share one sidecar. Otherwise each file has its own, next to it.
    pub shared_sidecar: bool,
    /// Whether to rebuild blocks that are still valid.
    pub rebuild: bool,
}
