//! Open files and read hyperslabs: sessions, files and the files they link to, virtual datasets, foreign arrays.
//!
//! A [`Session`] holds threads, limits and memory; a [`File`] finds objects by path and reads selections of
//! datasets in parallel, without a lock. Crates above keep their own state in the session's [`Extensions`].
#![forbid(unsafe_code)]
#![deny(clippy::exhaustive_enums, clippy::exhaustive_structs, clippy::missing_errors_doc)]

mod address;
mod alike;
mod any_format;
mod buffer_pool;
mod chunk_cache;
mod chunk_index;
mod chunk_places;
mod closing;
mod counters;
mod dataset;
mod dataset_read;
mod decoding_memory;
mod extensions;
mod file;
mod find;
pub mod foreign;
#[cfg(test)]
mod gaps;
mod gather;
mod heap_origin;
mod linked_files;
mod live_file;
mod look_ahead;
mod objects;
mod open;
mod open_linked;
mod parked;
mod path_of;
mod paths;
mod picked;
mod policy;
pub mod read;
mod read_each;
mod reference;
mod reference_text;
mod restart_points;
mod session;
mod stored;
mod targets;
mod unpacked;
mod value_bytes;
pub mod virtual_dataset;
mod visit;
mod walk;

pub use buffer_pool::{BufferPool, PooledBuffer};
pub use chunk_cache::{ChunkCache, SCAN_CACHE_BYTES};
pub use chunk_index::MadeChunkIndex;
pub use closing::FileVersion;
pub use counters::Counters;
pub use decoding_memory::bound as decoding_memory_bound;
pub use extensions::Extensions;
pub use file::File;
pub use find::Found;
pub use gather::Gathered;
pub use hyperslab_storage::ForkMutex;
pub use hyperslab_storage::{PerProcess, is_address, shown_address};
pub use picked::{Mask, Pick, Picked};
pub use policy::{MissingSources, PathPolicy};
pub use read_each::EachRead;
pub use reference::{Referenced, reference_target};
pub use session::{Session, SessionOptions};
pub use unpacked::Unpacking;
pub use value_bytes::ValueBytes;
pub use visit::Visit;
pub use walk::{Walk, Walked};
