//! A session for reading files that the writer copies or verifies.

use hyperslab_array::Result;
use hyperslab_reader::{PathPolicy, Session, SessionOptions};

/// A session that reads plain HDF5 and follows links within the same folder only.
pub(crate) fn reading_session() -> Result<Session> {
    Session::new(options())
}

/// The same, with the options of the object stores of another session.
pub(crate) fn reading_session_like(other: &Session) -> Result<Session> {
    Session::new(options().with_storage(other.storage_options().clone()))
}

fn options() -> SessionOptions {
    SessionOptions::default().with_paths(PathPolicy::SameFolder).with_interpretation(hyperslab_formats::Interpretation::Hdf5)
}
