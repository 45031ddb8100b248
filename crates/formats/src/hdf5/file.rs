//! An open HDF5 file behind [`ArrayFile`].
use std::sync::Arc;

use hyperslab_array::{Error, HeapObjects, HeapReference, Result, Selection};
use hyperslab_storage::Storage;

use crate::{ArrayFile, ChunkLocation, ChunkLocations, Format, Limits, ObjectId, Tree};

/// An open HDF5 file.
pub struct Hdf5File {
    storage: Arc<dyn Storage>,
    tree: Tree,
    format: Format,
}

impl Hdf5File {
    /// Opens the file whose superblock lies at absolute offset `superblock`.
    pub fn open(_storage: Arc<dyn Storage>, _superblock: u64, _limits: &Limits) -> Result<Self> {
        Err(Error::unsupported("stub"))
    }
    pub(crate) fn tree_mut(&mut self) -> &mut Tree {
        &mut self.tree
    }
    pub(crate) fn set_format(&mut self, format: Format) {
        self.format = format;
    }
}

impl ArrayFile for Hdf5File {
    fn format(&self) -> Format {
        self.format
    }
    fn storage(&self) -> &Arc<dyn Storage> {
        &self.storage
    }
    fn tree(&self) -> &Tree {
        &self.tree
    }
    fn locate(&self, _dataset: ObjectId, _selection: &Selection) -> Result<ChunkLocations> {
        Err(Error::unsupported("stub"))
    }
    fn decode(&self, _: ObjectId, _: &ChunkLocation, _: &[u8], _: &mut Vec<u8>) -> Result<()> {
        Err(Error::unsupported("stub"))
    }
    fn heap_objects(&self, _: &[HeapReference], _: &mut HeapObjects) -> Result<()> {
        Err(Error::unsupported("stub"))
    }
}
