//! A session for files that Hyperslab itself has written, or copies from.

use hyperslab_array::Result;
use hyperslab_reader::{PathPolicy, Session, SessionOptions};

/// A session for a container's own files.
pub(crate) fn reading_session() -> Result<Session> {
    Session::new(SessionOptions { paths: PathPolicy::SameFolder, interpretation: hyperslab_formats::Interpretation::Hdf5, ..SessionOptions::default() })
}
