//! Attributes of the root group that Hyperslab sets itself.

/// The attribute of a master's root group that names its last commit.
pub const COMMIT_ATTRIBUTE: &str = "_hyperslab_commit";

/// The attribute of a subfile's root group that names its write and task.
pub(crate) const SUBFILE_ATTRIBUTE: &str = "_hyperslab_task";
