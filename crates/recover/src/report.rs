//! What a recovery has saved and lost.

use hyperslab_array::{Error, Result};
use serde::Serialize;

/// How sure it is that something is what was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
#[expect(clippy::exhaustive_enums, reason = "callers rank by it")]
pub enum Certainty {
    /// It makes sense, but was found by its look, or where nothing leads.
    Guessed,
    /// All that leads to it makes sense, but no checksum covers all of it.
    Plausible,
    /// Checksums cover it, and all that leads to it.
    Certain,
}

/// What a recovery has saved and lost.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Recovery {
    /// The damaged file.
    pub file: String,
    /// The new file.
    pub out: String,
    /// Bytes of the damaged file.
    pub file_bytes: u64,
    /// Bytes of the new file.
    pub out_bytes: u64,
    /// Bytes that the superblock says the file has; `None` if it cannot be read.
    pub stated_bytes: Option<u64>,
    /// Whether the superblock says that a program has the file open for writing.
    pub is_open_for_writing: bool,
    /// Start and length of the ranges that the operating system could not read: zeros took their place.
    pub bad_ranges: Vec<(u64, u64)>,
    /// Damaged structures, in words.
    pub damages: Vec<String>,
    /// The objects in the new file.
    pub objects: Vec<RecoveredObject>,
    /// What is not in the new file, or not complete.
    pub lost: Vec<LostPart>,
    /// Chunks that were copied without decoding.
    pub copied_chunks: u64,
    /// What of the objects is not as it was.
    pub changes: Vec<(String, String)>,
    /// Objects that a program has deleted from a file that is not damaged: what is left of them. They are no loss.
    pub deleted: Vec<DeletedObject>,
}

/// What is left of an object that was deleted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct DeletedObject {
    /// Its path in the new file, if it is there.
    pub path: Option<String>,
    /// `group`, `dataset` or `datatype`.
    pub kind: &'static str,
    /// Offset of its header in the file.
    pub offset: u64,
    /// What of it is not in the new file, or not complete.
    pub losses: Vec<String>,
}

/// An object in the new file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct RecoveredObject {
    /// Its path in the new file.
    pub path: String,
    /// `group`, `dataset` or `datatype`.
    pub kind: &'static str,
    /// Offset of its header in the damaged file.
    pub offset: u64,
    /// Whether its name was found, too.
    pub has_name: bool,
    /// How certain its description, attributes and links are.
    pub certainty: Certainty,
    /// Why.
    pub reason: &'static str,
    /// Number of its attributes.
    pub attributes: u64,
    /// What of a dataset's values was saved.
    pub values: Option<RecoveredValues>,
}

/// What of a dataset's values was saved. Elements in no stored chunk are the fill value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct RecoveredValues {
    /// The least certainty of the values that are not in `doubtful` or `lost`.
    pub certainty: Certainty,
    /// Whether it is known which chunks were stored: if not, chunks that are not there may have been lost.
    pub has_all_chunks: bool,
    /// Chunks, or blocks of contiguous values, that were found, and those that were saved.
    pub found: u64,
    /// Those that were saved.
    pub saved: u64,
    /// Saved ones that are certain, plausible and guessed.
    pub certain: u64,
    /// Plausible ones.
    pub plausible: u64,
    /// Guessed ones.
    pub guessed: u64,
    /// Bytes of values that were saved, before filters.
    pub saved_bytes: u64,
    /// Bytes of values that were lost, as far as it is known, before filters.
    pub lost_bytes: u64,
    /// Boxes of elements that are lost, start and count along each dimension: the fill value took their place. The first 10,000.
    pub lost: Vec<(Vec<u64>, Vec<u64>)>,
    /// Boxes of elements that were saved and may be wrong. The first 10,000.
    pub doubtful: Vec<(Vec<u64>, Vec<u64>)>,
    /// Values of variable length that are lost: empty values took their place.
    pub lost_heap_values: u64,
}

/// Something that is not in the new file, or not complete.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct LostPart {
    /// `object`, `link`, `attribute`, `chunk`, `values` or `structure`.
    pub what: &'static str,
    /// Path of the object, if known.
    pub path: Option<String>,
    /// Name of the attribute or link.
    pub name: Option<String>,
    /// Offset in the damaged file.
    pub offset: Option<u64>,
    /// Why.
    pub reason: String,
}

impl Recovery {
    /// The report as JSON.
    ///
    /// # Errors
    /// `Internal` if it cannot be written.
    pub fn to_json(&self) -> Result<String> {
        serde_json::to_string(self).map_err(|error| Error::internal(format!("a report that cannot be written as JSON: {error}")))
    }
}
