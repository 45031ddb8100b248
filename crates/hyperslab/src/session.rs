//! Sessions that use value indexes and know data models.

use std::path::PathBuf;

use hyperslab_array::Result;
use hyperslab_index::IndexTrust;
use hyperslab_reader::{Session, SessionOptions};

/// A session whose scans use the value indexes of its files and read the tables of data models.
///
/// # Errors
/// `InvalidInput` for 0 threads.
pub fn new_session(options: SessionOptions) -> Result<Session> {
    new_session_with_indexes(options, None, IndexTrust::default())
}

/// As [`new_session`], with a folder for the indexes of files in any folder, which is searched before those next to the files:
/// for data in folders that are read-only. `trust` says which indexes are used.
///
/// # Errors
/// `InvalidInput` for 0 threads.
pub fn new_session_with_indexes(options: SessionOptions, index_folder: Option<PathBuf>, trust: IndexTrust) -> Result<Session> {
    Session::with_extensions(options, hyperslab_index::extensions(index_folder, trust).with(hyperslab_models::extension()))
}
