//! Work on an index as a whole: embed it in its file, verify it, remove leftover files.

pub(crate) mod embed;
pub(crate) mod vacuum;
pub(crate) mod verify;
