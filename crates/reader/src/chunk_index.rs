//! Makes chunk indexes: reads all metadata of a remote file once, in the ways in which readers do, while a recorder notes which bytes
//! that takes.

use std::collections::{HashSet, VecDeque};
use std::path::Path;
use std::sync::Arc;

use hyperslab_array::{Error, ErrorKind, Result, Selection, interruption};
use hyperslab_formats::{ArrayFile, ChunkSource, Dataset, Interpretation, Object, ObjectId, StorageLayout};
use hyperslab_storage::{ChunkIndexPlace, Recorder, SavedChunkIndex, Storage};

use crate::address::address_of;
use crate::stored::{MAX_CHUNKS, parts};
use crate::{Session, any_format};

/// A name that no attribute has: looking for it reads what a search reads.
const NO_ATTRIBUTE: &str = "\u{1}";

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
}

impl Session {
    /// Makes a chunk index of the object at an address: all of its metadata, with which it is opened, and its chunks are
    /// located, without a request. It goes to `place`.
    /// Values of datasets that take at most `inline_threshold` bytes in the file are in the index, too, and are read without a request.
    ///
    /// # Errors
    /// `Unsupported` for a local file, and if the store gives no strong entity tag; as [`Session::open`]; `Cancelled`.
    pub fn make_chunk_index(&self, address: &Path, place: &ChunkIndexPlace, inline_threshold: u64) -> Result<MadeChunkIndex> {
        let Some(remote) = address_of(address) else {
            return Err(
                Error::unsupported("a chunk index of a local file: only remote files need requests to be opened").in_file(address.display().to_string())
            );
        };
        let recorder = Arc::new(Recorder::open(remote, self.storage_options())?);
        let (mut objects, mut unreadable) = (0, 0);
        for interpretation in [Interpretation::Automatic, Interpretation::Hdf5] {
            let mut options = self.open_options().clone();
            options.interpretation = interpretation;
            let open = || any_format::open(recorder.clone() as Arc<dyn Storage>, &options);
            // Members are found by listing a group in one of them, and by their names in the other.
            let (listed, searched) = (open()?, open()?);
            let inlined = |offset, length| recorder.add_values(offset, length);
            let values = (inline_threshold > 0).then_some(Inlined { threshold: inline_threshold, add: &inlined });
            let (found, failed) = visit(self, listed.as_ref(), searched.as_ref(), values.as_ref())?;
            (objects, unreadable) = (objects.max(found), unreadable.max(failed));
        }
        let saved = recorder.save(place, self.storage_options())?;
        Ok(MadeChunkIndex { saved, objects, unreadable })
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

/// Reads the metadata of all objects; returns how many there are, and how many cannot be read.
fn visit(session: &Session, listed: &dyn ArrayFile, searched: &dyn ArrayFile, values: Option<&Inlined<'_>>) -> Result<(u64, u64)> {
    let (mut objects, mut unreadable) = (0, 0);
    let mut pending = VecDeque::from([(listed.tree().root(), Some(searched.tree().root()))]);
    let mut seen: HashSet<ObjectId> = pending.iter().map(|(id, _)| *id).collect();
    while let Some((id, other)) = pending.pop_front() {
        interruption::check()?;
        objects += 1;
        if visit_object(session, listed, id, values)?.is_none() {
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
fn visit_object(session: &Session, file: &dyn ArrayFile, id: ObjectId, values: Option<&Inlined<'_>>) -> Result<Option<()>> {
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
                // Of a dataset with more chunks than can be, the list of its stored chunks was read above.
                if session.limits().check_read_chunks(touched, file.storage().len()).is_ok() {
                    for part in parts(&dataset.chunk_grid, &whole, MAX_CHUNKS) {
                        interruption::check()?;
                        readable(file.locate(id, &part))?;
                    }
                }
            }
            let values = values.filter(|values| stored.is_some_and(|bytes| (1..=values.threshold).contains(&bytes)));
            if let Some(values) = values.filter(|_| dataset.virtual_mappings.is_empty()) {
                values.visit(session, file, id, &dataset)?;
            }
        }
        Object::Datatype(_) => {}
    }
    Ok(Some(()))
}
