//! Regions of arrays: divided, compared, and converted to and from selections.

pub(super) mod boxes;
pub(crate) mod overlap;
pub(crate) mod region;
pub(crate) mod stored_box;
pub(crate) mod strided;
pub(super) mod unwritten;
