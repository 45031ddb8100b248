//! Layout: where the bytes of a file lie, as far as the file system tells, and the profile of this machine.

use std::path::PathBuf;

use hyperslab::storage::{self, StripedPart};
use pyo3::prelude::*;

use crate::error::raise;
use crate::results::layout::StorageLayout;
use crate::wait::run;

/// Where the bytes of a file, or of new files in a folder, lie.
#[pyfunction]
pub(crate) fn storage_layout(py: Python<'_>, path: PathBuf) -> PyResult<StorageLayout> {
    run(py, move || storage::target_layout(&path)).map(StorageLayout)
}

/// Parses an attribute of Lustre, or the text of a command that shows a layout.
#[pyfunction]
pub(crate) fn parse_layout(py: Python<'_>, said: &[u8]) -> PyResult<StorageLayout> {
    storage::TargetLayout::parse(said).map(StorageLayout).map_err(|error| raise(py, &error))
}

/// The profile in force: its path, whether it is used, the problem, and the settings that it has.
pub(crate) type Profile = (Option<PathBuf>, bool, Option<String>, Vec<(&'static str, u64)>);

/// The profile of this process, or what a file would be.
#[pyfunction]
#[pyo3(signature = (path=None))]
pub(crate) fn profile(path: Option<PathBuf>) -> Profile {
    let found = path.map_or_else(|| storage::profile().clone(), |path| storage::Profile::read(&path, true));
    let settings = found.settings;
    let values = [
        ("threads", settings.threads.map(|count| count as u64)),
        ("transfer_bytes", settings.transfer_bytes),
        ("chunk_bytes", settings.chunk_bytes),
        ("alignment_bytes", settings.alignment_bytes),
        ("subfile_factor", settings.subfile_factor),
    ];
    (found.path, found.is_used, found.problem, values.into_iter().filter_map(|(name, value)| Some((name, value?))).collect())
}

/// What a profile must have been measured on.
#[pyfunction]
pub(crate) fn machine() -> String {
    storage::machine()
}

/// Where a profile is looked for by default.
#[pyfunction]
pub(crate) fn default_profile_path() -> Option<PathBuf> {
    storage::default_profile_path()
}

/// Start, end, stripe size, number of stripes, targets and pool of a part.
pub(crate) type Part = (u64, Option<u64>, u64, Option<u32>, Vec<u32>, Option<String>);

/// A part as Python gets it.
pub(crate) fn part(part: &StripedPart) -> Part {
    (part.start, part.end, part.stripe_bytes, part.stripe_count, part.targets.clone(), part.pool.clone())
}
