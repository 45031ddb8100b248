//! A master file and its subfiles, written by many tasks and made visible by one commit.

pub(crate) mod checksum;
pub(crate) mod claim;
pub(crate) mod commit;
pub(crate) mod definitions;
pub(crate) mod envelope;
pub(crate) mod folder;
pub(crate) mod fragment;
pub(crate) mod gather;
pub(crate) mod hex;
pub(crate) mod lineage;
pub(crate) mod master;
pub(crate) mod plan;
pub(crate) mod state;
pub(crate) mod tail;
pub(crate) mod task;
