//! What is done to a container after its commits: verify, vacuum, fuse.

pub(crate) mod fuse;
pub(crate) mod vacuum;
pub(crate) mod verify;
