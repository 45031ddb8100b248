//! Sessions that use value indexes.

use std::path::PathBuf;

use hyperslab_array::Result;
use hyperslab_formats::{Interpretation, Limits};
use hyperslab_reader::{MissingSources, PathPolicy, Session};

/// What a session may use.
#[derive(Debug, Clone, Default)]
pub struct SessionOptions {
    /// Threads that decode; `None` is one a core.
    pub threads: Option<usize>,
    /// What a file may cost.
    pub limits: Limits,
    /// Whether netCDF-4 conventions apply.
    pub interpretation: Interpretation,
    /// Which files a file may make us open.
    pub paths: PathPolicy,
    /// What to do about sources of virtual datasets that are not there.
    pub missing_sources: MissingSources,
    /// A folder for the indexes of files in any folder, searched before those next to the files: for data in folders
    /// that are read-only.
    pub index_folder: Option<PathBuf>,
}

/// A session whose scans use the value indexes of its files.
///
/// # Errors
/// `InvalidInput` for 0 threads.
pub fn new_session(options: SessionOptions) -> Result<Session> {
    let SessionOptions { threads, limits, interpretation, paths, missing_sources, index_folder } = options;
    let extensions = hyperslab_index::extensions(index_folder);
    Session::with_extensions(hyperslab_reader::SessionOptions { threads, limits, interpretation, paths, missing_sources }, extensions)
}
