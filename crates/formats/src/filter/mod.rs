//! The filter pipeline: one file a codec.
use hyperslab_array::{Error, Result};

use crate::FilterDescription;

/// One filter of a pipeline, as the filter pipeline message stores it (specification IV.A.2.l).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filter {
    /// Registered number.
    pub id: u16,
    /// Name in the message, if any.
    pub name: Option<String>,
    /// Flag bit 0: a writer may have skipped it.
    pub optional: bool,
    /// Client data.
    pub parameters: Vec<u32>,
}

/// The filters of a dataset, in order of application on write.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pipeline {
    /// The filters.
    pub filters: Vec<Filter>,
}

impl Pipeline {
    /// Why this pipeline cannot be decoded (names the filter), or `None`.
    pub fn refusal(&self) -> Option<Error> {
        None
    }
    /// The filters for people.
    pub fn describe(&self) -> Vec<FilterDescription> {
        Vec::new()
    }
    /// Undoes the filters in reverse order, except those whose bit is set in `filter_mask`.
    /// `out` is cleared and gets exactly `chunk_bytes` bytes.
    pub fn decode(&self, _raw: &[u8], _filter_mask: u32, _chunk_bytes: usize, _out: &mut Vec<u8>) -> Result<()> {
        Err(Error::unsupported("stub"))
    }
}
