//! Maintains committed containers: verify, vacuum, fuse. Knows `container` and the rooms below it.

pub(crate) mod fuse;
pub(crate) mod vacuum;
pub(crate) mod verify;
