//! What the links of a group may cost.

use hyperslab_array::{Error, Result};

use crate::hdf5::Source;
use crate::hdf5::message::link::RawLink;

/// What a link costs beside its name.
const LINK_COST: u64 = 100;

/// Keeps a link, where there is room for it.
pub(super) fn add(source: &Source, links: &mut Vec<RawLink>, link: RawLink) -> Result<()> {
    source.budget.charge((link.name.len() as u64).saturating_add(LINK_COST))?;
    links.push(link);
    Ok(())
}

pub(super) fn check_count(source: &Source, count: usize) -> Result<()> {
    if count as u64 > source.limits.links_per_group {
        return Err(Error::limit_exceeded(format!("more than {} links in one group", source.limits.links_per_group)));
    }
    Ok(())
}
