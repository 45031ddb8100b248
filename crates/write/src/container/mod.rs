//! A container: a master file and its subfiles, written by many tasks and made visible by one commit. Knows `shared`,
//! `file` and `encoding`.

pub(crate) mod claim;
pub(crate) mod commit;
pub(crate) mod commit_name;
pub(crate) mod definitions;
pub(crate) mod dimensions;
pub(crate) mod folder;
pub(crate) mod fragment;
pub(crate) mod gather;
pub(crate) mod lineage;
pub(crate) mod master;
pub(crate) mod master_file;
pub(crate) mod merge;
pub(crate) mod movable_parts;
pub(crate) mod plan;
pub(crate) mod record;
pub(crate) mod row_counts;
pub(crate) mod shared_subfile;
pub(crate) mod staged;
pub(crate) mod state;
pub(crate) mod store;
pub(crate) mod tail;
pub(crate) mod task;
pub(crate) mod task_finish;
