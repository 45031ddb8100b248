//! Maintains committed containers: verify, vacuum, fuse; repacks files; salvages what damaged ones hold. Knows `container` and the rooms below it.

pub(crate) mod fuse;
pub(crate) mod repack;
pub(crate) mod salvage;
pub(crate) mod vacuum;
pub(crate) mod vacuum_store;
pub(crate) mod verify;
