//! Open files and read hyperslabs: sessions, files and the files they link to, virtual datasets, foreign arrays.
//!
//! A [`Session`] holds threads, limits and memory; a [`File`] finds objects by path and reads selections of
//! datasets in parallel, without a lock. Crates above keep their own state in the session's [`Extensions`].
#![forbid(unsafe_code)]
#![deny(clippy::exhaustive_enums, clippy::exhaustive_structs, clippy::missing_errors_doc)]

mod counters;
mod extensions;
mod file;
mod finding;
pub mod foreign;
mod kept;
mod opening;
mod policy;
mod reading;
mod session;
mod walking;

pub use counters::Counters;
pub use extensions::Extensions;
pub use file::File;
pub use finding::find::Found;
pub use finding::reference::{Referenced, reference_target};
pub use finding::stored_references::{TakeReferences, each_reference};
pub use hyperslab_storage::ForkMutex;
pub use hyperslab_storage::{PerProcess, is_address, shown_address};
pub use kept::buffer_pool::{BufferPool, PooledBuffer};
pub use kept::chunk_cache::{ChunkCache, SCAN_CACHE_BYTES};
pub use kept::decoding_memory::bound as decoding_memory_bound;
pub use opening::closing::FileVersion;
pub use policy::{MissingSources, PathPolicy};
pub use reading::converted::Convert;
pub use reading::gather::Gathered;
pub use reading::picked::{Mask, Pick, Picked};
pub use reading::read_each::EachRead;
pub use reading::value_bytes::ValueBytes;
pub use reading::{read, virtual_dataset};
pub use session::{Session, SessionOptions};
pub use walking::chunk_index::MadeChunkIndex;
pub use walking::referenced::UnnamedObjects;
pub use walking::visit::Visit;
pub use walking::walk::{Walk, Walked};
