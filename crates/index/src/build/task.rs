//! Task and fragment: a part of a build as plain data, and what it leaves behind.
//!
//! A task is of one file: some of the blocks of a large dataset, or many small datasets, so that the file is opened once.

use std::path::Path;

use hyperslab_array::{Cancellation, Error, Result};
use hyperslab_reader::{File, Session};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::store::index_files::SegmentFiles;
use crate::store::manifest::VERSION;
use crate::store::shared_files::SharedSegments;
use super::block::Builder;
use super::fragment::{DatasetFragment, DatasetTask};

/// Elements that a dataset counts for at least when tasks are balanced: looking it up costs about as much as these.
const MIN_COST: u64 = 1 << 12;
/// Datasets that one thread builds at a time.
const DATASETS_OF_A_THREAD: usize = 16;

/// A unit of building. Self-sufficient plain data.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct IndexTask {
    version: u32,
    datasets: Vec<DatasetTask>,
}

/// What a task has built.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct IndexFragment {
    version: u32,
    pub(crate) datasets: Vec<DatasetFragment>,
}

/// Decodes versioned JSON.
fn decode<T: for<'a> Deserialize<'a>>(bytes: &[u8], what: &str) -> Result<T> {
    #[derive(Deserialize)]
    struct Version {
        version: u32,
    }
    let bad = |error: serde_json::Error| Error::invalid_input(format!("these bytes are no {what}: {error}"));
    let Version { version } = serde_json::from_slice(bytes).map_err(bad)?;
    if version != VERSION {
        return Err(Error::invalid_input(format!("this {what} has version {version}, this release knows {VERSION}")));
    }
    serde_json::from_slice(bytes).map_err(bad)
}

impl IndexFragment {
    /// As bytes.
    pub fn encode(&self) -> Result<Vec<u8>> {
        serde_json::to_vec(self).map_err(|error| Error::internal(format!("cannot encode a fragment: {error}")))
    }
    /// The fragment of these bytes; `InvalidInput` for others.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        let fragment: Self = decode(bytes, "fragment of an index")?;
        fragment.datasets.iter().try_for_each(DatasetFragment::check)?;
        Ok(fragment)
    }
    /// Blocks that were built, and blocks that were valid and kept.
    pub fn blocks(&self) -> (u64, u64) {
        self.datasets.iter().fold((0, 0), |(built, kept), dataset| (built + dataset.built_blocks, kept + dataset.kept_blocks))
    }
}

impl IndexTask {
    /// As bytes.
    pub fn encode(&self) -> Result<Vec<u8>> {
        serde_json::to_vec(self).map_err(|error| Error::internal(format!("cannot encode a task: {error}")))
    }
    /// The task of these bytes; `InvalidInput` for others.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        let task: Self = decode(bytes, "task of an index")?;
        task.of_one_file()?;
        task.datasets.iter().try_for_each(DatasetTask::check_names)?;
        Ok(task)
    }

    /// Tasks for datasets, about `count` of them: large datasets are cut, small ones of a file put together.
    pub(crate) fn balanced(datasets: &[DatasetTask], count: usize) -> Vec<Self> {
        let cost = |dataset: &DatasetTask| dataset.elements().max(MIN_COST);
        let total: u64 = datasets.iter().map(cost).sum();
        let target = total.div_ceil(count.max(1) as u64).max(1);
        let (mut tasks, mut together, mut costs): (Vec<Self>, Vec<DatasetTask>, u64) = (Vec::new(), Vec::new(), 0);
        for dataset in datasets {
            let here = cost(dataset);
            let fits = together.first().is_none_or(|first| first.file == dataset.file && first.folder == dataset.folder && first.stamp == dataset.stamp);
            if (here >= target || costs + here > target || !fits) && !together.is_empty() {
                tasks.push(Self::of(std::mem::take(&mut together)));
                costs = 0;
            }
            if here >= target {
                tasks.extend(dataset.cut(dataset.elements().div_ceil(target).max(1)).into_iter().map(|part| Self::of(vec![part])));
            } else {
                together.push(dataset.clone());
                costs += here;
            }
        }
        if !together.is_empty() {
            tasks.push(Self::of(together));
        }
        tasks
    }

    fn of(datasets: Vec<DatasetTask>) -> Self {
        Self { version: VERSION, datasets }
    }

    fn of_one_file(&self) -> Result<&DatasetTask> {
        let first = self.datasets.first().ok_or_else(|| Error::invalid_input("these bytes are no task of an index: no dataset"))?;
        let same = |other: &DatasetTask| other.file == first.file && other.folder == first.folder && other.name == first.name && other.stamp == first.stamp;
        if self.datasets.iter().all(same) { Ok(first) } else { Err(Error::invalid_input("these bytes are no task of an index: datasets of several files")) }
    }

    /// Builds its blocks in the session's threads, into segments that nobody sees before the commit.
    /// `progress` hears bytes of values. `Conflict` when the file is not the one that was planned, or changes.
    pub fn run(&self, session: &Session, cancellation: &Cancellation, progress: &(dyn Fn(u64) + Sync)) -> Result<IndexFragment> {
        let file = session.open(&self.of_one_file()?.file)?;
        let datasets: Vec<&DatasetTask> = self.datasets.iter().collect();
        Ok(IndexFragment::of(build(&file, &datasets, cancellation, progress)?))
    }
}

impl IndexFragment {
    pub(crate) fn of(datasets: Vec<DatasetFragment>) -> Self {
        Self { version: VERSION, datasets }
    }
}

/// Builds datasets of one open file, which go into one folder.
pub(crate) fn build(file: &File, datasets: &[&DatasetTask], cancellation: &Cancellation, progress: &(dyn Fn(u64) + Sync)) -> Result<Vec<DatasetFragment>> {
    let Some(first) = datasets.first() else { return Ok(Vec::new()) };
    let folder: &Path = &first.folder;
    first.check(file)?;
    let previous = SegmentFiles::new(folder);
    let mut built: Vec<(usize, DatasetFragment)> = Vec::with_capacity(datasets.len());
    let numbered = datasets.iter().copied().enumerate();
    let (small, large): (Vec<_>, Vec<_>) = numbered.partition(|(_, dataset)| datasets.len() > 1 && dataset.is_small());
    for (number, dataset) in large {
        built.push((number, dataset.build(file, &previous, cancellation, progress)?));
    }
    if !small.is_empty() {
        let shared = SharedSegments::new(folder, first.is_local);
        let of_thread = |some: &[(usize, &DatasetTask)]| {
            let mut builder = Builder::default();
            let one = |(number, dataset): &(usize, &DatasetTask)| Ok((*number, dataset.build_small(file, &mut builder, &shared, &previous, cancellation, progress)?));
            some.iter().map(one).collect::<Result<Vec<_>>>()
        };
        let parts: Vec<Vec<_>> = file.session().compute(|| small.par_chunks(DATASETS_OF_A_THREAD).map(of_thread).collect())?;
        built.extend(parts.into_iter().flatten());
        shared.finish()?;
    }
    first.check(file)?;
    built.sort_by_key(|(number, _)| *number);
    Ok(built.into_iter().map(|(_, fragment)| fragment).collect())
}
