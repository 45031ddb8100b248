//! Request: what a caller wants to be indexed.

use hyperslab_scan::pruner::Level;

/// The datasets to index, and how.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct IndexRequest {
    /// Paths of datasets, of members of compound datasets (`/table/energy`), of compound datasets for all their members, or of
    /// groups for all datasets in them. `*` and `?` are wildcards within one part of a path.
    pub datasets: Vec<String>,
    /// Composite indexes: the paths of the datasets, or of the members of compound datasets, of each. Paths of one index have the same
    /// wildcards: it is built for each text that these match in all of them.
    pub composites: Vec<Vec<String>>,
    /// The level of the index; `None` chooses a level for each dataset. Composite indexes have a level of their own.
    pub level: Option<Level>,
    /// Whether values are indexed as stored, without netCDF conventions.
    pub raw: bool,
    /// Whether the files of a folder share one sidecar. Otherwise each file has its own, next to it.
    pub shared_sidecar: bool,
    /// Whether to rebuild blocks that are still valid.
    pub rebuild: bool,
}

impl IndexRequest {
    /// A request for indexes of these datasets, with a level chosen for each.
    pub fn new(datasets: Vec<String>) -> Self {
        Self { datasets, ..Self::default() }
    }

    /// With composite indexes of these datasets, too.
    #[must_use]
    pub fn with_composites(self, composites: Vec<Vec<String>>) -> Self {
        Self { composites, ..self }
    }

    /// With this level; `None` chooses a level for each dataset.
    #[must_use]
    pub fn with_level(self, level: Option<Level>) -> Self {
        Self { level, ..self }
    }

    /// Whether values are indexed as stored, without netCDF conventions.
    #[must_use]
    pub fn with_raw(self, raw: bool) -> Self {
        Self { raw, ..self }
    }

    /// Whether the files of a folder share one sidecar.
    #[must_use]
    pub fn with_shared_sidecar(self, shared_sidecar: bool) -> Self {
        Self { shared_sidecar, ..self }
    }

    /// Whether to rebuild blocks that are still valid.
    #[must_use]
    pub fn with_rebuild(self, rebuild: bool) -> Self {
        Self { rebuild, ..self }
    }
}
