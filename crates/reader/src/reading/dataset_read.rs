//! Dataset read: what one read of a dataset needs, from the validated selection on.

use hyperslab_array::{Cancellation, Selection};
use hyperslab_formats::{Dataset, ObjectId};

use crate::File;

/// The parameters of one read of a dataset.
#[derive(Clone, Copy)]
pub(crate) struct DatasetRead<'a> {
    pub file: &'a File,
    pub dataset: ObjectId,
    pub description: &'a Dataset,
    pub selection: &'a Selection,
    pub cancellation: &'a Cancellation,
    pub keep: Keep,
}

/// What a read may keep for the next one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keep {
    /// Chunks that it decoded and needs parts of. If reads go through a dataset in order, the next chunks are decoded ahead.
    Chunks,
    /// As `Chunks`, for single elements that a scan picks: nothing is decoded ahead.
    FewChunks,
    Nothing,
}
