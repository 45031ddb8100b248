//! Which region of a dataset each task writes.

use hyperslab_array::{Error, Result};
use serde::{Deserialize, Serialize};

use crate::file::regions::overlap::overlap;
use crate::file::regions::region::Region;

/// The region of each task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum TaskRegions {
    /// Equal shares of the rows; shares begin at multiples of `unit` rows.
    Even { unit: u64 },
    /// Explicit regions, by task.
    Regions(Vec<Region>),
}

impl TaskRegions {
    pub fn region(&self, shape: &[u64], writer: u64, writers: u64) -> Result<Region> {
        match self {
            Self::Regions(regions) => {
                let region = usize::try_from(writer).ok().and_then(|writer| regions.get(writer));
                region.cloned().ok_or_else(|| Error::invalid_input(format!("a plan without a region for task {writer}")))
            }
            Self::Even { unit } => {
                let rows = shape.first().copied().unwrap_or(0);
                let unit = (*unit).max(1);
                let cut = |index: u64| {
                    let units = u128::from(rows.div_ceil(unit)) * u128::from(index) / u128::from(writers.max(1));
                    u64::try_from(units * u128::from(unit)).unwrap_or(u64::MAX).min(rows)
                };
                let (first, end) = (cut(writer), cut(writer.saturating_add(1)));
                Ok(Region::rows(shape, first, end - first))
            }
        }
    }
}

/// Checks that there is one region per task, inside the dataset, and that regions do not overlap.
pub(crate) fn check_regions(regions: &[Region], writers: u64, shape: &[u64]) -> Result<()> {
    if regions.len() as u64 != writers {
        return Err(Error::invalid_input(format!("{} regions for {writers} tasks", regions.len())));
    }
    if let Some((task, region)) = regions.iter().enumerate().find(|(_, region)| !region.fits(shape)) {
        return Err(Error::invalid_input(format!("task {task} with {region} of a dataset of shape {shape:?}")));
    }
    if let Some((task, other, shared)) = overlap(&regions.iter().collect::<Vec<_>>(), |_, _| true) {
        return Err(Error::invalid_input(format!(
            "the regions of tasks {task} and {other} overlap: both write the {:?} elements from {:?} on",
            shared.count, shared.start
        )));
    }
    Ok(())
}
