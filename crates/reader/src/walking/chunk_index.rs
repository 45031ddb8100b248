//! Makes chunk indexes: reads all metadata of a remote file once, in the ways in which readers do, while a recorder notes which bytes
//! that takes. The index of a local file has restart points only.

use std::collections::{HashSet, VecDeque};
use std::path::Path;
use std::sync::Arc;

use hyperslab_array::{Error, ErrorKind, Result, Selection, interruption};
use hyperslab_formats::{ArrayFile, ChunkSource, Dataset, Interpretation, Object, ObjectId, StorageLayout};
use hyperslab_storage::{ChunkIndexPlace, LocalFile, LocalIndex, Recorder, SavedChunkIndex, Storage};

use super::restart_points::{DeflatedChunks, check_interval, make_points};
use crate::Session;
use crate::opening::address::address_of;
use crate::opening::any_format;
use crate::reading::stored::{MAX_CHUNKS, parts};

/// A name that no attribute has: looking for it reads what a search reads.
const NO_ATTRIBUTE: &str = "\u{1}";

/// How many times, and how long each time, to wait until a local file's modification time is in the past.
const SETTLING_ROUNDS: u32 = 4;
const SETTLING_PAUSE: std::time::Duration = std::time::Duration::from_millis(15);

/// A chunk index that was made.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct MadeChunkIndex {
    /// Its file, and how long that is.
    pub saved: SavedChunkIndex,
    /// Objects whose metadata it has.
    pub objects: u64,
    /// Those that cannot be read, as without the index.
    pub unreadable: u64,
    /// Chunks that have restart points.
    pub restart_chunks: u64,
    /// Restart points of all chunks.
    pub restart_points: u64,
}

impl Session {
    /// Makes a chunk index of the object at an address: all of its metadata, with which it is opened, and its chunks are
    /// located, without a request. It goes to `place`.
    /// Values of datasets that take at most `inline_threshold` bytes in the file are in the index, too, and are read without a request.
    /// With `restart_interval`, the index has restart points of large deflated chunks, one for about that many bytes of their output: all of these
    /// chunks are read to find them. The index of a local file has these points only.
    ///
    /// # Errors
    /// `Unsupported` for a local file without restart points, and if the store gives no strong entity tag; `InvalidInput` for a `restart_interval` of less
    /// than 64 KiB; `Conflict` if the file changes meanwhile; as [`Session::open`]; `Cancelled`.
    pub fn make_chunk_index(&self, address: &Path, place: &ChunkIndexPlace, inline_threshold: u64, restart_interval: Option<u64>) -> Result<MadeChunkIndex> {
        restart_interval.map_or(Ok(()), check_interval)?;
        match (address_of(address), restart_interval) {
            (Some(remote), _) => self.make_remote_index(remote, place, inline_threshold, restart_interval),
            (None, Some(interval)) => self.make_local_index(address, place, interval),
            (None, None) => {
                let why = "a chunk index of a local file without restart points: only remote files need requests to be opened";
                Err(Error::unsupported(why).in_file(address.display().to_string()))
            }
        }
    }

    fn make_remote_index(&self, address: &str, place: &ChunkIndexPlace, inline_threshold: u64, restart_interval: Option<u64>) -> Result<MadeChunkIndex> {
        let recorder = Arc::new(Recorder::open(address, self.storage_options())?);
        let chunks = restart_interval.map(|interval| (DeflatedChunks::default(), interval));
        let (mut objects, mut unreadable) = (0, 0);
        for interpretation in [Interpretation::Automatic, Interpretation::Hdf5] {
            let mut options = self.open_options().clone();
            options.interpretation = interpretation;
            let open = || any_format::open(recorder.clone() as Arc<dyn Storage>, &options);
            // Members are found by listing a group in one of them, and by their names in the other.
            let (listed, searched) = (open()?, open()?);
            let inlined = |offset, length| recorder.add_values(offset, length);
            let values = (inline_threshold > 0).then_some(Inlined { threshold: inline_threshold, add: &inlined });
            let visitor = Visitor { session: self, values, chunks: chunks.as_ref() };
            let (found, failed) = visitor.visit(listed.as_ref(), searched.as_ref())?;
            (objects, unreadable) = (objects.max(found), unreadable.max(failed));
        }
        let storage = recorder.clone() as Arc<dyn Storage>;
        let points = chunks.map(|(chunks, interval)| make_points(self, &storage, chunks, interval)).transpose()?;
        let points = points.filter(|points| points.streams() > 0);
        let saved = recorder.save(place, self.storage_options(), points.as_ref())?;
        let (restart_chunks, restart_points) = points.map_or((0, 0), |points| (points.streams(), points.points()));
        Ok(MadeChunkIndex { saved, objects, unreadable, restart_chunks, restart_points })
    }

    fn make_local_index(&self, path: &Path, place: &ChunkIndexPlace, interval: u64) -> Result<MadeChunkIndex> {
        let changed =
            || Error::new(ErrorKind::Conflict, "the file is being changed: make its chunk index when that is done").in_file(path.display().to_string());
        // A file that was written just now has to wait for the next tick of its time.
        let mut storage = LocalFile::open(path)?;
        for _ in 0..SETTLING_ROUNDS {
            if storage.is_unchanged() {
                break;
            }
            std::thread::sleep(SETTLING_PAUSE);
            storage = LocalFile::open(path)?;
        }
        let modified = storage.modified_nanoseconds().filter(|_| storage.is_unchanged()).ok_or_else(changed)?;
        let index = LocalIndex::of(path, storage.len(), modified);
        let index = index.ok_or_else(|| Error::unsupported("a chunk index of a file whose path is not UTF-8").in_file(path.display().to_string()))?;
        let storage = Arc::new(storage) as Arc<dyn Storage>;
        let mut options = self.open_options().clone();
        options.interpretation = Interpretation::Hdf5;
        let file = any_format::open(storage.clone(), &options)?;
        let chunks = (DeflatedChunks::default(), interval);
        let visitor = Visitor { session: self, values: None, chunks: Some(&chunks) };
        let (objects, unreadable) = visitor.visit(file.as_ref(), file.as_ref())?;
        let points = make_points(self, &storage, chunks.0, interval)?;
        if !storage.is_unchanged() {
            return Err(changed());
        }
        let saved = index.save(&points, place, self.storage_options())?;
        Ok(MadeChunkIndex { saved, objects, unreadable, restart_chunks: points.streams(), restart_points: points.points() })
    }
}

/// Values that go into an index.
struct Inlined<'a> {
    /// Most bytes of a dataset in the file.
    threshold: u64,
    add: &'a dyn Fn(u64, u64) -> Result<()>,
}

impl Inlined<'_> {
    /// Adds the values of a dataset.
    fn visit(&self, session: &Session, file: &dyn ArrayFile, id: ObjectId, dataset: &Dataset) -> Result<()> {
        let whole = Selection::all(dataset.dataspace.shape());
        if session.limits().check_read_chunks(dataset.chunk_grid.max_touched(&whole), file.storage().len()).is_err() {
            return Ok(());
        }
        for part in parts(&dataset.chunk_grid, &whole, MAX_CHUNKS) {
            interruption::check()?;
            let Some(located) = readable(file.locate(id, &part))? else { return Ok(()) };
            for chunk in &located.chunks {
                if let ChunkSource::Stored { offset, length, .. } = chunk.source {
                    readable((self.add)(offset, length))?;
                }
            }
        }
        Ok(())
    }
}

/// What parsing gave, without errors that come again when the file is read with the index.
fn readable<T>(parsed: Result<T>) -> Result<Option<T>> {
    match parsed {
        Ok(parsed) => Ok(Some(parsed)),
        Err(error)
            if matches!(
                error.kind(),
                ErrorKind::Corrupt | ErrorKind::Unsupported | ErrorKind::LimitExceeded | ErrorKind::NotFound | ErrorKind::InvalidInput
            ) =>
        {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// Reads metadata, and collects what else goes into an index.
struct Visitor<'a> {
    session: &'a Session,
    values: Option<Inlined<'a>>,
    /// Chunks that get restart points, and the distance between the points.
    chunks: Option<&'a (DeflatedChunks, u64)>,
}

impl Visitor<'_> {
    /// Reads the metadata of all objects; returns how many there are, and how many cannot be read.
    fn visit(&self, listed: &dyn ArrayFile, searched: &dyn ArrayFile) -> Result<(u64, u64)> {
        let (mut objects, mut unreadable) = (0, 0);
        let mut pending = VecDeque::from([(listed.tree().root(), Some(searched.tree().root()))]);
        let mut seen: HashSet<ObjectId> = pending.iter().map(|(id, _)| *id).collect();
        while let Some((id, other)) = pending.pop_front() {
            interruption::check()?;
            objects += 1;
            if self.visit_object(listed, id)?.is_none() {
                unreadable += 1;
                continue;
            }
            if let Some(other) = other {
                let tree = searched.tree();
                readable(tree.object(other))?;
                readable(tree.has_attribute(other, &[NO_ATTRIBUTE]))?;
                readable(tree.link_count(other))?;
                readable(tree.first_links(other, 1))?;
                readable(tree.attributes_where(other, &|_| true))?;
            }
            let links = readable(listed.tree().links(id))?.unwrap_or_default();
            for link in links.iter() {
                let other = match other {
                    Some(other) => readable(searched.tree().link(other, &link.name))?.flatten(),
                    None => None,
                };
                if let Some(member) = link.object()
                    && seen.insert(member)
                {
                    pending.push_back((member, other.and_then(|link| link.object())));
                }
            }
        }
        Ok((objects, unreadable))
    }

    /// Reads all metadata of one object but its links; `None` if it cannot be read.
    fn visit_object(&self, file: &dyn ArrayFile, id: ObjectId) -> Result<Option<()>> {
        let session = self.session;
        let tree = file.tree();
        let Some(object) = readable(tree.object(id))? else { return Ok(None) };
        readable(tree.attributes(id))?;
        readable(tree.tracks_links(id))?;
        match object {
            Object::Group => {
                readable(tree.declared_dimensions(id))?;
            }
            Object::Dataset(dataset) => {
                readable(tree.dimensions(id, &|_| Ok(String::new())))?;
                let stored = readable(file.stored_bytes(id))?;
                if dataset.storage == StorageLayout::Chunked && dataset.virtual_mappings.is_empty() {
                    let whole = Selection::all(dataset.dataspace.shape());
                    let touched = dataset.chunk_grid.max_touched(&whole);
                    // If a dataset claims more chunks than the file can hold, the list of its stored chunks was read above.
                    if session.limits().check_read_chunks(touched, file.storage().len()).is_ok() {
                        for part in parts(&dataset.chunk_grid, &whole, MAX_CHUNKS) {
                            interruption::check()?;
                            let Some(located) = readable(file.locate(id, &part))? else { continue };
                            if let Some((chunks, interval)) = self.chunks {
                                readable(chunks.add(file, id, &dataset, &located.chunks, *interval))?;
                            }
                        }
                    }
                }
                let values = self.values.as_ref().filter(|values| stored.is_some_and(|bytes| (1..=values.threshold).contains(&bytes)));
                if let Some(values) = values.filter(|_| dataset.virtual_mappings.is_empty()) {
                    values.visit(session, file, id, &dataset)?;
                }
            }
            Object::Datatype(_) => {}
        }
        Ok(Some(()))
    }
}
