//! Subfiles that several tasks write together.

pub(crate) mod layout;
pub(crate) mod shared_datasets;
pub(crate) mod task_regions;
