//! Building: from a request to the committed index of each dataset.

pub(crate) mod commit;
mod composite_targets;
pub(crate) mod dataset_build;
pub(crate) mod dataset_task;
pub(crate) mod plan;
pub(crate) mod request;
mod targets;
pub(crate) mod task;
