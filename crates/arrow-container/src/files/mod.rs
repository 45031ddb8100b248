//! The Arrow files that a container consists of.
//!
//! - `folder`: finds them by name; `archive`: all of them in one file; `piece`: the bytes of one of them
//! - `ipc`: metadata of an Arrow file around values that are in place already; `record_batch`: one batch as a file
//! - `source`: where a reader finds them
//! - `regular`: opens none but regular files
//! - `names`: names of temporary files
//! - `reader_lock`: keeps files while readers have them open
//! - `writer_lock`: one writer at a time, and cleanup after a killed one

pub mod archive;
mod folder;
pub mod ipc;
pub(crate) mod names;
mod piece;
pub mod reader_lock;
pub(crate) mod record_batch;
pub(crate) mod regular;
mod source;
pub(crate) mod writer_lock;

pub use folder::Folder;
pub use source::{ReadSeek, Source};
