//! netCDF classic.
use std::sync::Arc;

use hyperslab_array::{Error, HeapObjects, HeapReference, Result, Selection};
use hyperslab_storage::Storage;

use crate::{ArrayFile, ChunkLocation, ChunkLocations, Format, Limits, ObjectId, Tree};

/// Whether the file starts with a CDF-1, CDF-2 or CDF-5 signature.
pub fn is_netcdf3(_storage: &dyn Storage) -> Result<bool> {
    Ok(false)
}

/// An open netCDF classic file.
pub struct Netcdf3File {
    storage: Arc<dyn Storage>,
    tree: Tree,
}

impl Netcdf3File {
    /// Parses the header.
    pub fn open(_storage: Arc<dyn Storage>, _limits: &Limits) -> Result<Self> {
        Err(Error::unsupported("stub"))
    }
}

impl ArrayFile for Netcdf3File {
    fn format(&self) -> Format {
        Format::Netcdf3
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
        Ok(())
    }
}
