//! Index plan: decides which datasets are indexed, at which level, where, and in which tasks. Reads metadata only, except for
//! samples of values if it has to choose a level.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::PathBuf;

use hyperslab_array::{Cancellation, Datatype, Error, Result};
use hyperslab_formats::{ObjectId, StorageLayout};
use hyperslab_predicate::KeyType;
use hyperslab_reader::File;
use hyperslab_scan::pruner::Level;

use super::commit::commit_datasets;
use super::composite_targets::{Together, composite_values, together};
use super::dataset_task::{DatasetFragment, DatasetTask};
use super::request::IndexRequest;
use super::targets::{Target, targets};
use super::task::{IndexTask, build};
use crate::block::block_grid::BlockGrid;
use crate::freshness::fingerprint;
use crate::freshness::indexed_parts::IndexedParts;
use crate::freshness::indexed_values::{IndexedValues, supported_level};
use crate::registry::{index_folder, trusts_all};
use crate::store::catalog::Catalog;
use crate::store::manifest::{IndexFileEntry, IndexedDataset, Manifest, PartPlace};
use crate::store::places;
use crate::store::stamp::Stamp;
use crate::store::sweep::{Building, TASK_FILE_MAX_AGE, sweep};

/// Maximum number of distinct values in each sampled block for which bitmaps are chosen.
const MAX_SAMPLED_DISTINCT_VALUES: usize = 64;
/// Bytes of an index of words for a text of about five words; how long texts are is only known after reading them.
const INDEX_BYTES_OF_TEXT: u64 = 16;

/// The plan for one dataset.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct PlannedIndex {
    /// Path of the file.
    pub file: String,
    /// Path of the dataset, followed by the name of the member if it is compound: `/table/energy`.
    pub path: String,
    /// The level of its index.
    pub level: Level,
    /// Why this level was chosen, or why nothing is to be done.
    pub reason: String,
    /// Number of values.
    pub elements: u64,
    /// Size of the decoded values in bytes.
    pub value_bytes: u64,
    /// Estimated size of the index in bytes.
    pub index_bytes: u64,
    /// Whether the index must be built.
    pub needed: bool,
}

/// The sidecars that a plan has read, each once.
type Catalogs = HashMap<PathBuf, Catalog>;

/// A planned build of indexes.
#[derive(Clone)]
pub struct IndexPlan {
    datasets: Vec<PlannedIndex>,
    tasks: Vec<DatasetTask>,
    /// For each task its file if this has foreign arrays, since such a file cannot be opened by its name.
    foreign: Vec<Option<File>>,
}

impl IndexPlan {
    /// Plans the indexes of `files`. Datasets that a wildcard or a group includes and that cannot have an index are
    /// skipped, with a reason in [`IndexPlan::datasets`]; so are members of a compound dataset that is named as a whole.
    ///
    /// # Errors
    /// `NotFound` for a path that nothing matches; `Unsupported` if a dataset that is named explicitly cannot have an
    /// index; `Io` or `Corrupt` if samples of values cannot be read; `Cancelled`.
    pub fn new(files: &[File], request: &IndexRequest, cancellation: &Cancellation) -> Result<Self> {
        if files.is_empty() || (request.datasets.is_empty() && request.composites.is_empty()) {
            return Err(Error::invalid_input("an index needs at least one file and one dataset"));
        }
        if request.level == Some(Level::Composite) && !request.datasets.is_empty() {
            return Err(Error::invalid_input("an index of level C is of several datasets together: name them together, or choose another level"));
        }
        if let Some(level) = request.level.filter(|level| *level != Level::Composite && request.datasets.is_empty()) {
            let letter = level.letter();
            return Err(Error::invalid_input(format!("level {letter} is of single datasets, and composite indexes have level C: leave it out")));
        }
        let mut plan = Self { datasets: Vec::new(), tasks: Vec::new(), foreign: Vec::new() };
        let (mut found_any, mut catalogs) = (false, Catalogs::new());
        for file in files {
            let mut seen = HashSet::new();
            for pattern in &request.datasets {
                for Target { path, found, member, is_named } in targets(file, pattern)? {
                    if !seen.insert((found.file.path().to_path_buf(), found.object, member.clone())) {
                        continue;
                    }
                    found_any = true;
                    match plan.add(&found.file, found.object, member.as_deref(), request, &mut catalogs, cancellation) {
                        Ok(()) => {}
                        Err(error) if is_named => return Err(error.at_object(&path).in_file(file.name())),
                        Err(error) => plan.leave_out(file, path, Level::Zone, &error),
                    }
                }
            }
            let mut known = HashSet::new();
            for patterns in &request.composites {
                for Together { path, targets, is_named } in together(file, patterns)? {
                    found_any = true;
                    if !known.insert(path.clone()) {
                        continue;
                    }
                    match targets.and_then(|targets| plan.add_composite(&targets, request, &mut catalogs, cancellation)) {
                        Ok(()) => {}
                        Err(error) if is_named => return Err(error.at_object(&path).in_file(file.name())),
                        Err(error) => plan.leave_out(file, path, Level::Composite, &error),
                    }
                }
            }
        }
        if !found_any {
            let patterns: Vec<&str> = request.datasets.iter().chain(request.composites.iter().flatten()).map(String::as_str).collect();
            return Err(Error::not_found(format!("no dataset matches {}", hyperslab_array::shown::shown(&patterns.join(", ")))));
        }
        Ok(plan)
    }

    /// Lists what cannot have an index.
    fn leave_out(&mut self, file: &File, path: String, level: Level, error: &Error) {
        let reason = format!("left out: {}", error.message());
        self.datasets.push(PlannedIndex { file: file.name(), path, level, reason, elements: 0, value_bytes: 0, index_bytes: 0, needed: false });
    }

    fn add(
        &mut self,
        file: &File,
        dataset: ObjectId,
        member: Option<&str>,
        request: &IndexRequest,
        catalogs: &mut Catalogs,
        cancellation: &Cancellation,
    ) -> Result<()> {
        cancellation.check()?;
        let description = file.dataset(dataset)?;
        if let Some(refusal) = fingerprint::refusal(&description) {
            return Err(refusal);
        }
        let values = IndexedParts::of(IndexedValues::new(file, dataset, member, request.raw)?);
        self.add_values(file, &values, request, catalogs, cancellation)
    }

    /// Plans a composite index of these datasets, in this order.
    fn add_composite(&mut self, targets: &[Target], request: &IndexRequest, catalogs: &mut Catalogs, cancellation: &Cancellation) -> Result<()> {
        let (file, values) = composite_values(targets, request.raw)?;
        self.add_values(&file, &values, request, catalogs, cancellation)
    }

    fn add_values(&mut self, file: &File, values: &IndexedParts, request: &IndexRequest, catalogs: &mut Catalogs, cancellation: &Cancellation) -> Result<()> {
        cancellation.check()?;
        let (first, description) = (&values.first, file.dataset(values.first.dataset)?);
        let path = file.path_of(first.dataset)?;
        let stamp = stamp_of(file)?;
        let shape = description.dataspace.shape().to_vec();
        let grid = fingerprint::grid(&description);
        let identity = values.identity(file)?;
        let fingerprint = values.fingerprint(file)?;
        let folder = folder_for(file, request)?;
        let name =
            file.path().file_name().and_then(|name| name.to_str()).ok_or_else(|| Error::unsupported("an index of a file whose name is not valid UTF-8"))?;
        let read = || Catalog::new(Manifest::read(&folder).unwrap_or_else(|_| Manifest::empty()).renamed(name, request.shared_sidecar));
        let indexed = catalogs.entry(folder.clone()).or_insert_with(read).dataset(name, &path, &identity);
        // Blocks of a stranger's index are not kept: they would become part of an index of this user.
        let indexed = indexed.filter(|(_, before)| before.is_own || trusts_all(file.session()));
        let before = indexed.map(|(_, before)| before);
        let (level, reason) = level_of(file, values, (request.level, before), &grid, cancellation)?;
        let same_grid = before.filter(|before| before.grid == grid && before.level == level && !request.rebuild);
        let valid = same_grid.is_some_and(|before| indexed.is_some_and(|(built_for, _)| built_for == stamp) && before.fingerprint == fingerprint);
        let elements: u64 = shape.iter().fold(1, |n, extent| n.saturating_mul(*extent));
        let width: u64 = values.iter().map(|values| values.column.field().data_type().primitive_width().unwrap_or(1) as u64).sum();
        self.datasets.push(PlannedIndex {
            file: file.name(),
            path: values.label(file)?,
            level,
            reason: if valid { "already built and valid".to_owned() } else { reason },
            elements,
            value_bytes: elements.saturating_mul(width),
            index_bytes: estimated_bytes(level, elements, width),
            needed: !valid,
        });
        let previous: Vec<IndexFileEntry> = same_grid.map(|before| before.index_files.clone()).unwrap_or_default();
        if !valid {
            self.foreign.push((!file.array_file().is_stored()).then(|| file.clone()));
            self.tasks.push(DatasetTask {
                file: file.name(),
                path: path.to_string(),
                member: first.member.as_ref().map(|member| member.name.clone()),
                others: values.others.iter().map(|values| place_of(file, values)).collect::<Result<_>>()?,
                folder,
                name: name.to_owned(),
                stamp,
                identity,
                data_type: values.iter().map(|values| values.column.field().data_type().to_string()).collect::<Vec<String>>().join(", "),
                raw: request.raw,
                level,
                shape,
                grid,
                fingerprint,
                previous,
                part: 0,
                parts: 1,
                is_local: true,
            });
        }
        Ok(())
    }

    /// The datasets, with the planned level and the reason.
    pub fn datasets(&self) -> &[PlannedIndex] {
        &self.datasets
    }

    /// Size of the values that will be read, in bytes.
    pub fn value_bytes(&self) -> u64 {
        self.datasets.iter().filter(|dataset| dataset.needed).map(|dataset| dataset.value_bytes).sum()
    }

    /// Divides the build into about `count` tasks of similar cost, which can run in any thread, process or machine.
    pub fn tasks(&self, count: usize) -> Vec<IndexTask> {
        IndexTask::balanced(&self.tasks, count)
    }

    /// Builds and commits all indexes in this process and returns the number of datasets. `progress` is called with the number of
    /// bytes of values processed since the last call; the total is [`IndexPlan::value_bytes`].
    ///
    /// # Errors
    /// As [`IndexTask::run`] and [`commit`](crate::commit).
    pub fn run(&self, session: &hyperslab_reader::Session, cancellation: &Cancellation, progress: &(dyn Fn(u64) + Sync)) -> Result<u64> {
        // Until the commit, the new index files must not be mistaken for leftover files.
        let building = Building::begin(self.tasks.iter().map(|task| &task.folder))?;
        let mut fragments: Vec<DatasetFragment> = Vec::new();
        let all: Vec<(&DatasetTask, &Option<File>)> = self.tasks.iter().zip(&self.foreign).collect();
        for of_file in all.chunk_by(|(a, _), (b, _)| a.file == b.file && a.folder == b.folder && a.stamp == b.stamp) {
            let Some((first, foreign)) = of_file.first() else { continue };
            let tasks: Vec<&DatasetTask> = of_file.iter().map(|(task, _)| *task).collect();
            let opened = foreign.as_ref().map_or_else(|| session.open(&first.file), |file| Ok(file.clone()));
            let built = opened.and_then(|opened| build(&opened, &tasks, cancellation, progress));
            match built {
                Ok(built) => fragments.extend(built),
                Err(error) => {
                    drop(building);
                    fragments.iter().for_each(DatasetFragment::discard);
                    self.tasks.iter().for_each(DatasetTask::discard);
                    return Err(error);
                }
            }
        }
        let count = commit_datasets(&fragments.iter().collect::<Vec<_>>())?;
        drop(building);
        for folder in self.tasks.iter().map(|task| &task.folder).collect::<BTreeSet<_>>() {
            sweep(folder, TASK_FILE_MAX_AGE, false)?;
        }
        Ok(count)
    }
}

/// The path of a dataset of a composite index, and its member.
fn place_of(file: &File, values: &IndexedValues) -> Result<PartPlace> {
    Ok(PartPlace { path: file.path_of(values.dataset)?.to_string(), member: values.member.as_ref().map(|member| member.name.clone()) })
}

/// The state of the file that an index is built for.
fn stamp_of(file: &File) -> Result<Stamp> {
    Stamp::of(file).ok_or_else(|| {
        Error::unsupported(if !file.array_file().is_stored() {
            "an index of arrays that are not all in one file or folder, opened for reading only: their changes could not be detected"
        } else {
            "an index of a file that is made of several files, or whose modification time is unknown"
        })
    })
}

/// The folder that the index of a file is built in.
fn folder_for(file: &File, request: &IndexRequest) -> Result<PathBuf> {
    let folder = places::sidecar(file.path(), request.shared_sidecar, index_folder(file.session()));
    if folder.symlink_metadata().is_ok_and(|found| found.is_symlink()) {
        return Err(Error::unsupported(format!(
            "an index in '{}': it is a symbolic link, which is not followed; give its folder as index_folder",
            folder.display()
        )));
    }
    Ok(folder)
}

/// The level of an index and the reason for it. `requested` is followed first, then the level of the index `before`.
fn level_of(
    file: &File,
    values: &IndexedParts,
    (requested, before): (Option<Level>, Option<&IndexedDataset>),
    grid: &BlockGrid,
    cancellation: &Cancellation,
) -> Result<(Level, String)> {
    match (requested, before) {
        _ if values.is_composite() => Ok((Level::Composite, "for boxes in all of them".to_owned())),
        (Some(level), _) => Ok((supported_level(level, &values.first.column)?, "as requested".to_owned())),
        (None, Some(before)) => Ok((before.level, "as in the existing index".to_owned())),
        (None, None) => choose_level(file, &values.first, grid, cancellation),
    }
}

/// Estimated bytes of an index of `elements` elements of `width` bytes each.
fn estimated_bytes(level: Level, elements: u64, width: u64) -> u64 {
    // Bytes for 64 elements.
    let share = match level {
        Level::Zone => 0,
        Level::Keys => width,
        Level::Positions => 128 + width,
        Level::Exact => 128 + width + 20 * width,
        Level::Bitmaps => 32,
        Level::Words => 64 * INDEX_BYTES_OF_TEXT,
        Level::Composite => 140 + 3 * width + 52 * width,
    };
    let blocks = elements.div_ceil(1 << 16);
    (elements.saturating_mul(share) / 64).saturating_add(blocks * 200)
}

/// Chooses the level for a dataset. Returns it with the reason.
fn choose_level(file: &File, values: &IndexedValues, grid: &BlockGrid, cancellation: &Cancellation) -> Result<(Level, String)> {
    let description = file.dataset(values.dataset)?;
    let data_type = values.column.field().data_type();
    let Some(key_type) = KeyType::of(data_type) else {
        let is_enumeration = matches!(values.column.datatype(), Datatype::Enum { .. });
        return Ok(if is_enumeration { (Level::Bitmaps, "names of an enumeration".to_owned()) } else { (Level::Words, "text".to_owned()) });
    };
    if key_type.width() == 1 {
        return Ok((Level::Bitmaps, "values of one byte".to_owned()));
    }
    if !matches!(key_type, KeyType::Float(_)) && has_few_distinct_values(file, values, grid, cancellation)? {
        return Ok((Level::Bitmaps, "few distinct values".to_owned()));
    }
    if !file.array_file().is_stored() {
        return Ok((Level::Exact, "foreign array: single values cannot be read".to_owned()));
    }
    if !description.filters.is_empty() {
        return Ok((Level::Exact, "filtered: reading single values would decompress whole chunks".to_owned()));
    }
    if description.storage == StorageLayout::Virtual {
        return Ok((Level::Exact, "virtual: the values are in other files".to_owned()));
    }
    if !values.column.is_as_stored() {
        return Ok((Level::Exact, "decoded: the values differ from those that are stored".to_owned()));
    }
    Ok((Level::Positions, "unfiltered: single values can be read from the data".to_owned()))
}

/// Whether the first, the middle and the last block have few distinct values.
fn has_few_distinct_values(file: &File, values: &IndexedValues, grid: &BlockGrid, cancellation: &Cancellation) -> Result<bool> {
    let shape = file.dataset(values.dataset)?.dataspace.shape().to_vec();
    let Some(key_type) = KeyType::of(values.column.field().data_type()) else { return Ok(false) };
    let places = [0u64, 1, 2].map(|third| shape.iter().map(|extent| extent.saturating_sub(1) * third / 2).collect::<Vec<u64>>());
    for place in places {
        if shape.contains(&0) {
            return Ok(false);
        }
        let axes = place.iter().map(|index| hyperslab_array::Axis::range(*index, index + 1)).collect();
        let blocks = grid.touched(&shape, &hyperslab_array::Selection::new(axes, &shape)?)?;
        for block in blocks {
            let array = values.read(file, &block, &shape, cancellation)?;
            let distinct: HashSet<Option<u64>> = key_type.keys(&array)?.into_iter().collect();
            if distinct.len() > MAX_SAMPLED_DISTINCT_VALUES {
                return Ok(false);
            }
        }
    }
    Ok(true)
}
