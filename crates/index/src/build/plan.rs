//! Index plan: which datasets are indexed, at which level, where, and in which tasks. Reads metadata, and some
//! values where a level is to be picked.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::PathBuf;

use hyperslab_array::{Cancellation, Error, Result};
use hyperslab_columns::{Column, Decoding};
use hyperslab_formats::{Content, Format, LinkTarget, ObjectId, StorageLayout};
use hyperslab_predicate::KeyType;
use hyperslab_reader::File;
use hyperslab_scan::{expand_path, has_wildcard};
use hyperslab_scan::pruner::Level;

use crate::freshness::source::{self, Stamp};
use crate::registry::index_folder;
use crate::store::catalog::Catalog;
use crate::store::manifest::{Manifest, SegmentName};
use crate::store::places;
use crate::store::sweep::{Building, OF_TASKS, sweep};
use super::block_grid::BlockGrid;
use super::commit::commit_datasets;
use super::fragment::{DatasetFragment, DatasetTask};
use super::request::IndexRequest;
use super::task::{IndexTask, build};

/// Distinct values of a sampled block, at most, for which bitmaps are picked.
const FEW_DISTINCT: usize = 64;

/// One dataset that is to be indexed.
#[derive(Debug, Clone)]
pub struct PlannedIndex {
    /// The file.
    pub file: String,
    /// Path of the dataset.
    pub path: String,
    /// What each block will know.
    pub level: Level,
    /// Why this level, or why nothing is to be done.
    pub reason: String,
    /// Values, all blocks together.
    pub elements: u64,
    /// Bytes of the values, decoded.
    pub value_bytes: u64,
    /// About as many bytes the index will have.
    pub index_bytes: u64,
    /// Whether there is anything to do.
    pub needed: bool,
}

/// What sidecars have, each read once for a plan.
type Catalogs = HashMap<PathBuf, Catalog>;

/// A planned build.
#[derive(Clone)]
pub struct IndexPlan {
    datasets: Vec<PlannedIndex>,
    tasks: Vec<DatasetTask>,
    /// Of each task its file, where that is of somebody else's arrays: nobody can open it by its name.
    foreign: Vec<Option<File>>,
}

impl IndexPlan {
    /// Plans the indexes of `files`. `Unsupported` names a dataset that cannot have one; datasets that a
    /// wildcard or a group brought are then left out and listed.
    pub fn new(files: &[File], request: &IndexRequest, cancellation: &Cancellation) -> Result<Self> {
        if files.is_empty() || request.datasets.is_empty() {
            return Err(Error::invalid_input("an index needs at least one file and one dataset"));
        }
        let mut plan = Self { datasets: Vec::new(), tasks: Vec::new(), foreign: Vec::new() };
        let (mut found_any, mut catalogs) = (false, Catalogs::new());
        for file in files {
            let mut seen = HashSet::new();
            for pattern in &request.datasets {
                for (path, named) in datasets(file, pattern)? {
                    let found = file.find(&path)?;
                    if !seen.insert((found.file.path().to_path_buf(), found.object)) {
                        continue;
                    }
                    found_any = true;
                    match plan.add(&found.file, found.object, request, &mut catalogs, cancellation) {
                        Ok(()) => {}
                        Err(error) if named => return Err(error.at_object(&path).in_file(file.name())),
                        Err(error) => plan.datasets.push(PlannedIndex {
                            file: file.name(),
                            path,
                            level: Level::Zone,
                            reason: format!("left out: {}", error.message()),
                            elements: 0,
                            value_bytes: 0,
                            index_bytes: 0,
                            needed: false,
                        }),
                    }
                }
            }
        }
        if !found_any {
            return Err(Error::not_found(format!("no dataset matches {}", hyperslab_array::shown::shown(&request.datasets.join(", ")))));
        }
        Ok(plan)
    }

    fn add(&mut self, file: &File, dataset: ObjectId, request: &IndexRequest, catalogs: &mut Catalogs, cancellation: &Cancellation) -> Result<()> {
        cancellation.check()?;
        let description = file.dataset(dataset)?;
        if let Some(refusal) = source::refusal(description) {
            return Err(refusal);
        }
        let object = file.object(dataset)?;
        let column = column_of(file, dataset, request.raw)?;
        let stamp = Stamp::of(file).ok_or_else(|| Error::unsupported(if file.is_foreign() {
            "an index of arrays that are not all in one file or folder, open for reading only: nobody could tell whether they have changed"
        } else {
            "an index of a file whose time of change is not known"
        }))?;
        let shape = description.dataspace.shape().to_vec();
        let grid = source::grid(description);
        let identity = source::identity(&column);
        let fingerprint = source::fingerprint(file, dataset)?;
        let folder = places::sidecar(file.path(), request.together, index_folder(file.session()));
        if folder.symlink_metadata().is_ok_and(|found| found.is_symlink()) {
            return Err(Error::unsupported(format!("an index in '{}': it is a symbolic link, which is not followed; give its folder as index_folder", folder.display())));
        }
        let name = file.path().file_name().and_then(|name| name.to_str()).ok_or_else(|| Error::unsupported("an index of a file whose name is no text"))?;
        let read = || Catalog::new(Manifest::read(&folder).unwrap_or_else(|_| Manifest::empty()).renamed(name, request.together));
        let indexed = catalogs.entry(folder.clone()).or_insert_with(read).dataset(name, &object.path, &identity);
        let before = indexed.map(|(_, before)| before);
        let (level, reason) = match (request.level, before) {
            (Some(level), _) => (check(level, &column)?, "as asked for".to_owned()),
            (None, Some(before)) => (before.level, "as it was".to_owned()),
            (None, None) => pick(file, dataset, &column, &grid, cancellation)?,
        };
        let same_grid = before.filter(|before| before.grid == grid && before.level == level && !request.anew);
        let valid = same_grid.is_some_and(|before| indexed.is_some_and(|(built_for, _)| built_for == stamp) && before.fingerprint == fingerprint);
        let elements: u64 = shape.iter().fold(1, |n, extent| n.saturating_mul(*extent));
        let width = column.field().data_type().primitive_width().unwrap_or(1) as u64;
        let share = match level {
            Level::Zone => 0,
            Level::Keys => width,
            Level::Positions => 128 + width,
            Level::Exact => 128 + width + 20 * width,
            Level::Bitmaps => 32,
        };
        let blocks = elements.div_ceil(1 << 16);
        self.datasets.push(PlannedIndex {
            file: file.name(),
            path: object.path.clone(),
            level,
            reason: if valid { "there already, and valid".to_owned() } else { reason },
            elements,
            value_bytes: elements.saturating_mul(width),
            index_bytes: (elements.saturating_mul(share) / 64).saturating_add(blocks * 200),
            needed: !valid,
        });
        let previous: Vec<SegmentName> = same_grid.map(|before| before.segments.clone()).unwrap_or_default();
        if !valid {
            self.foreign.push(file.is_foreign().then(|| file.clone()));
            self.tasks.push(DatasetTask::new(file.name(), object.path.clone(), folder, name.to_owned(), stamp, identity, column.field().data_type().to_string(), request.raw, level, shape, grid, fingerprint, previous));
        }
        Ok(())
    }

    /// The datasets, with what will be done and why.
    pub fn datasets(&self) -> &[PlannedIndex] {
        &self.datasets
    }

    /// Bytes of values that will be read.
    pub fn value_bytes(&self) -> u64 {
        self.datasets.iter().filter(|dataset| dataset.needed).map(|dataset| dataset.value_bytes).sum()
    }

    /// Units of building, to be run in any thread, process or machine, about `count` of them: large datasets are cut,
    /// small ones of a file are put together.
    pub fn tasks(&self, count: usize) -> Vec<IndexTask> {
        IndexTask::balanced(&self.tasks, count)
    }

    /// Builds everything here. `progress` hears bytes of values that are done, of [`IndexPlan::value_bytes`].
    pub fn run(&self, session: &hyperslab_reader::Session, cancellation: &Cancellation, progress: &(dyn Fn(u64) + Sync)) -> Result<u64> {
        // Until the commit: what is built is not taken for leftovers.
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
            sweep(folder, OF_TASKS, false)?;
        }
        Ok(count)
    }
}

/// A dataset's values as a table shows them, or as they are stored.
pub(crate) fn column_of(file: &File, dataset: ObjectId, raw: bool) -> Result<Column> {
    let object = file.object(dataset)?;
    let description = file.dataset(dataset)?;
    if let Some(error) = object.attributes_error.as_ref().filter(|_| !raw) {
        return Err(error.clone());
    }
    let decoding = match (raw, file.format()) {
        (true, _) => Decoding::Raw,
        (false, Format::Hdf5) => Decoding::Attributes,
        (false, Format::Netcdf3 | Format::Netcdf4) => Decoding::Netcdf,
    };
    let name = object.path.rsplit('/').next().filter(|name| !name.is_empty()).unwrap_or("value");
    let column = Column::new(name, &description.datatype, &object.attributes, decoding)?;
    check(Level::Bitmaps, &column)?;
    Ok(column)
}

/// Whether a column can have an index of this level.
fn check(level: Level, column: &Column) -> Result<Level> {
    let data_type = column.field().data_type();
    let text = matches!(data_type, arrow_schema::DataType::Utf8)
        || matches!(data_type, arrow_schema::DataType::Dictionary(_, values) if **values == arrow_schema::DataType::Utf8);
    match KeyType::of(data_type) {
        Some(_) => Ok(level),
        None if text && level == Level::Bitmaps => Ok(level),
        None if text => Err(Error::unsupported(format!("an index of level {} of text: it has bitmaps (B) only", level.letter()))),
        None => Err(Error::unsupported(format!("an index of {data_type}"))),
    }
}

/// The level for a dataset, and why.
fn pick(file: &File, dataset: ObjectId, column: &Column, grid: &BlockGrid, cancellation: &Cancellation) -> Result<(Level, String)> {
    let description = file.dataset(dataset)?;
    let data_type = column.field().data_type();
    let Some(key_type) = KeyType::of(data_type) else { return Ok((Level::Bitmaps, "text".to_owned())) };
    if key_type.width() == 1 {
        return Ok((Level::Bitmaps, "values of one byte".to_owned()));
    }
    if !matches!(key_type, KeyType::Float(_)) && few_distinct(file, dataset, column, grid, cancellation)? {
        return Ok((Level::Bitmaps, "few distinct values".to_owned()));
    }
    if file.is_foreign() {
        return Ok((Level::Exact, "an array of another library, whose single values are not read".to_owned()));
    }
    if !description.filters.is_empty() {
        return Ok((Level::Exact, "filtered: the data would have to be decompressed to be looked at".to_owned()));
    }
    if description.storage == StorageLayout::Virtual {
        return Ok((Level::Exact, "virtual: the values are in other files".to_owned()));
    }
    if !column.is_as_stored() {
        return Ok((Level::Exact, "stored otherwise than shown: the data would have to be decoded to be looked at".to_owned()));
    }
    Ok((Level::Positions, "unfiltered and local: single values are read from the data".to_owned()))
}

/// Whether some blocks have few distinct values.
fn few_distinct(file: &File, dataset: ObjectId, column: &Column, grid: &BlockGrid, cancellation: &Cancellation) -> Result<bool> {
    let shape = file.dataset(dataset)?.dataspace.shape().to_vec();
    let Some(key_type) = KeyType::of(column.field().data_type()) else { return Ok(false) };
    let places = [0u64, 1, 2].map(|third| shape.iter().map(|extent| extent.saturating_sub(1) * third / 2).collect::<Vec<u64>>());
    for place in places {
        if shape.contains(&0) {
            return Ok(false);
        }
        let axes = place.iter().map(|index| hyperslab_array::Axis::range(*index, index + 1)).collect();
        let blocks = grid.touched(&shape, &hyperslab_array::Selection::new(axes, &shape)?)?;
        for block in blocks {
            let elements = file.read(dataset, &block.selection(&shape)?, cancellation)?;
            let array = column.to_arrow(&elements.bytes, &elements.heap)?;
            let distinct: HashSet<Option<u64>> = key_type.keys(&array)?.into_iter().collect();
            if distinct.len() > FEW_DISTINCT {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

/// The datasets that a pattern means, and whether it names them one by one.
fn datasets(file: &File, pattern: &str) -> Result<Vec<(String, bool)>> {
    let mut all = Vec::new();
    let wild = has_wildcard(pattern);
    for path in expand_path(file, pattern)? {
        let found = file.find(&path)?;
        let object = found.file.object(found.object)?;
        match &object.content {
            Content::Group(group) => {
                let members = group.links.iter().filter(|link| {
                    matches!(link.target, LinkTarget::Hard(id) if found.file.tree().dataset(id).is_some())
                });
                all.extend(members.map(|link| (format!("{}/{}", path.trim_end_matches('/'), link.name), false)));
            }
            _ => all.push((path, !wild)),
        }
    }
    Ok(all)
}
