//! Access to single parsers for the fuzz targets in testing/fuzz; not for other use.
//!
//! What breaks a promise comes back as an `Internal` error, which every fuzz target takes for a finding.

mod messages;
mod structures;

pub use messages::message;
pub use structures::{ChunkedArray, Structures};

use std::sync::Arc;

use hyperslab_storage::Memory;

use super::Source;
use crate::Limits;
use crate::budget::Budget;

/// `bytes` as a file whose addresses begin at 0 and have 8 bytes, as lengths have.
pub(super) fn source(bytes: &[u8], limits: &Limits) -> Source {
    Source {
        storage: Arc::new(Memory::new("input", bytes.to_vec())),
        base_address: 0,
        offset_size: 8,
        length_size: 8,
        limits: limits.clone(),
        shared_messages: Arc::default(),
        budget: Arc::new(Budget::new(bytes.len() as u64, limits.metadata_bytes)),
    }
}
