//! Attributes of the root group that are reserved for Hyperslab.

/// Attribute of a master's root group with the name of its last commit.
pub const COMMIT_ATTRIBUTE: &str = "_hyperslab_commit";

/// Attribute of a subfile's root group with the ids of its write and task.
pub(crate) const SUBFILE_ATTRIBUTE: &str = "_hyperslab_task";
