//! What a session, and each of its files, keeps between reads: memory, decoded chunks and their places, linked files, paths.

pub(crate) mod buffer_pool;
pub(crate) mod chunk_cache;
pub(crate) mod chunk_places;
pub(crate) mod decoding_memory;
pub(crate) mod linked_files;
pub(crate) mod look_ahead;
pub(crate) mod paths;
