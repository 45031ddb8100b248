//! Limits on the links of a group.

use hyperslab_array::{Error, Result};

use crate::hdf5::Source;

pub(super) fn check_count(source: &Source, count: usize) -> Result<()> {
    if count as u64 > source.limits.links_per_group {
        return Err(Error::limit_exceeded(format!("more than {} links in one group", source.limits.links_per_group)));
    }
    Ok(())
}
