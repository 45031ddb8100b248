//! File: an open file with its session; finds objects by path and reads hyperslabs.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::sync::atomic::{AtomicU64, Ordering};

use hyperslab_array::{Cancellation, Elements, Error, HeapObjects, Result, Selection};
use hyperslab_array::shown::shown;
use hyperslab_array::suggest::suggestion;
use hyperslab_formats::{ArrayFile, Content, Dataset, Format, Group, Link, LinkTarget, Object, ObjectId, Tree};
use hyperslab_storage::LocalFile;

use crate::{Session, read, virtual_dataset};
use crate::chunk_cache::ChunkCache;
use crate::linked_files::LinkedFiles;

/// Steps from a virtual dataset to its sources, and from those to theirs, in one read.
const MAX_STEPS: u64 = 1 << 18;
/// Links of a group that are searched one by one.
const HASHED_LINKS_MIN: usize = 32;

/// An open HDF5 or netCDF file. Cheap to clone; any number of threads read it at once.
#[derive(Clone)]
pub struct File {
    opened: Arc<Opened>,
    /// How many steps away from the file that was opened first: to another file, or back into this one.
    depth: u32,
    /// While the extents of virtual datasets are being found: each is as it was written.
    as_written: bool,
    /// In a scan whose windows share chunks: where these are kept.
    chunks: Option<Arc<ChunkCache>>,
    /// While a virtual dataset is read: steps that are left, for its sources and theirs together.
    steps: Option<Arc<AtomicU64>>,
}

/// Where a link leads.
enum Step {
    /// To an object of the same file.
    Here(ObjectId),
    /// To one that a soft or external link names, perhaps in another file.
    Far(Found),
}

/// What all handles of one opening share.
struct Opened {
    session: Session,
    path: PathBuf,
    array_file: Arc<dyn ArrayFile>,
    /// Whether the arrays are somebody else's, and nothing of them lies in the file's storage.
    foreign: bool,
    linked_files: OnceLock<LinkedFiles>,
    /// Virtual datasets whose extent the metadata does not tell, as they are now.
    grown: OnceLock<HashMap<ObjectId, Result<Dataset>>>,
    /// The links of large groups by their names: group, and number of the link in it.
    links: OnceLock<HashMap<ObjectId, HashMap<String, usize>>>,
    /// Objects by the address of their header, once a reference was followed.
    addresses: OnceLock<HashMap<u64, ObjectId>>,
}

/// An object found by path, in the file that holds it (another one behind an external link).
#[derive(Clone)]
pub struct Found {
    /// The file.
    pub file: File,
    /// The object in it.
    pub object: ObjectId,
}

impl Found {
    /// The dataset, or `InvalidInput` when the object is something else, or the object's own error.
    pub fn dataset(&self) -> Result<&Dataset> {
        self.file.dataset(self.object)
    }
}

/// Two handles are equal when they came from the same opening.
impl PartialEq for File {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.opened.array_file, &other.opened.array_file)
    }
}
impl Eq for File {}
impl std::hash::Hash for File {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        Arc::as_ptr(&self.opened.array_file).cast::<()>().hash(state);
    }
}

impl File {
    pub(crate) fn new(session: Session, path: PathBuf, array_file: Arc<dyn ArrayFile>, depth: u32) -> Self {
        Self::opened(session, path, array_file, depth, false)
    }
    /// A file of somebody else's arrays.
    pub(crate) fn of_foreign(session: Session, path: PathBuf, array_file: Arc<dyn ArrayFile>) -> Self {
        Self::opened(session, path, array_file, 0, true)
    }
    fn opened(session: Session, path: PathBuf, array_file: Arc<dyn ArrayFile>, depth: u32, foreign: bool) -> Self {
        let (linked_files, grown, links, addresses) = Default::default();
        let opened = Arc::new(Opened { session, path, array_file, foreign, linked_files, grown, links, addresses });
        Self { opened, depth, as_written: false, chunks: None, steps: None }
    }
    /// Whether the arrays are somebody else's.
    pub fn is_foreign(&self) -> bool {
        self.opened.foreign
    }
    pub(crate) fn linked_files(&self) -> &LinkedFiles {
        self.opened.linked_files.get_or_init(LinkedFiles::default)
    }
    /// This file with a place to keep decoded chunks in.
    pub fn with_chunks(&self, chunks: Arc<ChunkCache>) -> Self {
        Self { chunks: Some(chunks), ..self.clone() }
    }
    /// Where decoded chunks are kept, if they are.
    pub(crate) fn chunks(&self) -> Option<&ChunkCache> {
        self.chunks.as_deref()
    }
    /// Tells this opening from others that are open.
    pub(crate) fn number(&self) -> usize {
        Arc::as_ptr(&self.opened).addr()
    }
    /// This file with steps to pay from, unless it has some: for a read that goes from source to source.
    pub(crate) fn with_steps(&self) -> Self {
        let steps = self.steps.clone().unwrap_or_else(|| Arc::new(AtomicU64::new(MAX_STEPS)));
        Self { steps: Some(steps), ..self.clone() }
    }
    /// One step further on from this file, to a neighbour or back into itself. Files that point at each
    /// other in a circle, or at one another in more ways than can be followed, are `LimitExceeded`.
    pub(crate) fn step_to(&self, name: &str, open: impl FnOnce(u32) -> Result<Self>) -> Result<Self> {
        let depth = self.depth + 1;
        let paid = self.steps.as_ref().is_none_or(|steps| {
            steps.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok()
        });
        if depth > self.session().limits().links_followed || !paid {
            return Err(Error::limit_exceeded(format!("{name} is too many files away: do they point at each other in a circle?")));
        }
        Ok(Self { depth, steps: self.steps.clone(), ..open(depth)? })
    }
    /// The same file opened anew, as its writer has left it since.
    pub fn reopen(&self) -> Result<File> {
        self.session().open_at_depth(self.path(), self.depth, |path| LocalFile::open(path))
    }
    /// The path it was opened by.
    pub fn path(&self) -> &Path {
        &self.opened.path
    }
    /// The path as text, for messages and the `_file` column.
    pub fn name(&self) -> String {
        self.path().to_string_lossy().into_owned()
    }
    /// HDF5, netCDF classic or netCDF-4.
    pub fn format(&self) -> Format {
        self.array_file().format()
    }
    /// Everything in the file but the values.
    pub fn tree(&self) -> &Tree {
        self.array_file().tree()
    }
    /// The session it was opened in.
    pub fn session(&self) -> &Session {
        &self.opened.session
    }
    /// The parsed file, without links to other files and virtual datasets resolved.
    pub fn array_file(&self) -> &dyn ArrayFile {
        self.opened.array_file.as_ref()
    }
    /// The object whose header lies at `address`.
    pub(crate) fn at_address(&self, address: u64) -> Option<ObjectId> {
        let addresses = self.opened.addresses.get_or_init(|| {
            let objects = self.tree().objects.iter().enumerate();
            objects.filter_map(|(number, object)| Some((object.address?, ObjectId(number)))).collect()
        });
        addresses.get(&address).copied()
    }
    /// The object with this number; `Internal` for a number of another file.
    pub fn object(&self, id: ObjectId) -> Result<&Object> {
        self.tree()
            .object(id)
            .ok_or_else(|| Error::internal(format!("no object {}", id.0)).in_file(self.name()))
    }
    /// The dataset with this number; an error says what it is instead, or why it cannot be read.
    pub fn dataset(&self, id: ObjectId) -> Result<&Dataset> {
        let object = self.object(id)?;
        let what = match &object.content {
            Content::Dataset(dataset) if dataset.virtual_mappings.is_empty() => return Ok(dataset),
            Content::Dataset(dataset) => return self.virtual_dataset(id, dataset),
            Content::Unreadable(error) => {
                return Err(error.clone().at_object(&object.path).in_file(self.name()));
            }
            Content::Group(_) => "a group",
            Content::Datatype(_) => "a committed datatype",
        };
        Err(Error::invalid_input(format!("this is {what}, not a dataset"))
            .at_object(&object.path)
            .in_file(self.name()))
    }
    /// A virtual dataset with its present extent, looked up once for all of the file.
    fn virtual_dataset<'a>(&'a self, id: ObjectId, dataset: &'a Dataset) -> Result<&'a Dataset> {
        // A source in this same file is asked for while the extents are being found: as it was written.
        if self.as_written {
            return Ok(dataset);
        }
        let grown = self.opened.grown.get_or_init(|| {
            let here = Self { as_written: true, ..self.clone() };
            let datasets = self.tree().objects.iter().enumerate().filter_map(|(number, object)| match &object.content {
                Content::Dataset(dataset) if !dataset.virtual_mappings.is_empty() => Some((ObjectId(number), dataset)),
                _ => None,
            });
            datasets
                .filter_map(|(id, dataset)| Some((id, virtual_dataset::with_present_extent(&here, dataset).transpose()?)))
                .collect()
        });
        match grown.get(&id) {
            None => Ok(dataset),
            Some(Ok(dataset)) => Ok(dataset),
            Some(Err(error)) => Err(self.place(id, error.clone())),
        }
    }
    /// Finds an object by absolute path, following hard, soft and external links. `NotFound` names
    /// the part that is missing and what is there instead.
    pub fn find(&self, path: &str) -> Result<Found> {
        let mut budget = self.session().limits().links_followed;
        self.find_from(ObjectId(0), path, &mut budget)
            .map_err(|error| error.at_object(shown(path)).in_file(self.name()))
    }

    fn find_from(&self, group: ObjectId, path: &str, budget: &mut u32) -> Result<Found> {
        let mut object = if path.starts_with('/') { ObjectId(0) } else { group };
        // Set once the path has led to another file.
        let mut other: Option<Self> = None;
        for part in path.split('/').filter(|part| !part.is_empty() && *part != ".") {
            match other.as_ref().unwrap_or(self).step(object, part, budget)? {
                Step::Here(next) => object = next,
                Step::Far(found) => (other, object) = (Some(found.file), found.object),
            }
        }
        Ok(Found { file: other.unwrap_or_else(|| self.clone()), object })
    }

    fn step(&self, group: ObjectId, name: &str, budget: &mut u32) -> Result<Step> {
        let object = self.object(group)?;
        let Some(members) = self.tree().group(group) else {
            if let Content::Unreadable(error) = &object.content {
                return Err(error.clone().at_object(&object.path));
            }
            return Err(Error::not_found(format!("{} is no group, so it has no {:?}", shown(&object.path), shown(name))));
        };
        let Some(link) = self.link(group, members, name) else {
            return Err(Error::not_found(missing(name, &object.path, &members.links)));
        };
        if !matches!(link.target, LinkTarget::Hard(_)) {
            *budget = budget
                .checked_sub(1)
                .ok_or_else(|| Error::limit_exceeded("too many links to follow: do they go in a circle?"))?;
        }
        match &link.target {
            LinkTarget::Hard(object) => Ok(Step::Here(*object)),
            LinkTarget::Soft(path) => self.find_from(group, path, budget).map(Step::Far),
            LinkTarget::External { file, path } => {
                let other = self.linked_file(file)?;
                let found = other.find_from(ObjectId(0), path, budget);
                found.map(Step::Far).map_err(|error| error.in_file(other.name()))
            }
            LinkTarget::UserDefined(class) => {
                Err(Error::unsupported(format!("user-defined link of class {class} at {name:?}")))
            }
        }
    }

    /// The link called `name` of a group, by a hash where there are many.
    fn link<'a>(&self, group: ObjectId, members: &'a Group, name: &str) -> Option<&'a Link> {
        if members.links.len() <= HASHED_LINKS_MIN {
            return members.link(name);
        }
        let links = self.opened.links.get_or_init(|| {
            let groups = self.tree().objects.iter().enumerate().filter_map(|(number, object)| match &object.content {
                Content::Group(group) if group.links.len() > HASHED_LINKS_MIN => Some((ObjectId(number), group)),
                _ => None,
            });
            let by_name = |group: &Group| {
                let mut names = HashMap::with_capacity(group.links.len());
                group.links.iter().enumerate().for_each(|(number, link)| {
                    names.entry(link.name.clone()).or_insert(number);
                });
                names
            };
            groups.map(|(id, group)| (id, by_name(group))).collect()
        });
        members.links.get(*links.get(&group)?.get(name)?)
    }

    /// Reads `selection` of a dataset: its elements in row-major order, in the file's layout, with
    /// the heap objects they point at.
    pub fn read(&self, dataset: ObjectId, selection: &Selection, cancellation: &Cancellation) -> Result<Elements> {
        read::read(self, dataset, selection, cancellation).map_err(|error| self.place(dataset, error))
    }
    /// As [`File::read`], into `out` of exactly `selection.element_count() * datatype.size()` bytes.
    pub fn read_into(
        &self,
        dataset: ObjectId,
        selection: &Selection,
        out: &mut [u8],
        cancellation: &Cancellation,
    ) -> Result<HeapObjects> {
        read::read_into(self, dataset, selection, out, cancellation).map_err(|error| self.place(dataset, error))
    }
    /// Bytes that the dataset's values take in the file, after filters.
    pub fn stored_bytes(&self, dataset: ObjectId) -> Result<u64> {
        read::stored_bytes(self, dataset).map_err(|error| self.place(dataset, error))
    }

    /// `error` with the path of `object` and the name of this file.
    pub fn place(&self, object: ObjectId, error: Error) -> Error {
        let path = self.tree().object(object).map_or("?", |o| o.path.as_str());
        error.at_object(path).in_file(self.name())
    }
}

fn missing(name: &str, group: &str, links: &[Link]) -> String {
    let near = suggestion(name, links.iter().map(|link| link.name.as_str()), 5);
    let empty = if links.is_empty() { ", which is empty" } else { "" };
    format!("there is no {:?} in {}{empty}{near}", shown(name), shown(group))
}
