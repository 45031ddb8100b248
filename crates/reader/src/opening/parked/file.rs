//! A file that may be parked: all that is known of it is dropped, and read again when it is used.

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

use hyperslab_array::{Arrangement, ChunkBuffer, HeapObjects, HeapReference, ReferenceKind, Result, Selection, StoredReference};
use hyperslab_formats::{
    ArrayFile, Attributes, ChunkLocation, ChunkLocations, Dimension, DimensionScale, Format, HeaderPattern, Link, Links, Object, ObjectId, PathOf, Tree,
};
use hyperslab_storage::{LocalFile, Storage};

use super::state::Parked;
use super::storage::ParkedStorage;
use crate::Session;

/// The file at `path` as one that may be parked, which it is at once; `opened` itself if it cannot be, because its bytes do not come from one local file, or
/// were changed so recently that another version would not be noticed.
pub(crate) fn parkable(session: &Session, path: &Arc<Path>, local: &Arc<LocalFile>, opened: Arc<dyn ArrayFile>) -> Arc<dyn ArrayFile> {
    let is_all = Arc::as_ptr(opened.storage()).cast::<()>() == Arc::as_ptr(local).cast::<()>();
    let is_fit = is_all && opened.is_stored() && opened.targets().is_empty();
    let Some(stamp) = local.settled_stamp().filter(|_| is_fit) else { return opened };
    let Some(parked) = Parked::new(session, path, stamp, opened.as_ref()).map(Arc::new) else { return opened };
    Arc::new(ParkedFile { storage: Arc::new(ParkedStorage(parked.clone())), parked })
}

/// A file that may be parked, as one that is open.
struct ParkedFile {
    parked: Arc<Parked>,
    storage: Arc<dyn Storage>,
}

impl ParkedFile {
    fn opened(&self) -> Result<Arc<dyn ArrayFile>> {
        self.parked.opened()
    }
}

impl ArrayFile for ParkedFile {
    fn format(&self) -> Format {
        self.parked.format()
    }
    fn storage(&self) -> &Arc<dyn Storage> {
        &self.storage
    }
    fn user_block_bytes(&self) -> u64 {
        self.parked.user_block_bytes()
    }
    fn tree(&self) -> &dyn Tree {
        self
    }
    fn header_pattern(&self, dataset: ObjectId) -> Result<Option<HeaderPattern>> {
        self.opened()?.header_pattern(dataset)
    }
    fn locate(&self, dataset: ObjectId, selection: &Selection) -> Result<ChunkLocations> {
        self.opened()?.locate(dataset, selection)
    }
    fn stored_bytes(&self, dataset: ObjectId) -> Result<u64> {
        self.opened()?.stored_bytes(dataset)
    }
    fn decode(&self, dataset: ObjectId, location: &ChunkLocation, raw: &[u8], out: &mut ChunkBuffer) -> Result<()> {
        self.opened()?.decode(dataset, location, raw, out)
    }
    fn deflated(&self, dataset: ObjectId, location: &ChunkLocation) -> Result<Option<Arrangement>> {
        self.opened()?.deflated(dataset, location)
    }
    fn heap_objects(&self, references: &[HeapReference], objects: &mut HeapObjects) -> Result<()> {
        self.opened()?.heap_objects(references, objects)
    }
    fn references(&self, kind: ReferenceKind, size: usize, bytes: &[u8]) -> Result<Vec<Option<StoredReference>>> {
        self.opened()?.references(kind, size, bytes)
    }
}

impl Tree for ParkedFile {
    fn root(&self) -> ObjectId {
        self.parked.root()
    }
    fn object(&self, id: ObjectId) -> Result<Object> {
        self.opened()?.tree().object(id)
    }
    fn attributes(&self, id: ObjectId) -> Result<Arc<Attributes>> {
        self.opened()?.tree().attributes(id)
    }
    fn has_attribute(&self, id: ObjectId, names: &[&str]) -> Result<bool> {
        self.opened()?.tree().has_attribute(id, names)
    }
    fn attributes_where(&self, id: ObjectId, wanted: &dyn Fn(&str) -> bool) -> Result<Attributes> {
        self.opened()?.tree().attributes_where(id, wanted)
    }
    fn links(&self, group: ObjectId) -> Result<Arc<Links>> {
        self.opened()?.tree().links(group)
    }
    fn link(&self, group: ObjectId, name: &str) -> Result<Option<Link>> {
        self.opened()?.tree().link(group, name)
    }
    fn first_links(&self, group: ObjectId, max: usize) -> Result<Vec<Link>> {
        self.opened()?.tree().first_links(group, max)
    }
    fn link_count(&self, group: ObjectId) -> Result<u64> {
        self.opened()?.tree().link_count(group)
    }
    fn tracks_links(&self, group: ObjectId) -> Result<bool> {
        self.opened()?.tree().tracks_links(group)
    }
    fn dimensions(&self, dataset: ObjectId, path_of: &PathOf<'_>) -> Result<Arc<[DimensionScale]>> {
        self.opened()?.tree().dimensions(dataset, path_of)
    }
    fn declared_dimensions(&self, group: ObjectId) -> Result<Arc<[Dimension]>> {
        self.opened()?.tree().declared_dimensions(group)
    }
    // A file that cannot be opened again has no addresses and paths. The next request returns the error.
    fn address(&self, id: ObjectId) -> Option<u64> {
        self.opened().ok()?.tree().address(id)
    }
    fn at_address(&self, address: u64) -> Option<ObjectId> {
        self.opened().ok()?.tree().at_address(address)
    }
    fn path(&self, id: ObjectId) -> Option<Cow<'_, str>> {
        Some(Cow::Owned(self.opened().ok()?.tree().path(id)?.into_owned()))
    }
}
