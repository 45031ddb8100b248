//! Chunk indexes: the metadata of a remote file, in a local file or in an object next to it. A file that is opened with one is parsed, and its
//! chunks are located, without a further request. They can also hold restart points of compressed chunks; indexes of local files hold
//! nothing else.
//!
//! An index holds the bytes that parsing reads, at their places in the object, and the version of the object: parsers need not know of it,
//! and missing bytes are fetched. So an index is never wrong, and at worst incomplete.

mod beside;
mod choice;
mod format;
mod local;

pub(super) use beside::{beside, open_with_index};
pub(super) use choice::{Chosen, choose, name_in_folder};
pub(super) use format::{ChunkIndex, Description, extents, write};
pub use local::LocalIndex;
