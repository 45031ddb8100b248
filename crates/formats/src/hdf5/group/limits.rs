//! Limits on the links of a group.

use hyperslab_array::{Error, Result};

use crate::hdf5::Source;
use crate::hdf5::message::link::RawLink;

/// Budget charged for a link in addition to its name, in bytes.
const LINK_COST: u64 = 100;

/// Adds a link and charges the budget for it.
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
