//! Datasets that tasks write together into shared subfiles. Everything follows from the plan, so writers need no locks and
//! no messages.

use std::collections::BTreeMap;

use hyperslab_array::{Dataspace, Error, HeapObjects, Result};
use hyperslab_formats::filter::{Filter, Pipeline};
use hyperslab_formats::hdf5::writer::{encode_dataspace, encode_datatype, parse_dataspace, parse_datatype};
use serde::{Deserialize, Serialize};

use super::task_regions::{TaskRegions, check_regions};
use crate::encoding::fill_time::{fill_time, stored_fill_time};
use crate::encoding::hex::Hex;
use crate::file::definition::DatasetDefinition;
use crate::file::regions::region::Region;

/// Maximum number of tasks of a plan.
const MAX_WRITERS: u64 = 1 << 24;

/// The datasets of shared subfiles.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SharedDatasets {
    /// Number of tasks; task indexes are below it.
    pub writers: u64,
    /// Number of tasks that share one subfile.
    pub factor: u64,
    /// Alignment of blocks in bytes.
    pub alignment: u64,
    pub(crate) datasets: BTreeMap<String, SharedDataset>,
}

/// A dataset of the whole container, and which part each task writes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SharedDataset {
    /// Number of datasets of the plan defined before it.
    pub(crate) created: u64,
    pub(crate) datatype: Hex,
    pub(crate) dataspace: Hex,
    pub(crate) fill_value: Option<Hex>,
    /// Name of the fill time, if it is not the default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) fill_time: Option<String>,
    pub(crate) chunk_shape: Option<Vec<u64>>,
    pub(crate) filters: Vec<(u16, Option<String>, bool, Vec<u32>)>,
    /// Which part each task writes.
    #[serde(rename = "cut")]
    pub(crate) task_regions: TaskRegions,
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

impl SharedDataset {
    pub fn definition(&self) -> Result<DatasetDefinition> {
        let filter = |(id, name, optional, parameters): &(u16, Option<String>, bool, Vec<u32>)| Filter {
            id: *id,
            name: name.clone(),
            optional: *optional,
            parameters: parameters.clone(),
        };
        Ok(DatasetDefinition {
            committed: None,
            datatype: parse_datatype(&self.datatype.0)?,
            dataspace: parse_dataspace(&self.dataspace.0)?,
            chunk_shape: self.chunk_shape.clone(),
            filters: Pipeline { filters: self.filters.iter().map(filter).collect() },
            fill_value: self.fill_value.as_ref().map(|fill| fill.0.clone()),
            fill_heap: HeapObjects::default(),
            is_fill_undefined: false,
            fill_time: fill_time(self.fill_time.as_deref())?,
            allocation: None,
            is_compact: false,
        })
    }
}

impl SharedDatasets {
    /// Without datasets. `factor` tasks share one subfile.
    pub fn new(writers: u64, factor: u64, alignment: u64) -> Result<Self> {
        if writers == 0 || factor == 0 || writers > MAX_WRITERS {
            return Err(Error::invalid_input(format!("{writers} tasks, {factor} to a subfile: give 1 to {MAX_WRITERS}")));
        }
        Ok(Self { writers, factor: factor.min(writers), alignment, datasets: BTreeMap::new() })
    }

    /// Adds a dataset of fixed shape that the tasks write together: task `i` writes `regions[i]`, or an equal share of the
    /// rows if `regions` is `None`.
    pub fn add(&mut self, path: &str, definition: DatasetDefinition, regions: Option<Vec<Region>>) -> Result<()> {
        let mut definition = definition.checked()?;
        let size = definition.datatype.size();
        let Dataspace::Simple { shape, max_shape } = &definition.dataspace else {
            return Err(Error::invalid_input("a scalar or empty dataset is not shared: define it in a task"));
        };
        if definition.datatype.uses_heap() {
            return Err(Error::unsupported("values of variable length in a shared subfile: define the dataset in the tasks"));
        }
        if shape.iter().zip(max_shape).any(|(extent, max)| *max != Some(*extent)) {
            return Err(Error::unsupported("a dataset that can grow in a shared subfile: define it in the tasks"));
        }
        let shape = shape.clone();
        let row_bytes = shape.iter().skip(1).fold(size, |n, extent| n.saturating_mul(*extent)).max(1);
        let filtered = !definition.filters.filters.is_empty();
        let task_regions = match regions {
            Some(regions) => {
                check_regions(&regions, self.writers, &shape)?;
                if definition.chunk_shape.is_none() {
                    definition.chunk_shape = self.aligned_chunk(&regions, &shape, row_bytes);
                }
                TaskRegions::Regions(regions)
            }
            None => TaskRegions::Even { unit: self.rows_together(&mut definition, &shape, row_bytes) },
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
            task_regions,
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

    /// How many rows of a dataset stay together if the tasks write equal shares. Chooses a chunk shape if that gives each task blocks of its own.
    fn rows_together(&self, definition: &mut DatasetDefinition, shape: &[u64], row_bytes: u64) -> u64 {
        let rows = shape.first().copied().unwrap_or(0);
        let blocks = self.alignment / gcd(self.alignment, row_bytes);
        match &definition.chunk_shape {
            Some(chunk) => chunk.first().copied().unwrap_or(1),
            // Rows divide evenly among the tasks.
            None if rows > 0 && rows % self.writers == 0 => {
                let each = rows / self.writers;
                let regions: Vec<Region> = (0..self.writers.min(2)).map(|n| Region::rows(shape, n * each, each)).collect();
                definition.chunk_shape = self.aligned_chunk(&regions, shape, row_bytes);
                each
            }
            // Shares that fill whole blocks, unless a task would get no rows.
            None if blocks.saturating_mul(self.writers) <= rows => blocks,
            None => 1,
        }
    }

    /// A chunk shape that gives each task its own aligned blocks, if contiguous storage would not.
    fn aligned_chunk(&self, regions: &[Region], shape: &[u64], row_bytes: u64) -> Option<Vec<u64>> {
        let rows = regions.first()?.count.first().copied()?;
        if self.factor == 1 {
            return None;
        }
        let whole = |region: &Region| region.count.get(1..) == shape.get(1..);
        let starts = regions.iter().enumerate().all(|(index, region)| region.start.first().copied() == rows.checked_mul(index as u64));
        let alike = regions.iter().rev().skip(1).all(|region| region.count.first() == Some(&rows));
        let bytes = rows.checked_mul(row_bytes)?;
        let unaligned = bytes % self.alignment != 0 && bytes >= self.alignment;
        let chunk = || std::iter::once(rows).chain(shape.iter().skip(1).copied()).collect();
        (unaligned && alike && starts && regions.iter().all(whole) && bytes <= u64::from(u32::MAX)).then(chunk)
    }

    /// Checks that every subfile has a valid layout, and that no filtered chunk belongs to two tasks.
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
                        "compressed chunks of shape {chunk:?} must belong to one task each; the region of task {writer} cuts some: {region}"
                    )));
                }
            }
        }
        Ok(())
    }

    /// Number of shared subfiles.
    pub fn groups(&self) -> u64 {
        self.writers.div_ceil(self.factor.max(1))
    }

    /// Index of the shared subfile of a task.
    pub fn group_of(&self, task: u64) -> Result<u64> {
        if task >= self.writers {
            return Err(Error::invalid_input(format!("task {task} of a plan for {} tasks", self.writers)));
        }
        Ok(task / self.factor.max(1))
    }

    /// Tasks of a shared subfile.
    pub fn tasks(&self, group: u64) -> std::ops::Range<u64> {
        let first = group.saturating_mul(self.factor);
        first..first.saturating_add(self.factor).min(self.writers)
    }

    fn dataset(&self, path: &str) -> Result<&SharedDataset> {
        self.datasets.get(path).ok_or_else(|| Error::not_found("there is no such dataset in the plan").at_object(format!("/{path}")))
    }

    /// Paths and definitions in the whole container, in the order in which datasets were added.
    pub fn definitions(&self) -> impl Iterator<Item = Result<(&str, DatasetDefinition)>> {
        let mut datasets: Vec<(&String, &SharedDataset)> = self.datasets.iter().collect();
        datasets.sort_by_key(|(_, dataset)| dataset.created);
        datasets.into_iter().map(|(path, dataset)| Ok((path.as_str(), dataset.definition()?)))
    }

    /// The region of a dataset that a task writes.
    pub fn region(&self, path: &str, task: u64) -> Result<Region> {
        let dataset = self.dataset(path)?;
        let region = dataset.task_regions.region(parse_dataspace(&dataset.dataspace.0)?.shape(), task, self.writers)?;
        Ok(region)
    }
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
            let mut sharing = SharedDatasets::new(writers, 2, 4096)?;
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
    fn what_cannot_be_shared_is_refused() -> Outcome {
        let mut sharing = SharedDatasets::new(2, 2, 4096)?;
        let halves = |at: u64| Some(vec![Region { start: vec![0], count: vec![at] }, Region { start: vec![5], count: vec![5] }]);
        let refused = |outcome: Result<()>| outcome.err().map(|error| error.to_string()).unwrap_or_default();
        assert!(refused(sharing.add("x", definition(&[10], None), halves(6))).contains("both write"));
        assert!(refused(sharing.add("x", definition(&[9], None), halves(5))).contains("task 1"));
        let mut packed = definition(&[10], Some(&[4]));
        packed.filters.filters.push(Filter { id: 1, name: None, optional: true, parameters: vec![4] });
        assert!(refused(sharing.add("x", packed.clone(), halves(5))).contains("must belong to one task"));
        packed.chunk_shape = Some(vec![5]);
        sharing.add("x", packed.clone(), halves(5))?;
        assert!(refused(sharing.add("x", packed, halves(5))).contains("already"));
        Ok(())
    }
}
