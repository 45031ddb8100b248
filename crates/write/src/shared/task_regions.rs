//! Sharing: which tasks write one subfile together, and where in it each dataset and each task's bytes lie. All
//! of it follows from the plan, so that writers need neither a lock nor a message.

use std::collections::BTreeMap;

use hyperslab_array::{Dataspace, Error, Result};
use hyperslab_formats::filter::{Filter, Pipeline};
use hyperslab_formats::hdf5::writer::{SUPERBLOCK_BYTES, encode_dataspace, encode_datatype, parse_dataspace, parse_datatype};
use serde::{Deserialize, Serialize};

use crate::container::fragment::{fill_time, stored_fill_time};
use crate::container::hex::Hex;
use crate::file::allocator::Segments;
use crate::file::definition::DatasetDefinition;
use crate::file::region::Region;

/// A segment has room for this many of the largest chunks, so that little is left over at its end.
const CHUNKS_OF_A_SEGMENT: u64 = 4;
/// Bytes of a segment where chunks are small.
const SEGMENT_BYTES: u64 = 4 << 20;
/// Tasks that a plan may have.
const MOST_WRITERS: u64 = 1 << 24;

/// Subfiles that several tasks write.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Sharing {
    /// Tasks in all; their numbers are below.
    pub writers: u64,
    /// Tasks of a subfile.
    pub factor: u64,
    /// Where blocks begin, in bytes.
    pub alignment: u64,
    datasets: BTreeMap<String, SharedDataset>,
}

/// A dataset of the whole container, and who writes what of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct SharedDataset {
    /// How many datasets of the plan were defined before it.
    created: u64,
    datatype: Hex,
    dataspace: Hex,
    fill_value: Option<Hex>,
    /// Name of the time at which the fill value is written, if it is not the default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    fill_time: Option<String>,
    chunk_shape: Option<Vec<u64>>,
    filters: Vec<(u16, Option<String>, bool, Vec<u32>)>,
    cut: Cut,
}

/// What each task writes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
enum Cut {
    /// Rows, as many for each as for the others, cut at multiples of `unit`.
    Even { unit: u64 },
    /// These.
    Regions(Vec<Region>),
}

/// Where a dataset's values are in a shared subfile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// One run of bytes from this address on.
    Run(u64),
    /// Chunks, row-major from `base` on, `stride` bytes apart.
    Chunks { base: u64, stride: u64 },
    /// Chunks wherever each task has room, in segments of its own.
    Segments,
}

/// What one shared subfile holds.
#[derive(Debug)]
pub(crate) struct Layout {
    /// By path: the part of the dataset that is here, its definition, and its place.
    pub datasets: BTreeMap<String, (Region, DatasetDefinition, Place)>,
    /// Where the places end that are known before, and segments begin.
    pub fixed_end: u64,
    segment_bytes: u64,
    slots: u64,
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

impl SharedDataset {
    fn definition(&self) -> Result<DatasetDefinition> {
        let filter = |(id, name, optional, parameters): &(u16, Option<String>, bool, Vec<u32>)| Filter { id: *id, name: name.clone(), optional: *optional, parameters: parameters.clone() };
        Ok(DatasetDefinition {
            committed: None,
            datatype: parse_datatype(&self.datatype.0)?,
            dataspace: parse_dataspace(&self.dataspace.0)?,
            chunk_shape: self.chunk_shape.clone(),
            filters: Pipeline { filters: self.filters.iter().map(filter).collect() },
            fill_value: self.fill_value.as_ref().map(|fill| fill.0.clone()),
            fill_time: fill_time(self.fill_time.as_deref())?,
        })
    }

    fn region(&self, shape: &[u64], writer: u64, writers: u64) -> Result<Region> {
        match &self.cut {
            Cut::Regions(regions) => {
                let region = usize::try_from(writer).ok().and_then(|writer| regions.get(writer));
                region.cloned().ok_or_else(|| Error::invalid_input(format!("a plan without a region for task {writer}")))
            }
            Cut::Even { unit } => {
                let rows = shape.first().copied().unwrap_or(0);
                let unit = (*unit).max(1);
                let cut = |number: u64| {
                    let units = u128::from(rows.div_ceil(unit)) * u128::from(number) / u128::from(writers.max(1));
                    u64::try_from(units * u128::from(unit)).unwrap_or(u64::MAX).min(rows)
                };
                let (first, end) = (cut(writer), cut(writer.saturating_add(1)));
                Ok(Region::rows(shape, first, end - first))
            }
        }
    }
}

impl Sharing {
    /// No datasets yet. `factor` is how many tasks write one subfile.
    pub fn new(writers: u64, factor: u64, alignment: u64) -> Result<Self> {
        if writers == 0 || factor == 0 || writers > MOST_WRITERS {
            return Err(Error::invalid_input(format!("{writers} tasks, {factor} to a subfile: give 1 to {MOST_WRITERS}")));
        }
        Ok(Self { writers, factor: factor.min(writers), alignment, datasets: BTreeMap::new() })
    }

    /// Adds a dataset of fixed extent that the tasks write together: the task with number `n` writes
    /// `regions[n]`, or its share of the rows where there are none.
    pub fn add(&mut self, path: &str, definition: DatasetDefinition, regions: Option<Vec<Region>>) -> Result<()> {
        let mut definition = definition.checked()?;
        let size = definition.datatype.size();
        let Dataspace::Simple { shape, max_shape } = &definition.dataspace else {
            return Err(Error::invalid_input("a scalar or empty dataset is not shared: define it in a task"));
        };
        if definition.datatype.uses_heap() {
            return Err(Error::unsupported("values of variable length in a shared subfile: define the dataset in the tasks"));
        }
        if shape.iter().zip(max_shape).any(|(extent, most)| *most != Some(*extent)) {
            return Err(Error::unsupported("a dataset that can grow in a shared subfile: define it in the tasks"));
        }
        let shape = shape.clone();
        let row_bytes = shape.iter().skip(1).fold(size, |n, extent| n.saturating_mul(*extent)).max(1);
        let filtered = !definition.filters.filters.is_empty();
        let cut = match regions {
            Some(regions) => {
                check_regions(&regions, self.writers, &shape)?;
                if definition.chunk_shape.is_none() {
                    definition.chunk_shape = self.aligned_chunk(&regions, &shape, row_bytes);
                }
                Cut::Regions(regions)
            }
            None => {
                let rows = shape.first().copied().unwrap_or(0);
                let blocks = self.alignment / gcd(self.alignment, row_bytes);
                let unit = match &definition.chunk_shape {
                    Some(chunk) => chunk.first().copied().unwrap_or(1),
                    // As many rows for each, to the row.
                    None if rows > 0 && rows % self.writers == 0 => {
                        let each = rows / self.writers;
                        let regions: Vec<Region> = (0..self.writers.min(2)).map(|n| Region::rows(&shape, n * each, each)).collect();
                        definition.chunk_shape = self.aligned_chunk(&regions, &shape, row_bytes);
                        each
                    }
                    // Rows that fill whole blocks, unless somebody got none then.
                    None if blocks.saturating_mul(self.writers) <= rows => blocks,
                    None => 1,
                };
                Cut::Even { unit }
            }
        };
        let filters = definition.filters.filters.iter().map(|f| (f.id, f.name.clone(), f.optional, f.parameters.clone())).collect();
        let dataset = SharedDataset {
            created: self.datasets.len() as u64,
            datatype: Hex(encode_datatype(&definition.datatype)?),
            dataspace: Hex(encode_dataspace(&definition.dataspace)?),
            fill_value: definition.fill_value.clone().map(Hex),
            fill_time: stored_fill_time(definition.fill_time),
            chunk_shape: definition.chunk_shape.clone(),
            filters,
            cut,
        };
        if self.datasets.contains_key(path) {
            return Err(Error::invalid_input("the plan has a dataset of this name already"));
        }
        self.datasets.insert(path.to_owned(), dataset);
        let checked = self.check(path, filtered);
        if checked.is_err() {
            self.datasets.remove(path);
        }
        checked
    }

    /// Chunks that give each task blocks of its own, where a run of bytes would not.
    fn aligned_chunk(&self, regions: &[Region], shape: &[u64], row_bytes: u64) -> Option<Vec<u64>> {
        let rows = regions.first()?.count.first().copied()?;
        if self.factor == 1 {
            return None;
        }
        let whole = |region: &Region| region.count.get(1..) == shape.get(1..);
        let starts = regions.iter().enumerate().all(|(number, region)| region.start.first().copied() == rows.checked_mul(number as u64));
        let alike = regions.iter().rev().skip(1).all(|region| region.count.first() == Some(&rows));
        let bytes = rows.checked_mul(row_bytes)?;
        let unaligned = bytes % self.alignment != 0 && bytes >= self.alignment;
        let chunk = || std::iter::once(rows).chain(shape.iter().skip(1).copied()).collect();
        (unaligned && alike && starts && regions.iter().all(whole) && bytes <= u64::from(u32::MAX)).then(chunk)
    }

    /// Whether every subfile can be laid out, and no chunk that is filtered belongs to two tasks.
    fn check(&self, path: &str, filtered: bool) -> Result<()> {
        for group in 0..self.groups() {
            let layout = self.layout(group)?;
            let Some((whole, definition, _)) = layout.datasets.get(path).filter(|_| filtered) else { continue };
            let Some(chunk) = &definition.chunk_shape else { continue };
            for writer in self.tasks(group) {
                let region = self.region(path, writer)?;
                let axes = region.start.iter().zip(&region.count).zip(whole.start.iter().zip(&whole.count)).zip(chunk);
                let cuts = axes.into_iter().any(|(((start, count), (origin, extent)), chunk)| {
                    let first = start.saturating_sub(*origin);
                    let end = first.saturating_add(*count);
                    first % chunk != 0 || (end % chunk != 0 && end != *extent)
                });
                if cuts && !region.count.contains(&0) {
                    return Err(Error::invalid_input(format!(
                        "chunks of shape {chunk:?} that are compressed belong to one task each, and the region of task {writer} cuts some: {region}"
                    )));
                }
            }
        }
        Ok(())
    }

    /// How many shared subfiles there are.
    pub fn groups(&self) -> u64 {
        self.writers.div_ceil(self.factor.max(1))
    }

    /// The subfile of a task.
    pub fn group_of(&self, task: u64) -> Result<u64> {
        if task >= self.writers {
            return Err(Error::invalid_input(format!("task {task} of a plan for {} tasks", self.writers)));
        }
        Ok(task / self.factor.max(1))
    }

    /// The tasks of a subfile.
    pub fn tasks(&self, group: u64) -> std::ops::Range<u64> {
        let first = group.saturating_mul(self.factor);
        first..first.saturating_add(self.factor).min(self.writers)
    }

    fn dataset(&self, path: &str) -> Result<&SharedDataset> {
        self.datasets.get(path).ok_or_else(|| Error::not_found("there is no such dataset in the plan").at_object(format!("/{path}")))
    }

    /// The datasets with their definitions for the whole container, in the order in which they were added.
    pub fn definitions(&self) -> impl Iterator<Item = Result<(&str, DatasetDefinition)>> {
        let mut datasets: Vec<(&String, &SharedDataset)> = self.datasets.iter().collect();
        datasets.sort_by_key(|(_, dataset)| dataset.created);
        datasets.into_iter().map(|(path, dataset)| Ok((path.as_str(), dataset.definition()?)))
    }

    /// What a task writes of a dataset.
    pub fn region(&self, path: &str, task: u64) -> Result<Region> {
        let dataset = self.dataset(path)?;
        let region = dataset.region(parse_dataspace(&dataset.dataspace.0)?.shape(), task, self.writers)?;
        Ok(region)
    }

    /// What the subfile with this number holds. Bytes of a plan may come from anywhere: what does not fit
    /// together is `InvalidInput`.
    pub fn layout(&self, group: u64) -> Result<Layout> {
        let too_large = || Error::unsupported("a shared subfile of 8 EiB or more");
        if !self.alignment.is_power_of_two() {
            return Err(Error::invalid_input("a plan whose alignment is no power of two"));
        }
        let mut datasets = BTreeMap::new();
        let mut end = SUPERBLOCK_BYTES;
        let (mut largest, mut appended) = (0u64, 0u64);
        for (path, dataset) in &self.datasets {
            let mut definition = dataset.definition()?.checked()?;
            let shape = definition.dataspace.shape().to_vec();
            let mut whole: Option<Region> = None;
            let mut empty = true;
            for task in self.tasks(group) {
                let region = dataset.region(&shape, task, self.writers)?;
                if !region.fits(&shape) {
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
            let Some(whole) = whole else { return Err(Error::invalid_input(format!("shared subfile {group}, which no task writes"))) };
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
                None => Place::Run(take(bytes).ok_or_else(too_large)?),
                Some(chunk) => {
                    let chunk_bytes = chunk.iter().try_fold(size, |n, extent| n.checked_mul(*extent)).ok_or_else(too_large)?;
                    let chunks = whole.count.iter().zip(chunk).try_fold(1u64, |n, (extent, chunk)| n.checked_mul(extent.div_ceil((*chunk).max(1)))).ok_or_else(too_large)?;
                    let stride = chunk_bytes.checked_next_multiple_of(if chunk_bytes >= self.alignment { self.alignment } else { 8 }).ok_or_else(too_large)?;
                    let all = chunks.checked_mul(stride).ok_or_else(too_large)?;
                    if definition.filters.filters.is_empty() {
                        Place::Chunks { base: take(all).ok_or_else(too_large)?, stride }
                    } else {
                        largest = largest.max(stride);
                        appended = appended.saturating_add(all);
                        Place::Segments
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

    /// The segments of a task in its subfile.
    pub fn segments(&self, layout: &Layout, task: u64) -> Result<Segments> {
        let too_large = || Error::unsupported("a shared subfile of 8 EiB or more");
        let slot = task % self.factor.max(1);
        let first = slot.checked_mul(layout.segment_bytes).and_then(|at| at.checked_add(layout.fixed_end)).ok_or_else(too_large)?;
        let step = layout.slots.checked_mul(layout.segment_bytes).ok_or_else(too_large)?;
        Ok(Segments { first, step, bytes: layout.segment_bytes, used: 0, number: 0 })
    }
}

/// The name of a shared subfile.
pub(crate) fn name_of(group: u64) -> String {
    format!("shared-{group:04}.h5")
}

/// One region a task, within the dataset, none of which shares an element with another.
fn check_regions(regions: &[Region], writers: u64, shape: &[u64]) -> Result<()> {
    if regions.len() as u64 != writers {
        return Err(Error::invalid_input(format!("{} regions for {writers} tasks", regions.len())));
    }
    if let Some((task, region)) = regions.iter().enumerate().find(|(_, region)| !region.fits(shape)) {
        return Err(Error::invalid_input(format!("task {task} with {region} of a dataset of shape {shape:?}")));
    }
    let first = |region: &Region| region.start.first().copied().unwrap_or(0);
    let mut sorted: Vec<(usize, &Region)> = regions.iter().enumerate().filter(|(_, region)| !region.count.contains(&0)).collect();
    sorted.sort_by_key(|(_, region)| first(region));
    for (number, (task, region)) in sorted.iter().enumerate() {
        let end = first(region).saturating_add(region.count.first().copied().unwrap_or(1));
        let after = sorted.iter().skip(number + 1).take_while(|(_, other)| first(other) < end);
        if let Some((other, shared)) = after.into_iter().find_map(|(other, found)| Some((other, found.shared(region)?))) {
            return Err(Error::invalid_input(format!("tasks {task} and {other} are both to write the {:?} elements from {:?} on", shared.count, shared.start)));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyperslab_array::{ByteOrder, Datatype};

    type Outcome = std::result::Result<(), Box<dyn std::error::Error>>;

    fn definition(shape: &[u64], chunk: Option<&[u64]>) -> DatasetDefinition {
        let mut made = DatasetDefinition::new(Datatype::integer(4, true, ByteOrder::Little), Dataspace::fixed(shape.to_vec()));
        made.chunk_shape = chunk.map(<[u64]>::to_vec);
        made
    }

    #[test]
    fn rows_are_shared_out_evenly_in_whole_blocks_or_chunks() -> Outcome {
        for (rows, writers, chunk, unit) in [(100_000, 7, None, 1024), (100, 7, None, 1), (100, 3, Some([8]), 8), (2, 5, None, 1), (7000, 7, None, 1000)] {
            let mut sharing = Sharing::new(writers, 2, 4096)?;
            sharing.add("x", definition(&[rows], chunk.as_ref().map(|chunk| &chunk[..])), None)?;
            let regions = (0..writers).map(|task| sharing.region("x", task)).collect::<Result<Vec<_>>>()?;
            assert_eq!(regions.iter().map(|region| region.count[0]).sum::<u64>(), rows);
            assert!(regions.windows(2).all(|pair| pair[0].start[0] + pair[0].count[0] == pair[1].start[0]));
            assert!(regions.iter().all(|region| region.start[0] % unit == 0), "{regions:?}");
            assert!(sharing.region("x", writers).is_ok_and(|region| region.count == [0]) && sharing.group_of(writers).is_err());
        }
        Ok(())
    }

    #[test]
    fn every_task_begins_on_a_block_also_where_its_part_is_no_multiple() -> Outcome {
        let mut sharing = Sharing::new(6, 3, 4096)?;
        let regions = (0..6u64).map(|task| Region { start: vec![task * 5000], count: vec![5000] }).collect();
        sharing.add("odd", definition(&[30_000], None), Some(regions))?;
        sharing.add("even", definition(&[6 * 1024], None), None)?;
        sharing.add("alike", definition(&[6 * 5000], None), None)?;
        let layout = sharing.layout(1)?;
        let (whole, odd, place) = layout.datasets.get("odd").ok_or("odd")?;
        assert_eq!((whole.start[0], whole.count[0], odd.chunk_shape.clone()), (15_000, 15_000, Some(vec![5000])));
        assert!(matches!(place, Place::Chunks { base, stride: 20_480 } if base % 4096 == 0), "{place:?}");
        assert!(matches!(layout.datasets.get("even"), Some((_, _, Place::Run(at))) if at % 4096 == 0));
        assert_eq!(layout.datasets.get("alike").map(|(whole, d, _)| (whole.clone(), d.chunk_shape.clone())), layout.datasets.get("odd").map(|(whole, d, _)| (whole.clone(), d.chunk_shape.clone())));
        assert!(layout.fixed_end % 4096 == 0);
        Ok(())
    }

    #[test]
    fn what_cannot_be_shared_is_refused() -> Outcome {
        let mut sharing = Sharing::new(2, 2, 4096)?;
        let halves = |at: u64| Some(vec![Region { start: vec![0], count: vec![at] }, Region { start: vec![5], count: vec![5] }]);
        let refused = |outcome: Result<()>| outcome.err().map(|error| error.to_string()).unwrap_or_default();
        assert!(refused(sharing.add("x", definition(&[10], None), halves(6))).contains("both to write"));
        assert!(refused(sharing.add("x", definition(&[9], None), halves(5))).contains("task 1"));
        let mut packed = definition(&[10], Some(&[4]));
        packed.filters.filters.push(Filter { id: 1, name: None, optional: true, parameters: vec![4] });
        assert!(refused(sharing.add("x", packed.clone(), halves(5))).contains("belong to one task"));
        packed.chunk_shape = Some(vec![5]);
        sharing.add("x", packed.clone(), halves(5))?;
        assert!(refused(sharing.add("x", packed, halves(5))).contains("already"));
        Ok(())
    }
}
