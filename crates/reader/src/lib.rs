//! Open files and read hyperslabs: sessions, files and the files they link to, virtual datasets, foreign arrays.
//!
//! A [`Session`] holds threads, limits and memory; a [`File`] finds objects by path and reads selections of
//! datasets in parallel, without a lock. Crates above keep their own state in the session's [`Extensions`].
#![forbid(unsafe_code)]

mod chunk_cache;
mod counters;
mod extensions;
mod file;
pub mod foreign;
#[cfg(test)]
mod gaps;
mod heap_salt;
mod neighbours;
pub mod read;
mod reference;
mod reference_text;
mod session;
mod values;
pub mod virtual_dataset;

pub use chunk_cache::{ChunkCache, MOST_BYTES};
pub use counters::Counters;
pub use extensions::Extensions;
pub use file::{File, Found};
pub use neighbours::{MissingSources, PathPolicy};
pub use reference::{Referenced, reference_target};
pub use session::{Session, SessionOptions};
pub use values::{Pool, Values};
