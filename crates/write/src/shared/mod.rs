//! Subfiles that several tasks write together.

pub(crate) mod completion;
pub(crate) mod task_regions;
