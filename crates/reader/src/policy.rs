//! What a session does about the other files that a file names.

/// Which files a file may make us open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PathPolicy {
    /// Those in its own folder and below.
    #[default]
    SameFolder,
    /// Any that this process may read.
    Anywhere,
}

/// What to do about a source of a virtual dataset that is not there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MissingSources {
    /// `NotFound`, with the source's name.
    #[default]
    Error,
    /// The fill value stands in its place, as in the HDF5 library.
    Fill,
}
