//! The Arrow files that a container consists of.
//!
//! - `folder`: finds them by name; `archive`: all of them in one file; `piece`: the bytes of one of them
//! - `ipc`: metadata of an Arrow file around values that are in place already; `record_batch`: one batch as a file
//! - `names`: names of temporary files
//! - `writer_lock`: one writer at a time, and cleanup after a killed one

pub(crate) mod archive;
mod folder;
pub(crate) mod ipc;
pub(crate) mod names;
mod piece;
pub(crate) mod record_batch;
pub(crate) mod writer_lock;

pub use folder::Folder;
