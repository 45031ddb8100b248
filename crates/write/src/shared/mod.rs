//! Shared subfiles: which tasks write one file together, and where in it. Knows only the room `file`.

pub(crate) mod layout;
pub(crate) mod shared_datasets;
pub(crate) mod task_regions;
