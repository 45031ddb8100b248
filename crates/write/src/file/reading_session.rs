//! A session for reading files that the writer copies or verifies.

use hyperslab_array::Result;
use hyperslab_reader::{PathPolicy, Session, SessionOptions};

/// A session that reads plain HDF5 and follows links within the same folder only.
pub(crate) fn reading_session() -> Result<Session> {
    Session::new(SessionOptions::default().with_paths(PathPolicy::SameFolder).with_interpretation(hyperslab_formats::Interpretation::Hdf5))
}
