//! Indexes: the sidecars that a session has found, and the one [`Pruner`] there is.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::sync::atomic::AtomicU64;

use hyperslab_array::{Error, ErrorKind, Result};
use hyperslab_columns::Column;
use hyperslab_formats::{ObjectId, StorageLayout};
use hyperslab_predicate::KeyType;
use hyperslab_reader::{Extensions, File, Session};
use hyperslab_scan::pruner::{ColumnIndex, Pruner, SessionPruner};

use crate::build::plan::column_of;
use crate::freshness::compared;
use crate::freshness::source::{self, Stamp};
use crate::query::block_directory::Table;
use crate::query::column::IndexedColumn;
use crate::store::catalog::Catalog;
use crate::store::embedded::{self, Validity};
use crate::store::index_files::SegmentFiles;
use crate::store::index_reader::Segment;
use crate::store::manifest::{self, IndexedDataset, IndexedFile, Manifest};
use crate::store::places::{Kind, Place, Version, places};

/// The sidecars that were read, by their paths.
#[derive(Default)]
pub struct Indexes {
    sidecars: Mutex<HashMap<PathBuf, Arc<Sidecar>>>,
    elsewhere: Option<PathBuf>,
}

/// A sidecar as its manifest was when it was read.
struct Sidecar {
    place: Place,
    /// Of the manifest, or of the file where the index is in it.
    version: Version,
    catalog: Result<Catalog>,
    segments: SegmentFiles,
    /// Of an embedded index: which times of change of the file it is valid for.
    validity: Option<Validity>,
    tables: Mutex<Tables>,
    /// Bytes of values that were compared, see [`compared::check`].
    compared: AtomicU64,
}

/// Tables that were loaded, and of which version of each file they are.
#[derive(Default)]
struct Tables {
    all: HashMap<TableKey, Result<Arc<Table>>>,
    versions: HashMap<String, (Option<Version>, Stamp)>,
}

/// A dataset with an index that can be used.
pub(super) struct IndexedTable {
    pub path: String,
    pub dataset: ObjectId,
    pub column: Column,
    pub table: Arc<Table>,
}

/// A column of a file in one version.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct TableKey {
    name: String,
    path: String,
    identity: String,
    stamp: Stamp,
    version: Option<Version>,
}

/// The extensions of a session that finds indexes beside its files, or first in `folder`, and lets scans use them.
pub fn extensions(folder: Option<PathBuf>) -> Extensions {
    let indexes = Arc::new(Indexes::new(folder));
    Extensions::default().with(SessionPruner(indexes.clone())).with(indexes)
}

/// The indexes that a session has found.
pub(super) fn indexes_of(session: &Session) -> Result<&Indexes> {
    session.extension::<Arc<Indexes>>().map(Arc::as_ref).ok_or_else(|| Error::internal("a session without indexes"))
}

/// The folder for the indexes of files in any folder, if the session has one.
pub(super) fn index_folder(session: &Session) -> Option<&Path> {
    session.extension::<Arc<Indexes>>().and_then(|indexes| indexes.elsewhere())
}

impl Indexes {
    /// Without sidecars yet; `elsewhere` is a folder for the indexes of files in any folder.
    pub fn new(elsewhere: Option<PathBuf>) -> Self {
        Self { sidecars: Mutex::default(), elsewhere }
    }

    pub fn elsewhere(&self) -> Option<&Path> {
        self.elsewhere.as_deref()
    }

    fn places(&self, file: &File) -> Vec<Place> {
        let places = places(file.path(), self.elsewhere());
        places.into_iter().filter(|place| place.kind != Kind::Embedded || !file.is_foreign()).collect()
    }

    /// The sidecar at a place as it is now, if there is one.
    fn sidecar(&self, place: &Place) -> Option<Arc<Sidecar>> {
        let version = match version_at(place) {
            Ok(Some(version)) => version,
            Ok(None) => return None,
            Err(error) => return Some(Arc::new(Sidecar::new(place, Version::default(), Err(error)))),
        };
        // A forked child must not wait for a thread that it does not have.
        let mut known = self.sidecars.try_lock();
        if let Some(sidecar) = known.as_ref().ok().and_then(|known| known.get(&place.path)).filter(|sidecar| sidecar.is_current(version)) {
            return Some(sidecar.clone()).filter(|sidecar| !sidecar.is_absent());
        }
        let sidecar = Arc::new(Sidecar::read(place, version));
        if let Ok(known) = &mut known {
            known.insert(place.path.clone(), sidecar.clone());
        }
        Some(sidecar).filter(|sidecar| !sidecar.is_absent())
    }

    /// The table of a column; why there is none, if a sidecar has one that cannot be used.
    fn table(&self, file: &File, dataset: ObjectId, column: &Column) -> Result<Option<Arc<Table>>> {
        let mut problem = None;
        for place in self.places(file) {
            let Some(sidecar) = self.sidecar(&place) else { continue };
            match sidecar.table(file, &place.name, dataset, column) {
                Ok(Some(table)) => return Ok(Some(table)),
                Ok(None) => {}
                Err(error) => problem = Some(error.in_file(place.path.display().to_string())),
            }
        }
        problem.map_or(Ok(None), Err)
    }

    /// The datasets of a file that have an index that can be used, each once with its table.
    pub(super) fn tables(&self, file: &File) -> Result<Vec<IndexedTable>> {
        let (mut found, mut known): (Vec<IndexedTable>, HashSet<(String, String)>) = Default::default();
        for place in self.places(file) {
            let Some(sidecar) = self.sidecar(&place) else { continue };
            let Ok(catalog) = &sidecar.catalog else { continue };
            for indexed in sidecar.candidates(catalog.manifest(), &place.name).flat_map(|indexed| &indexed.columns) {
                let Some((dataset, column)) = column_called(file, indexed) else { continue };
                if !known.contains(&(indexed.path.clone(), indexed.identity.clone()))
                    && let Some(table) = self.table(file, dataset, &column).ok().flatten()
                {
                    known.insert((indexed.path.clone(), indexed.identity.clone()));
                    found.push(IndexedTable { path: indexed.path.clone(), dataset, column, table });
                }
            }
        }
        Ok(found)
    }
}

/// The version of what is at a place; `None` if nothing is, an error if it cannot be told or must not be used.
fn version_at(place: &Place) -> Result<Option<Version>> {
    let is_absent = |error: &std::io::Error| matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory);
    if place.kind == Kind::Embedded {
        return Ok(Version::of(&place.path).ok());
    }
    match place.path.symlink_metadata() {
        Err(error) if is_absent(&error) => return Ok(None),
        Err(error) => return Err(error.into()),
        Ok(found) if found.is_symlink() => return Err(Error::unsupported("it is a symbolic link, which is not followed: give its folder as index_folder")),
        Ok(_) => {}
    }
    match Version::of_link(&place.path.join(manifest::NAME)) {
        Ok(version) => Ok(Some(version)),
        Err(error) if is_absent(&error) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// The dataset of an index in a file, and the column of it that was indexed.
fn column_called(file: &File, indexed: &IndexedDataset) -> Option<(ObjectId, Column)> {
    let found = file.find(&indexed.path).ok().filter(|found| found.file == *file)?;
    let columns = [false, true].into_iter().filter_map(|raw| column_of(file, found.object, raw).ok());
    let column = columns.into_iter().find(|column| source::identity(column) == indexed.identity)?;
    Some((found.object, column))
}

impl Sidecar {
    fn new(place: &Place, version: Version, manifest: Result<Manifest>) -> Self {
        Self { place: place.clone(), version, catalog: manifest.map(Catalog::new), segments: SegmentFiles::new(&place.path), validity: None, tables: Mutex::default(), compared: AtomicU64::new(0) }
    }

    fn read(place: &Place, version: Version) -> Self {
        if place.kind != Kind::Embedded {
            return Self::new(place, version, Manifest::read(&place.path));
        }
        match embedded::read(&place.path) {
            Ok((manifest, validity)) => Self { validity: Some(validity), ..Self::new(place, version, Ok(manifest)) },
            Err(error) => Self::new(place, version, Err(error)),
        }
    }

    /// Whether it is what is there now. An embedded index is told from its successors by its trailer, too.
    fn is_current(&self, version: Version) -> bool {
        self.version == version && self.validity.as_ref().is_none_or(|validity| validity.is_at_the_end_of(&self.place.path))
    }

    /// Whether the file has no index in it.
    fn is_absent(&self) -> bool {
        self.place.kind == Kind::Embedded && self.catalog.as_ref().is_err_and(|error| error.kind() == ErrorKind::NotFound)
    }

    /// What may be the index of the file called `name`, in the order of how likely. The file may have been renamed: its own
    /// sidecar was renamed with it, and an index in the file goes with it.
    fn candidates<'a>(&self, manifest: &'a Manifest, name: &str) -> impl Iterator<Item = &'a IndexedFile> + use<'a> {
        let renamed = self.place.kind != Kind::Together;
        let (called, others): (Vec<_>, Vec<_>) = manifest.files.iter().partition(|file| file.name == name);
        called.into_iter().chain(others.into_iter().filter(move |_| renamed))
    }

    /// Whether the stamp of a file says that an index is of it, without a look at the values.
    fn is_believed(&self, indexed: &IndexedFile, name: &str, now: Stamp) -> bool {
        match &self.validity {
            Some(validity) => validity.holds(now),
            None => indexed.name == name && indexed.stamp == now,
        }
    }

    fn table(&self, file: &File, name: &str, dataset: ObjectId, column: &Column) -> Result<Option<Arc<Table>>> {
        let catalog = self.catalog.as_ref().map_err(Error::clone)?;
        let path = &file.object(dataset)?.path;
        let identity = source::identity(column);
        let mut found: Vec<(&IndexedFile, &IndexedDataset)> = catalog.columns(name, path, &identity).collect();
        if self.place.kind != Kind::Together {
            found.extend(catalog.columns_of_others(name, path, &identity));
        }
        if found.is_empty() {
            return Ok(None);
        }
        let stale = |why: &str| Error::new(ErrorKind::Conflict, format!("the index of {path} is stale: {why}"));
        let now = Stamp::now(file.path());
        let Some(now) = now.filter(|_| Stamp::of(file) == now) else {
            return Err(stale(&format!("{name} has changed since it was opened")));
        };
        let believed = found.iter().find(|(indexed, _)| self.is_believed(indexed, name, now));
        // Values are compared where nothing speaks against it.
        let (found, is_believed) = match (believed, found.iter().find(|(indexed, _)| self.validity.is_some() || indexed.stamp.bytes == now.bytes)) {
            (Some((_, found)), _) => (*found, true),
            (None, Some((_, found))) => (*found, false),
            (None, None) => return Err(stale(&format!("{name} has changed since it was built; refresh it"))),
        };
        if is_another(file, dataset, found)? {
            return Err(stale("a source of this virtual dataset has changed since (or it is of another array); refresh it"));
        }
        let version = if file.is_foreign() { None } else { Version::of(file.path()).ok() };
        let key = TableKey { name: name.to_owned(), path: path.clone(), identity, stamp: now, version };
        let load = || {
            let table = self.load(file, dataset, found)?;
            if !is_believed {
                compared::check(file, dataset, column, &table, &self.compared)?;
                if Version::of(file.path()).ok() != version || version.is_none() {
                    return Err(stale(&format!("{name} is being changed")));
                }
            }
            Ok(table)
        };
        let mut tables = match self.tables.try_lock() {
            Ok(tables) => tables,
            Err(std::sync::TryLockError::Poisoned(poisoned)) => PoisonError::into_inner(poisoned),
            Err(std::sync::TryLockError::WouldBlock) => return load().map(Some),
        };
        if let Some(table) = tables.all.get(&key) {
            return table.clone().map(Some);
        }
        // Those of earlier versions of the file are not asked again.
        if tables.versions.insert(key.name.clone(), (key.version, key.stamp)) != Some((key.version, key.stamp)) {
            tables.all.retain(|known, _| known.name != key.name || (known.version, known.stamp) == (key.version, key.stamp));
        }
        let table = load();
        tables.all.insert(key, table.clone());
        table.map(Some)
    }

    /// Reads the rows of a dataset's segments. Damaged segments are left out, and their blocks are read.
    fn load(&self, file: &File, dataset: ObjectId, found: &IndexedDataset) -> Result<Arc<Table>> {
        let description = file.dataset(dataset)?;
        let shape = description.dataspace.shape();
        let changed = shape != found.shape || source::fingerprint(file, dataset)? != found.fingerprint || source::grid(description) != found.grid;
        if changed {
            let path = &found.path;
            return Err(Error::new(ErrorKind::Conflict, format!("the index of {path} is stale: its chunks are others; refresh it")));
        }
        table_of(&self.segments, file, found)
    }

    /// Why it is not used for `file`, or only in part.
    fn remarks(&self, indexes: &Indexes, file: &File, name: &str) -> Vec<String> {
        let shown = self.place.path.display();
        let manifest = match &self.catalog {
            Ok(catalog) => catalog.manifest(),
            Err(error) => return vec![format!("the index {shown} is not used: {}", error.message())],
        };
        // By reason the paths of the datasets.
        let mut refused: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        let now = Stamp::now(file.path());
        for indexed in self.candidates(manifest, name) {
            let is_believed = now.is_some_and(|now| Stamp::of(file) == Some(now) && self.is_believed(indexed, name, now));
            for column in &indexed.columns {
                let why = match column_called(file, column) {
                    None => Some("is stale: there is no such dataset any more, or its type or attributes are others; refresh it".to_owned()),
                    Some((dataset, _)) if is_believed => is_another(file, dataset, column).unwrap_or(true)
                        .then(|| "is stale: a source of this virtual dataset has changed since it was built (or it is of another array); refresh it".to_owned()),
                    Some((dataset, shown)) => indexes.table(file, dataset, &shown).err().map(|error| {
                        let message = error.message();
                        message.strip_prefix(&format!("the index of {} ", column.path)).unwrap_or(message).to_owned()
                    }),
                };
                if let Some(why) = why {
                    refused.entry(why).or_default().push(&column.path);
                }
            }
        }
        let mut remarks: Vec<String> = refused.into_iter().map(|(why, mut paths)| {
            paths.sort_unstable();
            paths.dedup();
            format!("the index {shown} of {} {why}", paths.join(", "))
        }).collect();
        let tables = self.tables.lock().unwrap_or_else(PoisonError::into_inner);
        for (key, table) in tables.all.iter().filter(|(key, _)| key.name == name) {
            match table {
                // Said above, unless the index was believed.
                Err(error) if error.kind() != ErrorKind::Conflict || error.message().contains("chunks") => {
                    remarks.push(format!("the index of {} in {name} is not used: {}", key.path, error.message()));
                }
                Err(_) => {}
                Ok(table) => {
                    let missing = table.entries().iter().filter(|entry| entry.row.is_none()).count();
                    if missing > 0 {
                        remarks.push(format!("the index of {} in {name} lacks {missing} of {} blocks (damaged or never built): they are read", key.path, table.entries().len()));
                    }
                }
            }
        }
        remarks
    }
}

/// The segments of a dataset that can be used. Blocks of a build replace those of earlier builds: if a segment of it
/// is damaged, nobody knows which, so the earlier ones are not used.
pub(super) fn table_of(files: &SegmentFiles, file: &File, found: &IndexedDataset) -> Result<Arc<Table>> {
    let mut opened: Vec<(u64, bool, Option<Segment>)> = found.segments.iter().map(|segment| {
        let opened = files.segment(file.path(), segment, found.shape.len()).ok();
        let is_whole = opened.as_ref().is_some_and(|opened| opened.rows.len() as u64 == segment.blocks);
        (segment.build, is_whole, opened)
    }).collect();
    let trusted = opened.iter().filter(|(_, is_whole, _)| !is_whole).map(|(build, _, _)| *build).max().unwrap_or_default();
    opened.retain(|(build, _, _)| *build >= trusted);
    opened.sort_by_key(|(build, _, _)| *build);
    let segments = opened.into_iter().filter_map(|(_, _, segment)| segment.map(Arc::new)).collect();
    Table::new(found.grid.clone(), found.shape.clone(), found.level, segments).map(Arc::new)
}

/// Whether what was indexed is something else, where the time of change of the file does not tell: a virtual dataset, whose
/// sources have changed, or another one of the foreign arrays of a file, called the same. To be asked each time.
fn is_another(file: &File, dataset: ObjectId, found: &IndexedDataset) -> Result<bool> {
    if file.dataset(dataset)?.storage != StorageLayout::Virtual && !file.is_foreign() {
        return Ok(false);
    }
    match source::fingerprint(file, dataset) {
        Ok(fingerprint) => Ok(fingerprint != found.fingerprint),
        Err(error) if error.kind() == ErrorKind::Conflict => Ok(true),
        Err(error) => Err(error),
    }
}

impl Pruner for Indexes {
    fn column(&self, file: &File, dataset: ObjectId, column: &Column) -> Option<Arc<dyn ColumnIndex>> {
        let table = self.table(file, dataset, column).ok().flatten()?;
        let key_type = KeyType::of(column.field().data_type());
        Some(Arc::new(IndexedColumn { file: file.clone(), dataset, column: column.clone(), table, key_type }))
    }

    fn remarks(&self, file: &File) -> Vec<String> {
        let mut remarks = Vec::new();
        for place in self.places(file) {
            match self.sidecar(&place) {
                Some(sidecar) => remarks.extend(sidecar.remarks(self, file, &place.name)),
                None if place.kind == Kind::Embedded => remarks.extend(embedded::remark(file.path())),
                None => {}
            }
        }
        remarks
    }
}
