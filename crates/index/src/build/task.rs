//! Task and fragment: one unit of a build, and its result, as plain data.
//!
//! All datasets of a task are in one data file, which is opened once: a part of a large dataset, or many small datasets.
//! Encoded tasks and fragments are JSON with a checksum ([`Envelope`]), since they travel over networks: a changed digit could
//! otherwise name other blocks without an error.

use std::path::Path;

use hyperslab_array::{Cancellation, Envelope, Error, Result};
use hyperslab_reader::{File, Session};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::dataset_build::{BuildContext, build_alone, build_into};
use super::dataset_task::{DatasetFragment, DatasetTask};
use crate::block::block_builder::Builder;
use crate::store::index_files::IndexFiles;
use crate::store::manifest::VERSION;
use crate::store::shared_file::SharedFile;

const TASK: Envelope = Envelope::new("an index task", VERSION);
const FRAGMENT: Envelope = Envelope::new("an index fragment", VERSION);
/// Minimum cost of a dataset when tasks are balanced, in elements: finding a dataset takes as long as indexing about this
/// many.
const MIN_DATASET_COST: u64 = 1 << 12;
/// Number of small datasets that one thread builds at a time.
const DATASETS_PER_TASK: usize = 16;

/// A unit of a build: plain data that any process with access to the files can run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct IndexTask {
    version: u32,
    datasets: Vec<DatasetTask>,
}

/// The result of a task; pass all fragments of a plan to [`commit`](crate::commit).
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct IndexFragment {
    version: u32,
    pub(crate) datasets: Vec<DatasetFragment>,
}

impl IndexFragment {
    /// Encodes the fragment; [`IndexFragment::decode`] reads the result.
    ///
    /// # Errors
    /// `Internal` if the data cannot be encoded.
    pub fn encode(&self) -> Result<Vec<u8>> {
        FRAGMENT.encode(self)
    }

    /// Decodes a fragment.
    ///
    /// # Errors
    /// `InvalidInput` for bytes that are not one, damaged or of another version.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        let fragment: Self = FRAGMENT.decode(bytes)?;
        fragment.datasets.iter().try_for_each(DatasetFragment::check)?;
        Ok(fragment)
    }

    /// The number of blocks that were built, and of blocks that were still valid and kept.
    pub fn blocks(&self) -> (u64, u64) {
        self.datasets.iter().fold((0, 0), |(built, kept), dataset| (built + dataset.built_blocks, kept + dataset.kept_blocks))
    }
}

impl IndexTask {
    /// Encodes the task; [`IndexTask::decode`] reads the result.
    ///
    /// # Errors
    /// `Internal` if the data cannot be encoded.
    pub fn encode(&self) -> Result<Vec<u8>> {
        TASK.encode(self)
    }

    /// Decodes a task.
    ///
    /// # Errors
    /// `InvalidInput` for bytes that are not one, damaged or of another version.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        let task: Self = TASK.decode(bytes)?;
        task.first_dataset()?;
        task.datasets.iter().try_for_each(DatasetTask::check)?;
        Ok(task)
    }

    /// Divides datasets into about `count` tasks of similar cost: splits large datasets and combines small ones of a file.
    pub(crate) fn balanced(datasets: &[DatasetTask], count: usize) -> Vec<Self> {
        let cost = |dataset: &DatasetTask| dataset.elements().max(MIN_DATASET_COST);
        let total: u64 = datasets.iter().map(cost).sum();
        let target = total.div_ceil(count.max(1) as u64).max(1);
        let (mut tasks, mut combined, mut costs): (Vec<Self>, Vec<DatasetTask>, u64) = (Vec::new(), Vec::new(), 0);
        for dataset in datasets {
            let here = cost(dataset);
            let fits = combined.first().is_none_or(|first| first.file == dataset.file && first.folder == dataset.folder && first.stamp == dataset.stamp);
            if (here >= target || costs + here > target || !fits) && !combined.is_empty() {
                tasks.push(Self::of(std::mem::take(&mut combined)));
                costs = 0;
            }
            if here >= target {
                tasks.extend(dataset.cut(dataset.elements().div_ceil(target).max(1)).into_iter().map(|part| Self::of(vec![part])));
            } else {
                combined.push(dataset.clone());
                costs += here;
            }
        }
        if !combined.is_empty() {
            tasks.push(Self::of(combined));
        }
        tasks
    }

    fn of(datasets: Vec<DatasetTask>) -> Self {
        Self { version: VERSION, datasets }
    }

    /// The first dataset. `InvalidInput` if there is none, or if the datasets are not all in one file.
    fn first_dataset(&self) -> Result<&DatasetTask> {
        let first = self.datasets.first().ok_or_else(|| Error::invalid_input("not a valid index task: it has no dataset"))?;
        let is_same_file =
            |other: &DatasetTask| other.file == first.file && other.folder == first.folder && other.name == first.name && other.stamp == first.stamp;
        if self.datasets.iter().all(is_same_file) { Ok(first) } else { Err(Error::invalid_input("not a valid index task: its datasets are in several files")) }
    }

    /// Builds the blocks in the session's threads, into index files that are invisible before the commit. `progress` is called
    /// with the number of bytes of values processed since the last call.
    ///
    /// # Errors
    /// `Conflict` if the file has changed since the plan; `Io` if an index file cannot be written. `Io`, `Corrupt`,
    /// `Unsupported` or `LimitExceeded` if values cannot be read; `Cancelled`.
    pub fn run(&self, session: &Session, cancellation: &Cancellation, progress: &(dyn Fn(u64) + Sync)) -> Result<IndexFragment> {
        let file = session.open(&self.first_dataset()?.file)?;
        let datasets: Vec<&DatasetTask> = self.datasets.iter().collect();
        Ok(IndexFragment { version: VERSION, datasets: build(&file, &datasets, cancellation, progress)? })
    }
}

/// Builds datasets of one open file, which all go into one sidecar.
pub(crate) fn build(file: &File, datasets: &[&DatasetTask], cancellation: &Cancellation, progress: &(dyn Fn(u64) + Sync)) -> Result<Vec<DatasetFragment>> {
    let Some(first) = datasets.first() else { return Ok(Vec::new()) };
    let folder: &Path = &first.folder;
    first.check_file(file)?;
    let context = BuildContext { file, previous: &IndexFiles::new(folder), cancellation, progress };
    let mut built: Vec<(usize, DatasetFragment)> = Vec::with_capacity(datasets.len());
    let indexed = datasets.iter().copied().enumerate();
    let (small, large): (Vec<_>, Vec<_>) = indexed.partition(|(_, dataset)| datasets.len() > 1 && dataset.is_small());
    for (index, dataset) in large {
        built.push((index, build_alone(dataset, context)?));
    }
    if !small.is_empty() {
        let shared = SharedFile::new(folder, first.is_local);
        let build_some = |some: &[(usize, &DatasetTask)]| {
            let mut builder = Builder::default();
            let build_one = |(index, dataset): &(usize, &DatasetTask)| Ok((*index, build_into(dataset, context, &mut builder, &shared)?));
            some.iter().map(build_one).collect::<Result<Vec<_>>>()
        };
        let parts: Vec<Vec<_>> = file.session().compute(|| small.par_chunks(DATASETS_PER_TASK).map(build_some).collect())?;
        built.extend(parts.into_iter().flatten());
        shared.finish()?;
    }
    first.check_file(file)?;
    built.sort_by_key(|(index, _)| *index);
    Ok(built.into_iter().map(|(_, fragment)| fragment).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::block_grid::BlockGrid;
    use crate::store::index_file_name::{IndexFileName, IndexFilePlace};
    use crate::store::manifest::IndexFileEntry;
    use crate::store::stamp::Stamp;
    use hyperslab_scan::pruner::Level;

    fn task() -> IndexTask {
        let grid = BlockGrid { outer: vec![100], inner: vec![100] };
        let text = |text: &str| text.to_owned();
        let entry = IndexFileEntry { place: IndexFilePlace::Sidecar(IndexFileName::generate(false)), bytes: 10, blocks: 1, build: 0, offset: 0 };
        let dataset = DatasetTask {
            file: text("/data/a.h5"),
            path: text("/x"),
            member: None,
            others: Vec::new(),
            folder: "/data/a.h5.hsidx".into(),
            name: text("a.h5"),
            stamp: Stamp::default(),
            identity: text("1"),
            data_type: text("Float32"),
            raw: false,
            level: Level::Exact,
            shape: vec![100],
            grid,
            fingerprint: text("2"),
            previous: vec![entry],
            part: 0,
            parts: 1,
            is_local: true,
        };
        IndexTask::of(vec![dataset])
    }

    #[test]
    fn each_changed_byte_of_a_task_and_of_a_fragment_is_refused() -> Result<()> {
        let task = task();
        let dataset = task.datasets.first().cloned().ok_or_else(|| Error::internal("no dataset"))?;
        let fragment = IndexFragment {
            version: VERSION,
            datasets: vec![DatasetFragment { task: dataset, index_file: None, kept: Vec::new(), built_blocks: 3, kept_blocks: 4 }],
        };
        let (task, fragment) = (task.encode()?, fragment.encode()?);
        assert!(IndexTask::decode(&task).is_ok());
        assert!(IndexFragment::decode(&fragment).is_ok_and(|fragment| fragment.blocks() == (3, 4)));
        for good in [task, fragment] {
            for index in 0..good.len() {
                for change in [1, 0x20, 0xff] {
                    let mut bad = good.clone();
                    bad[index] ^= change;
                    let errors = [IndexTask::decode(&bad).err(), IndexFragment::decode(&bad).err()];
                    assert!(errors.iter().flatten().filter(|error| error.message().contains("damaged")).count() == 2, "byte {index}");
                }
            }
        }
        Ok(())
    }
}
