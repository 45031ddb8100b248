//! Layout of a shared subfile: where each dataset and each task's segments are.

use std::collections::BTreeMap;

use hyperslab_array::{Dataspace, Error, Result};
use hyperslab_formats::hdf5::writer::SUPERBLOCK_BYTES;

use super::shared_datasets::{SharedDataset, SharedDatasets};
use crate::file::allocator::Segments;
use crate::file::dataset::placement::Placement;
use crate::file::definition::DatasetDefinition;
use crate::file::regions::region::Region;

/// Minimum number of the largest chunks in a segment, so that little space is wasted at its end.
const CHUNKS_OF_A_SEGMENT: u64 = 4;

/// Maximum bytes of a segment, if chunks are small.
const SEGMENT_BYTES: u64 = 4 << 20;

/// Layout of one shared subfile.
#[derive(Debug)]
pub(crate) struct Layout {
    /// By path: the region of the dataset in this subfile, the definition of that part, and its location.
    pub datasets: BTreeMap<String, (Region, DatasetDefinition, Placement)>,
    /// End of the data at fixed offsets; segments begin here.
    pub fixed_end: u64,
    segment_bytes: u64,
    slots: u64,
}

impl SharedDatasets {
    /// The layout of a shared subfile. Plans may come from anywhere: an inconsistent one is `InvalidInput`.
    pub fn layout(&self, group: u64) -> Result<Layout> {
        let too_large = || Error::unsupported("a shared subfile of 8 EiB or more");
        if !self.alignment.is_power_of_two() {
            return Err(Error::invalid_input("a plan whose alignment is not a power of two"));
        }
        let mut datasets = BTreeMap::new();
        let mut end = SUPERBLOCK_BYTES;
        let (mut largest, mut appended) = (0u64, 0u64);
        for (path, dataset) in &self.datasets {
            let mut definition = dataset.definition()?.checked()?;
            let shape = definition.dataspace.shape().to_vec();
            let Some(whole) = self.around_tasks(group, path, dataset, &shape)? else {
                return Err(Error::invalid_input(format!("no task writes shared subfile {group}")));
            };
            definition.dataspace = Dataspace::fixed(whole.count.clone());
            let size = definition.datatype.size();
            let bytes = whole.elements().and_then(|elements| elements.checked_mul(size)).ok_or_else(too_large)?;
            let mut take = |bytes: u64| {
                let alignment = if bytes >= self.alignment { self.alignment } else { 8 };
                let start = end.checked_next_multiple_of(alignment)?;
                end = start.checked_add(bytes).filter(|end| i64::try_from(*end).is_ok())?;
                Some(start)
            };
            let place = match &definition.chunk_shape {
                None => Placement::Run(take(bytes).ok_or_else(too_large)?),
                Some(chunk) => {
                    let chunk_bytes = chunk.iter().try_fold(size, |n, extent| n.checked_mul(*extent)).ok_or_else(too_large)?;
                    let chunks = whole
                        .count
                        .iter()
                        .zip(chunk)
                        .try_fold(1u64, |n, (extent, chunk)| n.checked_mul(extent.div_ceil((*chunk).max(1))))
                        .ok_or_else(too_large)?;
                    let stride = chunk_bytes.checked_next_multiple_of(if chunk_bytes >= self.alignment { self.alignment } else { 8 }).ok_or_else(too_large)?;
                    let all = chunks.checked_mul(stride).ok_or_else(too_large)?;
                    if definition.filters.filters.is_empty() {
                        Placement::Chunks { base: take(all).ok_or_else(too_large)?, stride }
                    } else {
                        largest = largest.max(stride);
                        appended = appended.saturating_add(all);
                        Placement::Segments
                    }
                }
            };
            datasets.insert(path.clone(), (whole, definition, place));
        }
        let slots = self.tasks(group).count() as u64;
        let aim = (appended / slots.max(1) / CHUNKS_OF_A_SEGMENT).min(SEGMENT_BYTES).max(largest.saturating_mul(CHUNKS_OF_A_SEGMENT)).max(1);
        let segment_bytes = aim.checked_next_multiple_of(self.alignment.max(8)).ok_or_else(too_large)?;
        let fixed_end = end.checked_next_multiple_of(self.alignment.max(8)).filter(|end| i64::try_from(*end).is_ok()).ok_or_else(too_large)?;
        Ok(Layout { datasets, fixed_end, segment_bytes, slots })
    }

    /// The part of a dataset that the tasks of a shared subfile write; `None` if there are no tasks.
    fn around_tasks(&self, group: u64, path: &str, dataset: &SharedDataset, shape: &[u64]) -> Result<Option<Region>> {
        let mut whole: Option<Region> = None;
        let mut empty = true;
        for task in self.tasks(group) {
            let region = dataset.task_regions.region(shape, task, self.writers)?;
            if !region.fits(shape) {
                return Err(Error::invalid_input(format!("task {task} with {region} of a dataset of shape {shape:?}")).at_object(format!("/{path}")));
            }
            let here = !region.count.contains(&0);
            whole = match whole {
                Some(whole) if here && !empty => Some(whole.around(&region)),
                Some(whole) if !here => Some(whole),
                _ => Some(region),
            };
            empty &= !here;
        }
        Ok(whole)
    }

    /// The segments of a task in its shared subfile.
    pub fn segments(&self, layout: &Layout, task: u64) -> Result<Segments> {
        let too_large = || Error::unsupported("a shared subfile of 8 EiB or more");
        let slot = task % self.factor.max(1);
        let first = slot.checked_mul(layout.segment_bytes).and_then(|at| at.checked_add(layout.fixed_end)).ok_or_else(too_large)?;
        let step = layout.slots.checked_mul(layout.segment_bytes).ok_or_else(too_large)?;
        Ok(Segments { first, step, bytes: layout.segment_bytes, used: 0, index: 0 })
    }
}

/// File name of a shared subfile.
pub(crate) fn name_of(group: u64) -> String {
    format!("shared-{group:04}.h5")
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyperslab_array::{ByteOrder, Datatype};

    type Outcome = std::result::Result<(), Box<dyn std::error::Error>>;

    fn definition(shape: &[u64]) -> DatasetDefinition {
        DatasetDefinition::new(Datatype::integer(4, true, ByteOrder::Little), Dataspace::fixed(shape.to_vec()))
    }

    #[test]
    fn every_task_begins_on_a_block_also_where_its_part_is_no_multiple() -> Outcome {
        let mut sharing = SharedDatasets::new(6, 3, 4096)?;
        let regions = (0..6u64).map(|task| Region { start: vec![task * 5000], count: vec![5000] }).collect();
        sharing.add("odd", definition(&[30_000]), Some(regions))?;
        sharing.add("even", definition(&[6 * 1024]), None)?;
        sharing.add("alike", definition(&[6 * 5000]), None)?;
        let layout = sharing.layout(1)?;
        let (whole, odd, place) = layout.datasets.get("odd").ok_or("odd")?;
        assert_eq!((whole.start[0], whole.count[0], odd.chunk_shape.clone()), (15_000, 15_000, Some(vec![5000])));
        assert!(matches!(place, Placement::Chunks { base, stride: 20_480 } if base % 4096 == 0), "{place:?}");
        assert!(matches!(layout.datasets.get("even"), Some((_, _, Placement::Run(at))) if at % 4096 == 0));
        assert_eq!(
            layout.datasets.get("alike").map(|(whole, d, _)| (whole.clone(), d.chunk_shape.clone())),
            layout.datasets.get("odd").map(|(whole, d, _)| (whole.clone(), d.chunk_shape.clone()))
        );
        assert!(layout.fixed_end % 4096 == 0);
        Ok(())
    }
}
