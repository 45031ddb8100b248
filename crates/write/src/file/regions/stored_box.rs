//! Converts regions to and from selections of virtual datasets.

use hyperslab_array::{HyperslabAxis, StoredSelection};

use super::region::Region;

/// The region of a selection that is a single block; `None` for others.
pub(crate) fn region_of(selection: &StoredSelection) -> Option<Region> {
    let StoredSelection::Hyperslab(axes) = selection else { return None };
    let mut region = Region { start: Vec::new(), count: Vec::new() };
    for axis in axes {
        region.start.push(axis.start);
        region.count.push(axis.block.filter(|_| axis.count == Some(1))?);
    }
    Some(region)
}

/// The selection of one block.
pub(crate) fn selection_of(start: &[u64], count: &[u64]) -> StoredSelection {
    StoredSelection::Hyperslab(start.iter().zip(count).map(|(start, count)| HyperslabAxis::block(*start, *count)).collect())
}
