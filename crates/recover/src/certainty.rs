//! How sure it is that what was recovered is what was written.

use hyperslab_formats::hdf5::survey::{ChunkEvidence, SurveyedChunk, SurveyedObject};
use hyperslab_formats::{Dataset, StorageLayout};

use crate::report::Certainty;

/// Filters whose chunks have a checksum of their own: fletcher32, and deflate, whose streams end with one.
const CHECKED_FILTERS: [u16; 2] = [3, 1];

/// How certain an object's description, attributes and links are, and why.
pub(crate) fn of_object(object: &SurveyedObject) -> (Certainty, &'static str) {
    if object.is_guessed {
        return (Certainty::Guessed, "the header has neither signature nor checksum, and no link leads to it");
    }
    if object.reattached_links + object.reattached_attributes > 0 {
        return (Certainty::Guessed, "some links or attributes were found in blocks to which nothing leads, or which list them no longer");
    }
    match (object.has_checksums, object.is_whole && object.has_all_links) {
        (true, true) => (Certainty::Certain, "checksums cover it"),
        (true, false) => (Certainty::Plausible, "checksums cover what is left of it"),
        (false, _) => (Certainty::Plausible, "it makes sense, but files of this version have no checksums"),
    }
}

/// How certain the place and bytes of a decoded chunk are.
pub(crate) fn of_chunk(object: &SurveyedObject, dataset: &Dataset, chunk: &SurveyedChunk) -> Certainty {
    if chunk.evidence == ChunkEvidence::Fit || object.is_guessed {
        return Certainty::Guessed;
    }
    let is_checked = dataset.filters.iter().enumerate().any(|(index, filter)| {
        let is_applied = index >= 32 || chunk.filter_mask & (1 << index) == 0;
        CHECKED_FILTERS.contains(&filter.id) && is_applied
    });
    // The index of a dataset whose header has checksums has them, too, but for old B-trees of chunks.
    let is_indexed = chunk.evidence == ChunkEvidence::Index && !object.has_old_index;
    if object.has_checksums && is_checked && is_indexed { Certainty::Certain } else { Certainty::Plausible }
}

/// How certain values that are not in chunks are.
pub(crate) fn of_plain(object: &SurveyedObject, dataset: &Dataset) -> Certainty {
    match dataset.storage {
        _ if object.is_guessed => Certainty::Guessed,
        StorageLayout::Compact if object.has_checksums => Certainty::Certain,
        _ => Certainty::Plausible,
    }
}
