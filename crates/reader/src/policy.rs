//! Policies of a session for the other files that a file names.

/// Which files a file may cause to be opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum PathPolicy {
    /// None at all.
    Nowhere,
    /// Regular files in its own folder and below. Symbolic links are followed within that folder only.
    #[default]
    SameFolder,
    /// Any regular file that this process may read.
    Anywhere,
}

/// What to do if a source of a virtual dataset is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum MissingSources {
    /// `NotFound`, with the source's name.
    #[default]
    Error,
    /// Show the fill value instead, as the HDF5 library does.
    Fill,
}
