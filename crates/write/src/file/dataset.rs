//! The values of one dataset on their way into a file.

use std::collections::{BTreeMap, BTreeSet};

use hyperslab_array::{Dataspace, Error, Result};
use hyperslab_formats::VirtualMapping;
use hyperslab_formats::hdf5::writer::{NewDataset, NewStorage, StoredChunk};

use super::definition::DatasetDefinition;
use super::growing::GrowingValues;
use super::partial_chunk::PartialChunk;
use super::placement::Placement;
use super::region::Region;
use super::touched_chunks::{chunk_index, touched_chunks};

#[derive(Debug)]
pub(crate) struct DatasetWriter {
    pub(crate) definition: DatasetDefinition,
    pub(crate) storage: DatasetStorage,
    /// Regions that were written; those side by side are one where that is seen.
    pub(crate) written: Vec<Region>,
    /// Whether its values go into the subfile that several tasks write.
    pub(crate) shared: bool,
}

#[derive(Debug)]
pub(crate) enum DatasetStorage {
    Contiguous(Option<u64>),
    Virtual(Vec<VirtualMapping>),
    /// Every chunk has its place from the beginning: row-major from `base` on, `stride` bytes apart.
    Placed { chunk_shape: Vec<u64>, base: u64, stride: u64 },
    /// In chunks whose shape is chosen later.
    Growing(GrowingValues),
    Chunked { chunk_shape: Vec<u64>, stored: BTreeMap<Vec<u64>, StoredChunk>, partial: BTreeMap<Vec<u64>, PartialChunk> },
}

impl DatasetWriter {
    /// `definition` has been checked.
    pub fn new(definition: DatasetDefinition) -> Self {
        let storage = match &definition.chunk_shape {
            None => DatasetStorage::Contiguous(None),
            Some(chunk_shape) => DatasetStorage::Chunked { chunk_shape: chunk_shape.clone(), stored: BTreeMap::new(), partial: BTreeMap::new() },
        };
        Self { definition, storage, written: Vec::new(), shared: false }
    }

    /// The same, and the chunk shape of `definition` is only one that would do: it is chosen when it is known how large the
    /// dataset becomes.
    pub fn growing(definition: DatasetDefinition) -> Self {
        match &definition.dataspace {
            Dataspace::Simple { shape, max_shape } if definition.chunk_shape.is_some() && shape.iter().zip(max_shape).any(|(extent, max)| *max != Some(*extent)) => {
                Self { storage: DatasetStorage::Growing(GrowingValues::default()), ..Self::new(definition) }
            }
            _ => Self::new(definition),
        }
    }

    /// A dataset whose values are in others.
    pub fn new_virtual(definition: DatasetDefinition, mappings: Vec<VirtualMapping>) -> Self {
        Self { definition, storage: DatasetStorage::Virtual(mappings), written: Vec::new(), shared: false }
    }

    /// A dataset of a shared subfile: `definition` is what is in that file, `place` where.
    pub fn in_shared(definition: DatasetDefinition, place: &Placement) -> Result<Self> {
        let chunk_shape = || definition.chunk_shape.clone().ok_or_else(|| Error::internal("chunks without a shape"));
        let storage = match place {
            Placement::Run(address) => DatasetStorage::Contiguous(Some(*address)),
            Placement::Chunks { base, stride } => DatasetStorage::Placed { chunk_shape: chunk_shape()?, base: *base, stride: *stride },
            Placement::Segments => DatasetStorage::Chunked { chunk_shape: chunk_shape()?, stored: BTreeMap::new(), partial: BTreeMap::new() },
        };
        Ok(Self { definition, storage, written: Vec::new(), shared: true })
    }

    /// Whether its values go into the subfile that several tasks write.
    pub fn is_shared(&self) -> bool {
        self.shared
    }

    /// The chunks that were stored wherever there was room, in no place known before.
    pub fn stored(&self) -> impl Iterator<Item = &StoredChunk> {
        let stored = if let DatasetStorage::Chunked { stored, .. } = &self.storage { Some(stored.values()) } else { None };
        stored.into_iter().flatten()
    }

    /// Notes what others have written: regions, and chunks where they have stored them.
    pub fn add_written(&mut self, regions: &[Region], chunks: impl Iterator<Item = StoredChunk>) -> Result<()> {
        self.written.extend_from_slice(regions);
        for chunk in chunks {
            let DatasetStorage::Chunked { stored, .. } = &mut self.storage else { return Err(Error::invalid_input("a list of chunks whose places are known")) };
            if let Some(twice) = stored.insert(chunk.position.clone(), chunk) {
                return Err(Error::invalid_input(format!("two tasks that have both stored the chunk at {:?}", twice.position)));
            }
        }
        Ok(())
    }

    pub fn definition(&self) -> &DatasetDefinition {
        &self.definition
    }

    pub fn written(&self) -> &[Region] {
        &self.written
    }

    /// Changes the path of the committed datatype.
    pub fn recommit(&mut self, change: impl FnOnce(&str) -> Option<String>) {
        if let Some(committed) = &self.definition.committed {
            self.definition.committed = change(committed.trim_start_matches('/'));
        }
    }

    /// What the file's metadata has to say.
    pub fn description(&self) -> Result<NewDataset> {
        let storage = match &self.storage {
            // What nobody wrote is the fill value, though it has its place.
            DatasetStorage::Contiguous(address) => NewStorage::Contiguous(address.filter(|_| !self.shared || !self.written.is_empty())),
            DatasetStorage::Virtual(mappings) => NewStorage::Virtual(mappings.clone()),
            DatasetStorage::Placed { chunk_shape, base, stride } => {
                let shape = self.definition.dataspace.shape();
                let length = chunk_shape.iter().fold(self.definition.datatype.size(), |n, extent| n.saturating_mul(*extent));
                let positions: BTreeSet<Vec<u64>> = self.written.iter().flat_map(|region| touched_chunks(region, shape, chunk_shape)).map(|chunk| chunk.position).collect();
                let chunk = |position: Vec<u64>| {
                    let address = base.saturating_add(chunk_index(&position, shape, chunk_shape).saturating_mul(*stride));
                    StoredChunk { position, address, length, filter_mask: 0 }
                };
                NewStorage::Chunked { chunk_shape: chunk_shape.clone(), chunks: positions.into_iter().map(chunk).collect() }
            }
            DatasetStorage::Growing(_) => {
                let chunk_shape = self.definition.chunk_shape.clone().ok_or_else(|| Error::internal("chunks without a shape"))?;
                NewStorage::Chunked { chunk_shape, chunks: Vec::new() }
            }
            DatasetStorage::Chunked { chunk_shape, stored, .. } => {
                NewStorage::Chunked { chunk_shape: chunk_shape.clone(), chunks: stored.values().cloned().collect() }
            }
        };
        let definition = &self.definition;
        Ok(NewDataset {
            committed: None,
            datatype: definition.datatype.clone(),
            dataspace: definition.dataspace.clone(),
            fill_value: definition.fill_value.clone(),
            fill_time: definition.fill_time,
            filters: definition.filters.clone(),
            storage,
        })
    }
}
