//! Regions of arrays, and copying them.

pub use hyperslab_array::Region;
pub(crate) use hyperslab_array::{copy_region as copy, region_runs as runs};
