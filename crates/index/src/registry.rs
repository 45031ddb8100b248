//! Registry: the indexes that a session has found, and the [`Pruner`] through which scans use them.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError};

use hyperslab_array::{Error, ErrorKind, Result};
use hyperslab_columns::Column;
use hyperslab_formats::ObjectId;
use hyperslab_predicate::KeyType;
use hyperslab_reader::{Extensions, File, Session};
use hyperslab_scan::pruner::{AskedValues, ColumnIndex, CompositeMatch, Level, Pruner, SessionPruner};

use crate::freshness::column::identity;
use crate::freshness::compare;
use crate::freshness::indexed_parts::{IndexedParts, indexed_parts};
use crate::freshness::indexed_values::IndexedValues;
use crate::notices;
use crate::query::audit::audit_claims;
use crate::query::audit_budget::AuditBudget;
use crate::query::composite_index::IndexedComposite;
use crate::query::indexed_column::IndexedColumn;
use crate::store::audit_memory::IndexState;
use crate::store::block_directory::{BlockDirectory, open_directory};
use crate::store::catalog::Catalog;
use crate::store::embedded::{self, Validity};
use crate::store::index_files::IndexFiles;
use crate::store::manifest::{IndexedDataset, IndexedFile, MANIFEST_NAME, Manifest};
use crate::store::places::{Place, PlaceKind, Version, places};
use crate::store::stamp::Stamp;
use crate::trust::IndexTrust;

/// What remarks say of an index that this session does not trust.
const STRANGE: &str = "was not built by this user: check it with indexes=\"any\" and verify, or build it again";

/// The sidecars that a session has read, by path.
pub struct Indexes {
    sidecars: Mutex<HashMap<PathBuf, Arc<Sidecar>>>,
    index_folder: Option<PathBuf>,
    trust: IndexTrust,
    audits: Arc<AuditBudget>,
}

/// One version of a sidecar or of an embedded index.
struct Sidecar {
    place: Place,
    /// The version of the manifest, or of the data file for an embedded index.
    version: Version,
    catalog: Result<Catalog>,
    index_files: IndexFiles,
    /// For an embedded index: the state of the data file that it is valid for.
    validity: Option<Validity>,
    directories: Mutex<LoadedDirectories>,
    /// Number of stored bytes that were compared; see [`compare::check`].
    compared: AtomicU64,
}

/// The loaded block directories, and the version of each data file that they are for.
#[derive(Default)]
struct LoadedDirectories {
    all: HashMap<DirectoryKey, Result<Arc<BlockDirectory>>>,
    versions: HashMap<String, (Option<Version>, Stamp)>,
}

/// Values whose index can be used.
pub(super) struct UsableIndex {
    /// The path of the dataset, and the name of the member.
    pub path: String,
    pub values: IndexedParts,
    pub directory: Arc<BlockDirectory>,
}

/// A column of one version of a data file.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct DirectoryKey {
    name: String,
    path: String,
    identity: String,
    stamp: Stamp,
    version: Option<Version>,
}

/// The session extensions that find indexes and let scans use them: in `folder` first, then next to the data files and in
/// them. `trust` decides which of those are used.
pub fn extensions(folder: Option<PathBuf>, trust: IndexTrust) -> Extensions {
    let indexes = Arc::new(Indexes::new(folder, trust));
    Extensions::default().with(SessionPruner(indexes.clone())).with(indexes)
}

/// The registry of a session.
pub(super) fn indexes_of(session: &Session) -> Result<&Indexes> {
    session.extension::<Arc<Indexes>>().map(Arc::as_ref).ok_or_else(|| Error::internal("a session without the index extension"))
}

/// The session's folder for the indexes of files in any folder, if it has one.
pub(super) fn index_folder(session: &Session) -> Option<&Path> {
    session.extension::<Arc<Indexes>>().and_then(|indexes| indexes.index_folder())
}

/// Whether indexes are used where this session would put new ones, no matter who built them: because it has a folder for indexes,
/// or trusts all.
pub(super) fn trusts_all(session: &Session) -> bool {
    session.extension::<Arc<Indexes>>().is_some_and(|indexes| indexes.trust == IndexTrust::Any || indexes.index_folder.is_some())
}

impl Indexes {
    /// An empty registry. `index_folder` is a folder for the indexes of files in any folder.
    pub fn new(index_folder: Option<PathBuf>, trust: IndexTrust) -> Self {
        Self { sidecars: Mutex::default(), index_folder, trust, audits: Arc::default() }
    }

    /// The folder for the indexes of files in any folder.
    pub fn index_folder(&self) -> Option<&Path> {
        self.index_folder.as_deref()
    }

    fn places(&self, file: &File) -> Vec<Place> {
        let places = places(file.path(), self.index_folder());
        places.into_iter().filter(|place| place.kind != PlaceKind::Embedded || file.array_file().is_stored()).collect()
    }

    /// The current version of the sidecar at a place, if there is one.
    fn sidecar(&self, place: &Place) -> Option<Arc<Sidecar>> {
        let version = match version_at(place) {
            Ok(Some(version)) => version,
            Ok(None) => return None,
            Err(error) => return Some(Arc::new(Sidecar::new(place, Version::default(), Err(error)))),
        };
        // A forked child must not wait for a lock that a thread of its parent holds.
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

    /// The block directory of a column. `None` if no sidecar has one, an error if the only one cannot be used.
    fn directory(&self, file: &File, values: &IndexedParts) -> Result<Option<Arc<BlockDirectory>>> {
        let mut problem = None;
        for place in self.places(file) {
            let Some(sidecar) = self.sidecar(&place) else { continue };
            match sidecar.directory(file, &place.name, values, self.trust) {
                Ok(Some(directory)) => return Ok(Some(directory)),
                Ok(None) => {}
                Err(error) => problem = Some(error.in_file(place.path.display().to_string())),
            }
        }
        problem.map_or(Ok(None), Err)
    }

    /// The index of these values, if there is one and an audit does not refute it.
    fn index_of(&self, file: &File, values: impl FnOnce() -> Result<IndexedValues>) -> Option<Arc<dyn ColumnIndex>> {
        if self.trust == IndexTrust::None {
            return None;
        }
        let values = values().ok()?;
        let parts = IndexedParts::of(values);
        let directory = self.directory(file, &parts).ok().flatten().filter(|directory| !directory.is_refuted())?;
        let values = parts.first;
        let key_type = KeyType::of(values.column.field().data_type());
        let column = IndexedColumn { file: file.clone(), values, directory, key_type, audits: self.audits.clone() };
        match audit_claims(&column) {
            Ok(()) => Some(Arc::new(column)),
            Err(refuted) => {
                notices::add(refuted.message().to_owned());
                None
            }
        }
    }

    /// The composite index that has most of these values and that no audit refutes, with the place of each value in it.
    fn composite_of(&self, file: &File, asked: &[AskedValues<'_>]) -> Option<CompositeMatch> {
        let asked: Vec<IndexedValues> = asked.iter().map(|asked| values_of(file, asked)).collect::<Result<_>>().ok()?;
        let asked: Vec<(&IndexedValues, String)> = asked.iter().map(|values| Ok((values, identity(values)?))).collect::<Result<_>>().ok()?;
        let mut found: Vec<(IndexedParts, Vec<Option<usize>>)> = Vec::new();
        let mut seen: Vec<String> = Vec::new();
        for place in self.places(file) {
            let Some(sidecar) = self.sidecar(&place) else { continue };
            let Ok(catalog) = &sidecar.catalog else { continue };
            for (values, _) in &asked {
                let Ok(path) = file.path_of(values.dataset) else { continue };
                for indexed in catalog.composites_of(&path) {
                    if seen.contains(&indexed.identity) {
                        continue;
                    }
                    seen.push(indexed.identity.clone());
                    let Some(parts) = indexed_parts(file, indexed) else { continue };
                    let Ok(known) = parts.iter().map(|part| Ok((part, identity(part)?))).collect::<Result<Vec<_>>>() else { continue };
                    let place_of = |(values, identity): &(&IndexedValues, String)| {
                        known.iter().position(|(part, known)| part.dataset == values.dataset && part.member == values.member && known == identity)
                    };
                    let places: Vec<Option<usize>> = asked.iter().map(place_of).collect();
                    found.push((parts, places));
                }
            }
        }
        found.retain(|(_, places)| places.iter().any(Option::is_some));
        found.sort_by_key(|(_, places)| places.iter().filter(|place| place.is_none()).count());
        found.into_iter().find_map(|(values, places)| {
            let directory = self.directory(file, &values).ok().flatten().filter(|directory| !directory.is_refuted())?;
            let widths = values.key_types().into_iter().map(|key_type| key_type.map(KeyType::width)).collect::<Option<Vec<usize>>>()?;
            let composite = IndexedComposite { file: file.clone(), values, directory, widths, audits: self.audits.clone() };
            match composite.audit_claims() {
                Ok(()) => Some(CompositeMatch { index: Arc::new(composite), places }),
                Err(refuted) => {
                    notices::add(refuted.message().to_owned());
                    None
                }
            }
        })
    }

    /// The values of a file whose indexes can be used, each once.
    pub(super) fn usable_indexes(&self, file: &File) -> Result<Vec<UsableIndex>> {
        let (mut found, mut known): (Vec<UsableIndex>, HashSet<(String, String)>) = Default::default();
        for place in self.places(file) {
            let Some(sidecar) = self.sidecar(&place) else { continue };
            let Ok(catalog) = &sidecar.catalog else { continue };
            for indexed in sidecar.candidates(catalog.manifest(), &place.name).flat_map(|indexed| &indexed.columns) {
                let Some(values) = indexed_parts(file, indexed) else { continue };
                if !known.contains(&(indexed.path.clone(), indexed.identity.clone()))
                    && let Some(directory) = self.directory(file, &values).ok().flatten()
                {
                    known.insert((indexed.path.clone(), indexed.identity.clone()));
                    found.push(UsableIndex { path: indexed.label(), values, directory });
                }
            }
        }
        Ok(found)
    }
}

/// The version of what is at a place. `None` if nothing is there, an error if it cannot be determined or must not be used.
fn version_at(place: &Place) -> Result<Option<Version>> {
    let is_absent = |error: &std::io::Error| matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory);
    if place.kind == PlaceKind::Embedded {
        return Ok(Version::of(&place.path).ok());
    }
    match place.path.symlink_metadata() {
        Err(error) if is_absent(&error) => return Ok(None),
        Err(error) => return Err(error.into()),
        Ok(found) if found.is_symlink() => return Err(Error::unsupported("it is a symbolic link, which is not followed; give its folder as index_folder")),
        Ok(_) => {}
    }
    match Version::of_link(&place.path.join(MANIFEST_NAME)) {
        Ok(version) => Ok(Some(version)),
        Err(error) if is_absent(&error) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

impl Sidecar {
    fn new(place: &Place, version: Version, manifest: Result<Manifest>) -> Self {
        Self {
            place: place.clone(),
            version,
            catalog: manifest.map(Catalog::new),
            index_files: IndexFiles::new(&place.path),
            validity: None,
            directories: Mutex::default(),
            compared: AtomicU64::new(0),
        }
    }

    fn read(place: &Place, version: Version) -> Self {
        if place.kind != PlaceKind::Embedded {
            return Self::new(place, version, Manifest::read(&place.path));
        }
        match embedded::read(&place.path) {
            Ok((manifest, validity)) => Self { validity: Some(validity), ..Self::new(place, version, Ok(manifest)) },
            Err(error) => Self::new(place, version, Err(error)),
        }
    }

    /// Whether this is still the current version. For an embedded index, the trailer must be the same, too.
    fn is_current(&self, version: Version) -> bool {
        self.version == version && self.validity.as_ref().is_none_or(|validity| validity.is_at_the_end_of(&self.place.path))
    }

    /// Whether this stands for a data file without an embedded index.
    fn is_absent(&self) -> bool {
        self.place.kind == PlaceKind::Embedded && self.catalog.as_ref().is_err_and(|error| error.kind() == ErrorKind::NotFound)
    }

    /// The entries that may describe the file called `name`, the likeliest first. Entries with other names are candidates,
    /// too, unless the sidecar is shared: the file may have been renamed together with its sidecar or embedded index.
    fn candidates<'a>(&self, manifest: &'a Manifest, name: &str) -> impl Iterator<Item = &'a IndexedFile> + use<'a> {
        let may_be_renamed = self.place.kind != PlaceKind::FolderSidecar;
        let (called, others): (Vec<_>, Vec<_>) = manifest.files.iter().partition(|file| file.name == name);
        called.into_iter().chain(others.into_iter().filter(move |_| may_be_renamed))
    }

    /// Whether a session uses an index of this sidecar.
    fn is_trusted(&self, indexed: &IndexedDataset, trust: IndexTrust) -> bool {
        match trust {
            IndexTrust::None => false,
            IndexTrust::Own => indexed.is_own || self.place.is_asked,
            IndexTrust::Any => true,
        }
    }

    /// Whether the stamp of a file alone shows that an index is up to date.
    fn is_up_to_date(&self, indexed: &IndexedFile, name: &str, now: Stamp) -> bool {
        match &self.validity {
            Some(validity) => validity.holds(now),
            None => indexed.name == name && indexed.stamp == now,
        }
    }

    /// The block directory of a column of the data file called `name`. `None` if there is none, `Conflict` if it is stale.
    fn directory(&self, file: &File, name: &str, values: &IndexedParts, trust: IndexTrust) -> Result<Option<Arc<BlockDirectory>>> {
        let catalog = self.catalog.as_ref().map_err(Error::clone)?;
        let identity = values.identity(file)?;
        let path = &*file.path_of(values.first.dataset)?;
        let mut found: Vec<(&IndexedFile, &IndexedDataset)> = catalog.columns(name, path, &identity).collect();
        if self.place.kind != PlaceKind::FolderSidecar {
            found.extend(catalog.columns_of_others(name, path, &identity));
        }
        // The index of several datasets is not an index of one, whatever its manifest says.
        let is_of_kind = |indexed: &IndexedDataset| {
            (indexed.level == Level::Composite) == values.is_composite() && indexed.others.len() == values.others.len() && indexed.path == path
        };
        found.retain(|(_, indexed)| is_of_kind(indexed));
        if found.is_empty() {
            return Ok(None);
        }
        let path = values.label(file)?;
        found.retain(|(_, indexed)| self.is_trusted(indexed, trust));
        if found.is_empty() {
            return Err(Error::new(ErrorKind::Conflict, format!("the index of {path} {STRANGE}")));
        }
        let stale = |why: &str| Error::new(ErrorKind::Conflict, format!("the index of {path} is stale: {why}"));
        let now = Stamp::now(file.path());
        let Some(now) = now.filter(|_| Stamp::of(file) == now) else {
            return Err(stale(&format!("{name} has changed since it was opened")));
        };
        let up_to_date = found.iter().find(|(indexed, _)| self.is_up_to_date(indexed, name, now));
        // Otherwise values are compared, unless the length of the file has changed.
        let (found, is_up_to_date) = match (up_to_date, found.iter().find(|(indexed, _)| self.validity.is_some() || indexed.stamp.bytes == now.bytes)) {
            (Some((_, found)), _) => (*found, true),
            (None, Some((_, found))) => (*found, false),
            (None, None) => return Err(stale(&format!("{name} has changed since the index was built; refresh it"))),
        };
        if has_other_source(file, values, found)? {
            return Err(stale("a source of this virtual dataset has changed since the build, or the index is of another array; refresh it"));
        }
        let version = if file.array_file().is_stored() { Version::of(file.path()).ok() } else { None };
        let key = DirectoryKey { name: name.to_owned(), path: path.clone(), identity, stamp: now, version };
        let load = || {
            let directory = self.load(file, values, found, version)?;
            if !is_up_to_date {
                compare::check(file, values, &directory, &self.compared)?;
                if Version::of(file.path()).ok() != version || version.is_none() {
                    return Err(stale(&format!("{name} is being changed")));
                }
            }
            Ok(directory)
        };
        self.loaded(key, load).map(Some)
    }

    /// The block directory `key`, which `load` loads if it is not known. Directories that are in use elsewhere are not waited for.
    fn loaded(&self, key: DirectoryKey, load: impl Fn() -> Result<Arc<BlockDirectory>>) -> Result<Arc<BlockDirectory>> {
        let mut directories = match self.directories.try_lock() {
            Ok(directories) => directories,
            Err(std::sync::TryLockError::Poisoned(poisoned)) => PoisonError::into_inner(poisoned),
            Err(std::sync::TryLockError::WouldBlock) => return load(),
        };
        if let Some(directory) = directories.all.get(&key) {
            return directory.clone();
        }
        // Drop the directories of earlier versions of the file.
        if directories.versions.insert(key.name.clone(), (key.version, key.stamp)) != Some((key.version, key.stamp)) {
            directories.all.retain(|known, _| known.name != key.name || (known.version, known.stamp) == (key.version, key.stamp));
        }
        let directory = load();
        directories.all.insert(key, directory.clone());
        directory
    }

    /// Opens the index files of a dataset. Damaged ones are omitted: their blocks are read from the data.
    fn load(&self, file: &File, values: &IndexedParts, found: &IndexedDataset, version: Option<Version>) -> Result<Arc<BlockDirectory>> {
        if !values.fits(file, &found.shape, &found.grid)? || values.fingerprint(file)? != found.fingerprint {
            let path = found.label();
            return Err(Error::new(ErrorKind::Conflict, format!("the index of {path} is stale: its chunks have changed; refresh it")));
        }
        let mut directory = open_directory(&self.index_files, file.path(), found)?;
        // After the files were opened: a file that replaces one of them has another version.
        directory.state = IndexState::new(found, version, self.index_files.versions(found).into_iter().chain(values.source_versions(file)?))?;
        Ok(Arc::new(directory))
    }

    /// Why the index is not used for `file`, or only in part.
    fn remarks(&self, indexes: &Indexes, file: &File, name: &str) -> Vec<String> {
        let shown = self.place.path.display();
        let manifest = match &self.catalog {
            Ok(catalog) => catalog.manifest(),
            Err(error) => return vec![format!("the index {shown} is not used: {}", error.message())],
        };
        let refused = self.refused(indexes, file, name, manifest);
        let mut remarks: Vec<String> = refused
            .into_iter()
            .map(|(why, mut paths)| {
                paths.sort_unstable();
                paths.dedup();
                format!("the index {shown} of {} {why}", paths.join(", "))
            })
            .collect();
        let directories = self.directories.lock().unwrap_or_else(PoisonError::into_inner);
        for (key, directory) in directories.all.iter().filter(|(key, _)| key.name == name) {
            match directory {
                // Conflicts were reported above, unless the stamp was up to date.
                Err(error) if error.kind() != ErrorKind::Conflict || error.message().contains("chunks") => {
                    remarks.push(format!("the index of {} in {name} is not used: {}", key.path, error.message()));
                }
                Err(_) => {}
                Ok(directory) if directory.is_refuted() => {
                    remarks.push(format!("the index of {} in {name} is not used: it disagrees with the data; rebuild it", key.path));
                }
                Ok(directory) => remarks.extend(remarks_of_blocks(&key.path, name, directory)),
            }
        }
        remarks
    }

    /// The labels of the columns whose index is not used, by reason.
    fn refused(&self, indexes: &Indexes, file: &File, name: &str, manifest: &Manifest) -> BTreeMap<String, Vec<String>> {
        let mut refused: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let now = Stamp::now(file.path());
        for indexed in self.candidates(manifest, name) {
            let is_up_to_date = now.is_some_and(|now| Stamp::of(file) == Some(now) && self.is_up_to_date(indexed, name, now));
            for column in &indexed.columns {
                let why = match indexed_parts(file, column) {
                    _ if !self.is_trusted(column, indexes.trust) => Some(STRANGE.to_owned()),
                    None => Some("is stale: the dataset no longer exists, or its type or attributes have changed; refresh it".to_owned()),
                    Some(values) if is_up_to_date => has_other_source(file, &values, column).unwrap_or(true).then(|| {
                        "is stale: a source of this virtual dataset has changed since the build, or the index is of another array; refresh it".to_owned()
                    }),
                    Some(values) => indexes.directory(file, &values).err().map(|error| {
                        let message = error.message();
                        message.strip_prefix(&format!("the index of {} ", column.label())).unwrap_or(message).to_owned()
                    }),
                };
                if let Some(why) = why {
                    refused.entry(why).or_default().push(column.label());
                }
            }
        }
        refused
    }
}

/// Whether the indexed data have changed in a way that the stamp of the file does not show: the sources of a virtual dataset
/// have changed, or a foreign array was replaced by another one of the same name. Must be checked for each query.
fn has_other_source(file: &File, values: &IndexedParts, found: &IndexedDataset) -> Result<bool> {
    if !values.is_virtual(file)? && file.array_file().is_stored() {
        return Ok(false);
    }
    match values.fingerprint(file) {
        Ok(fingerprint) => Ok(fingerprint != found.fingerprint),
        Err(error) if error.kind() == ErrorKind::Conflict => Ok(true),
        Err(error) => Err(error),
    }
}

/// The values that a scan asks for.
fn values_of(file: &File, asked: &AskedValues<'_>) -> Result<IndexedValues> {
    match asked.member {
        None => Ok(IndexedValues { dataset: asked.dataset, column: asked.column.clone(), member: None }),
        Some(member) => IndexedValues::of_member(file, asked.dataset, member, asked.column),
    }
}

impl Pruner for Indexes {
    fn column(&self, file: &File, dataset: ObjectId, column: &Column) -> Option<Arc<dyn ColumnIndex>> {
        self.index_of(file, || Ok(IndexedValues { dataset, column: column.clone(), member: None }))
    }

    fn member(&self, file: &File, dataset: ObjectId, member: usize, column: &Column) -> Option<Arc<dyn ColumnIndex>> {
        self.index_of(file, || IndexedValues::of_member(file, dataset, member, column))
    }

    fn has_composites(&self, file: &File) -> bool {
        let has = |place: &Place| self.sidecar(place).is_some_and(|sidecar| sidecar.catalog.as_ref().is_ok_and(Catalog::has_composites));
        self.trust != IndexTrust::None && self.places(file).iter().any(has)
    }

    fn composite(&self, file: &File, asked: &[AskedValues<'_>]) -> Option<CompositeMatch> {
        if self.trust == IndexTrust::None { None } else { self.composite_of(file, asked) }
    }

    fn remarks(&self, file: &File) -> Vec<String> {
        let mut remarks = Vec::new();
        if self.trust == IndexTrust::None {
            return remarks;
        }
        for place in self.places(file) {
            match self.sidecar(&place) {
                Some(sidecar) => remarks.extend(sidecar.remarks(self, file, &place.name)),
                None if place.kind == PlaceKind::Embedded => remarks.extend(embedded::remark(file.path())),
                None => {}
            }
        }
        remarks
    }
}

/// What is missing in the index of the dataset `path` of the file called `name`.
fn remarks_of_blocks(path: &str, name: &str, directory: &BlockDirectory) -> Vec<String> {
    let mut remarks = Vec::new();
    let count = directory.entries().len();
    let missing = directory.entries().iter().filter(|entry| entry.row.is_none()).count();
    if missing > 0 {
        remarks.push(format!("the index of {path} in {name} lacks {missing} of {count} blocks (damaged or never built); they are read from the data"));
    }
    let others = directory.blocks_of_other_unicode();
    if others > 0 {
        remarks.push(format!(
            "the index of {path} in {name} has words of another version of Unicode in {others} of {count} blocks; their texts are read until it is \
             built again (rebuild=True)"
        ));
    }
    remarks
}
