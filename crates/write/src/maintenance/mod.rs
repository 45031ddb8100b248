//! Maintains committed containers: verify, vacuum, fuse; repacks files. Knows `container` and the rooms below it.

pub(crate) mod fuse;
pub(crate) mod repack;
pub(crate) mod vacuum;
pub(crate) mod verify;
