//! Copies objects of existing files into the file that is being written, and resumes a copy that was interrupted.

pub(crate) mod changes;
pub(crate) mod checkpoints;
pub(crate) mod choice;
mod continued;
pub(crate) mod dataset;
pub(crate) mod joined;
mod joined_dataset;
pub(crate) mod link_counts;
pub(crate) mod objects;
pub(crate) mod properties;
mod references;
mod resumed;
pub(crate) mod scales;
mod selected_objects;
pub(crate) mod source_file;
pub(crate) mod user_block;
