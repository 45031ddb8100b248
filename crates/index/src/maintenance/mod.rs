//! Work on an index as a whole: embed it in its file, say what is wrong with it, verify it, remove leftover files.

pub(crate) mod embed;
pub(crate) mod status;
pub(crate) mod vacuum;
pub(crate) mod verify;
