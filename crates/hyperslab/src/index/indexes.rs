//! Indexes: the sidecars that a session has found, and the one [`Pruner`] there is.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use hyperslab_array::{Error, ErrorKind, Result};
use hyperslab_formats::{ObjectId, StorageLayout};

use super::catalog::Catalog;
use super::column::IndexedColumn;
use super::manifest::{self, IndexedDataset, Manifest};
use super::segment_files::SegmentFiles;
use super::source::{self, Stamp};
use super::table::Table;
use crate::File;
use crate::columns::Column;
use crate::scan::pruner::{ColumnIndex, KeyType, Pruner};

/// The sidecars that were read, by their folders.
#[derive(Default)]
pub(crate) struct Indexes {
    sidecars: Mutex<HashMap<PathBuf, Arc<Sidecar>>>,
}

/// A sidecar as its manifest was when it was read.
struct Sidecar {
    embedded: bool,
    stamp: Stamp,
    catalog: Result<Catalog>,
    segments: SegmentFiles,
    tables: Mutex<HashMap<TableKey, Result<Arc<Table>>>>,
}

/// A file's name, a dataset's path, and a column's identity.
type TableKey = (String, String, String);

impl Indexes {
    /// The sidecar in `folder` as it is now, if there is one.
    fn sidecar(&self, folder: &Path) -> Option<Arc<Sidecar>> {
        let embedded = folder.is_file();
        let stamp = Stamp::now(&if embedded { folder.to_path_buf() } else { folder.join(manifest::NAME) })?;
        // A forked child must not wait for a thread that it does not have.
        let mut known = self.sidecars.try_lock();
        if let Some(sidecar) = known.as_ref().ok().and_then(|known| known.get(folder)).filter(|sidecar| sidecar.stamp == stamp) {
            return Some(sidecar.clone()).filter(|sidecar| !sidecar.is_absent());
        }
        let manifest = if embedded { super::embedded::read(folder) } else { Manifest::read(folder) };
        let (catalog, segments) = (manifest.map(Catalog::new), SegmentFiles::new(folder, embedded));
        let sidecar = Arc::new(Sidecar { embedded, stamp, catalog, segments, tables: Mutex::default() });
        if let Ok(known) = &mut known {
            known.insert(folder.to_path_buf(), sidecar.clone());
        }
        Some(sidecar).filter(|sidecar| !sidecar.is_absent())
    }

    /// The manifest in `folder`, where there is one that can be read.
    pub(super) fn manifest(&self, folder: &Path) -> Option<Manifest> {
        self.sidecar(folder)?.catalog.as_ref().ok().map(|catalog| catalog.manifest().clone())
    }

    /// The table of a column; why there is none, where a sidecar has one that cannot be used.
    pub(super) fn table(&self, file: &File, dataset: ObjectId, column: &Column) -> Result<Option<Arc<Table>>> {
        let Some(name) = file.path().file_name().and_then(|name| name.to_str()) else { return Ok(None) };
        let mut problem = None;
        for folder in manifest::places(file.path()) {
            let Some(sidecar) = self.sidecar(&folder) else { continue };
            match sidecar.table(file, name, dataset, column) {
                Ok(Some(table)) => return Ok(Some(table)),
                Ok(None) => {}
                Err(error) => problem = Some(error.in_file(folder.display().to_string())),
            }
        }
        problem.map_or(Ok(None), Err)
    }
}

impl Sidecar {
    /// Whether the file has no index in it.
    fn is_absent(&self) -> bool {
        self.embedded && self.catalog.as_ref().is_err_and(|error| error.kind() == ErrorKind::NotFound)
    }

    fn table(&self, file: &File, name: &str, dataset: ObjectId, column: &Column) -> Result<Option<Arc<Table>>> {
        let catalog = self.catalog.as_ref().map_err(Error::clone)?;
        let path = &file.object(dataset)?.path;
        let identity = source::identity(column);
        let Some((stamp, found)) = catalog.dataset(name, path, &identity) else { return Ok(None) };
        let stamp = Some(stamp);
        if Stamp::of(file) != stamp || Stamp::now(file.path()) != stamp {
            return Err(Error::new(ErrorKind::Conflict, format!("the index of {path} is stale: {name} has changed since; refresh it")));
        }
        if is_another(file, dataset, found)? {
            return Err(Error::new(ErrorKind::Conflict, format!("the index of {path} is stale: a source of this virtual dataset has changed since (or it is of another array); refresh it")));
        }
        let key = (name.to_owned(), path.clone(), identity);
        let mut tables = match self.tables.try_lock() {
            Ok(tables) => tables,
            Err(std::sync::TryLockError::Poisoned(poisoned)) => PoisonError::into_inner(poisoned),
            Err(std::sync::TryLockError::WouldBlock) => return self.load(file, dataset, found).map(Some),
        };
        let table = tables.entry(key).or_insert_with(|| self.load(file, dataset, found));
        table.clone().map(Some)
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
        let segments = found.segments.iter().filter_map(|segment| self.segments.segment(segment, shape.len()).ok());
        Table::new(found.grid.clone(), shape.to_vec(), found.level, segments.map(Arc::new).collect()).map(Arc::new)
    }
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
        let name = file.path().file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let mut remarks = Vec::new();
        for folder in manifest::places(file.path()) {
            let Some(sidecar) = self.sidecar(&folder) else { continue };
            let shown = folder.display();
            match &sidecar.catalog {
                Err(error) => remarks.push(format!("the index {shown} is not used: {}", error.message())),
                Ok(catalog) => {
                    for indexed in catalog.manifest().files_called(name) {
                        let now = Some(indexed.stamp);
                        if Stamp::of(file) != now || Stamp::now(file.path()) != now {
                            let paths: Vec<&str> = indexed.columns.iter().map(|column| column.path.as_str()).collect();
                            remarks.push(format!("the index {shown} of {} is stale: {name} has changed since it was built; refresh it", paths.join(", ")));
                            continue;
                        }
                        for column in &indexed.columns {
                            let changed = file.find(&column.path).and_then(|found| is_another(file, found.object, column));
                            if changed.unwrap_or(true) {
                                remarks.push(format!("the index {shown} of {} is stale: a source of this virtual dataset has changed since it was built (or it is of another array); refresh it", column.path));
                            }
                        }
                    }
                }
            }
            let tables = sidecar.tables.lock().unwrap_or_else(PoisonError::into_inner);
            for ((file_name, path, _), table) in tables.iter().filter(|((file_name, _, _), _)| file_name == name) {
                match table {
                    Err(error) => remarks.push(format!("the index of {path} in {file_name} is not used: {}", error.message())),
                    Ok(table) => {
                        let missing = table.entries().iter().filter(|entry| entry.row.is_none()).count();
                        if missing > 0 {
                            remarks.push(format!("the index of {path} in {file_name} lacks {missing} of {} blocks (damaged or never built): they are read", table.entries().len()));
                        }
                    }
                }
            }
        }
        remarks
    }
}
