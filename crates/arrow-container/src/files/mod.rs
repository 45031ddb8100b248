//! The files of a container, and the rules for replacing them.
//!
//! - [`folder`]: where they lie; [`archive`]: all of them in one file; [`piece`]: the bytes of one of them
//! - [`ipc`]: the frame of an Arrow file around values that lie in their places already; [`record_batch`]: a whole one
//! - [`names`]: names for files that others do not see yet; [`writer_lock`]: one writer, and what a killed one left

pub(crate) mod archive;
mod folder;
pub(crate) mod ipc;
pub(crate) mod names;
mod piece;
pub(crate) mod record_batch;
pub(crate) mod writer_lock;

pub use folder::Folder;
