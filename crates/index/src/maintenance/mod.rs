//! Verify and vacuum.

pub(crate) mod vacuum;
pub(crate) mod verify;
