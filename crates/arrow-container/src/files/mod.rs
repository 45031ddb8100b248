//! The Arrow files that a container consists of.
//!
//! - `folder`: finds them by name; `archive`: all of them in one file; `piece`: the bytes of one of them
//! - `closing`: closes replaced files without waiting for the disk
//! - `growing`: the file that will replace the archive, while values are written to it
//! - `ipc`: metadata of an Arrow file around values that are in place already; `record_batch`: one batch as a file
//! - `source`: where a reader finds them
//! - `preallocate`: blocks that are written next
//! - `regular`: opens none but regular files
//! - `names`: names of temporary files
//! - `reader_lock`: keeps files while readers have them open
//! - `writer_lock`: one writer at a time, and cleanup after a killed one

pub mod archive;
pub(crate) mod closing;
mod folder;
mod growing;
pub mod ipc;
pub(crate) mod names;
mod piece;
pub(crate) mod preallocate;
pub mod reader_lock;
pub(crate) mod record_batch;
pub(crate) mod regular;
mod source;
pub(crate) mod writer_lock;

pub use folder::Folder;
pub(crate) use growing::Region;
pub use growing::Workspace;
pub use source::{ReadSeek, Source};
