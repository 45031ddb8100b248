//! Results of commits and of the maintenance of containers.

use pyo3::prelude::*;

use crate::name::Name;

/// A subfile of a commit.
#[pyclass(frozen, get_all, module = "hyperslab._native")]
pub(crate) struct Subfile {
    /// File name.
    pub name: String,
    /// Size in bytes.
    pub bytes: u64,
    /// The task that wrote it; the first one if several tasks share it.
    pub task: u64,
}

/// What a task wrote of one dataset.
#[pyclass(frozen, get_all, module = "hyperslab._native")]
pub(crate) struct WrittenDataset {
    /// Path of the dataset.
    pub path: String,
    /// Whether the task appended rows of its own.
    pub has_rows: bool,
    /// Shape of the whole dataset; for rows, of those that the task appended.
    pub shape: Vec<u64>,
    /// Start and count of each region written.
    pub regions: Vec<(Vec<u64>, Vec<u64>)>,
}

impl From<hyperslab::write::WrittenDataset> for WrittenDataset {
    fn from(written: hyperslab::write::WrittenDataset) -> Self {
        let regions = written.regions.into_iter().map(|region| (region.start, region.count)).collect();
        Self { path: written.path, has_rows: written.has_rows, shape: written.shape, regions }
    }
}

/// What a commit did.
#[pyclass(frozen, get_all, module = "hyperslab._native")]
pub(crate) struct Committed {
    /// The subfiles of the commit.
    pub subfiles: Vec<Py<Subfile>>,
    /// Whether an earlier call had made this commit already.
    pub repeated: bool,
    /// Leftover files that could not be removed.
    pub left: Vec<String>,
    /// What makes the file hard to read for other programs.
    pub remarks: Vec<String>,
    /// Groups whose datasets had the same number of rows before the append, and have different ones after it.
    pub unequal_rows: Vec<String>,
}

impl Committed {
    pub fn new(py: Python<'_>, done: hyperslab::write::Committed) -> PyResult<Self> {
        let subfile = |subfile: hyperslab::write::SubfileRecord| Py::new(py, Subfile { name: subfile.name.into(), bytes: subfile.bytes, task: subfile.task });
        let subfiles = done.subfiles.into_iter().map(subfile).collect::<PyResult<_>>()?;
        Ok(Self { subfiles, repeated: done.repeated, left: done.left, remarks: done.remarks, unequal_rows: done.unequal_rows })
    }
}

/// The state of a container.
#[pyclass(frozen, get_all, module = "hyperslab._native")]
pub(crate) struct Verification {
    /// What is missing or damaged.
    pub problems: Vec<String>,
    /// Number of commits.
    pub commits: u64,
    /// Number of subfiles.
    pub subfiles: u64,
    /// Total size of the subfiles in bytes.
    pub subfile_bytes: u64,
    /// Findings that do not affect values.
    pub remarks: Vec<String>,
}

impl From<hyperslab::write::Verification> for Verification {
    fn from(found: hyperslab::write::Verification) -> Self {
        Self { problems: found.problems, commits: found.commits, subfiles: found.subfiles, subfile_bytes: found.subfile_bytes, remarks: found.remarks }
    }
}

/// What a vacuum removed, or would remove.
#[pyclass(frozen, get_all, module = "hyperslab._native")]
pub(crate) struct VacuumResult {
    /// Writes whose subfiles were removed.
    pub removed: Vec<String>,
    /// Writes that changed too recently to be removed.
    pub young: Vec<String>,
    /// Commits that no master uses.
    pub orphans: Vec<String>,
    /// Leftover files that were removed.
    pub files: Vec<String>,
}

impl From<hyperslab::write::VacuumResult> for VacuumResult {
    fn from(result: hyperslab::write::VacuumResult) -> Self {
        Self { removed: result.removed, young: result.young, orphans: result.orphans, files: result.files }
    }
}

/// What a fuse did.
#[pyclass(frozen, get_all, module = "hyperslab._native")]
pub(crate) struct Fused {
    /// Size of the new file in bytes.
    pub bytes: u64,
    /// Chunks that were copied as stored.
    pub copied_chunks: u64,
    /// Bytes of values that were encoded again.
    pub reencoded_bytes: u64,
    /// What is not as it was: paths of objects, and texts.
    pub changes: Vec<(Name, String)>,
}

/// Paths and texts of changes.
pub(crate) fn changes(found: Vec<hyperslab::write::Change>) -> Vec<(Name, String)> {
    found.into_iter().map(|hyperslab::write::Change { path, text, .. }| (Name(path), text)).collect()
}

impl From<hyperslab::write::Fused> for Fused {
    fn from(fused: hyperslab::write::Fused) -> Self {
        Self { bytes: fused.bytes, copied_chunks: fused.copied_chunks, reencoded_bytes: fused.reencoded_bytes, changes: changes(fused.changes) }
    }
}
