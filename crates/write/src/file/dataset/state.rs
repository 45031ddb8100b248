//! State of a dataset that is being written: its definition, where its values are stored, which regions were written.

use std::collections::{BTreeMap, BTreeSet};

use hyperslab_array::{Dataspace, Error, Result};
use hyperslab_formats::VirtualMapping;
use hyperslab_formats::hdf5::writer::{FillObjects, NewDataset, NewStorage, StoredChunk};

use super::growing::GrowingValues;
use super::partial_chunk::PartialChunk;
use super::placement::Placement;
use super::touched_chunks::{chunk_index, touched_chunks};
use crate::file::definition::DatasetDefinition;
use crate::file::regions::region::Region;

#[derive(Debug)]
pub(crate) struct DatasetWriter {
    pub(crate) definition: DatasetDefinition,
    pub(crate) storage: DatasetStorage,
    /// Regions written. Consecutive writes of adjacent regions are merged.
    pub(crate) written: Vec<Region>,
    /// Whether the values go into a shared subfile.
    pub(crate) shared: bool,
    /// What a fill value of variable length points at.
    pub(crate) fill: Option<FillObjects>,
}

#[derive(Debug)]
pub(crate) enum DatasetStorage {
    Contiguous(Option<u64>),
    Virtual(Vec<VirtualMapping>),
    /// Chunks at fixed offsets: row-major from `base` on, `stride` bytes apart.
    Placed {
        chunk_shape: Vec<u64>,
        base: u64,
        stride: u64,
    },
    /// In memory until the chunk shape is chosen.
    Growing(GrowingValues),
    Chunked {
        chunk_shape: Vec<u64>,
        stored: BTreeMap<Vec<u64>, StoredChunk>,
        partial: BTreeMap<Vec<u64>, PartialChunk>,
    },
}

impl DatasetWriter {
    /// A dataset with a checked `definition`.
    pub fn new(definition: DatasetDefinition) -> Self {
        let storage = match &definition.chunk_shape {
            None => DatasetStorage::Contiguous(None),
            Some(chunk_shape) => DatasetStorage::Chunked { chunk_shape: chunk_shape.clone(), stored: BTreeMap::new(), partial: BTreeMap::new() },
        };
        Self { definition, storage, written: Vec::new(), shared: false, fill: None }
    }

    /// Like [`DatasetWriter::new`], but if the dataset can grow, the chunk shape in `definition` is provisional: the final one
    /// is chosen once the size of the dataset is known.
    pub fn growing(definition: DatasetDefinition) -> Self {
        match &definition.dataspace {
            Dataspace::Simple { shape, max_shape }
                if definition.chunk_shape.is_some() && shape.iter().zip(max_shape).any(|(extent, max)| *max != Some(*extent)) =>
            {
                Self { storage: DatasetStorage::Growing(GrowingValues::default()), ..Self::new(definition) }
            }
            _ => Self::new(definition),
        }
    }

    /// A virtual dataset.
    pub fn new_virtual(definition: DatasetDefinition, mappings: Vec<VirtualMapping>) -> Self {
        Self { definition, storage: DatasetStorage::Virtual(mappings), written: Vec::new(), shared: false, fill: None }
    }

    /// Whether its values are in other datasets.
    pub fn is_virtual(&self) -> bool {
        matches!(self.storage, DatasetStorage::Virtual(_))
    }

    /// A dataset of a shared subfile: `definition` describes the part in that file, `place` its location.
    pub fn in_shared(definition: DatasetDefinition, place: &Placement) -> Result<Self> {
        let chunk_shape = || definition.chunk_shape.clone().ok_or_else(|| Error::internal("chunks without a shape"));
        let storage = match place {
            Placement::Run(address) => DatasetStorage::Contiguous(Some(*address)),
            Placement::Chunks { base, stride } => DatasetStorage::Placed { chunk_shape: chunk_shape()?, base: *base, stride: *stride },
            Placement::Segments => DatasetStorage::Chunked { chunk_shape: chunk_shape()?, stored: BTreeMap::new(), partial: BTreeMap::new() },
        };
        Ok(Self { definition, storage, written: Vec::new(), shared: true, fill: None })
    }

    /// A contiguous dataset that shares the bytes of another dataset of the file, from `address` on.
    pub fn at(definition: DatasetDefinition, address: u64) -> Self {
        Self { definition, storage: DatasetStorage::Contiguous(Some(address)), written: Vec::new(), shared: false, fill: None }
    }

    /// File offset of a contiguous dataset; `None` if nothing was written yet or it is stored otherwise.
    pub fn address(&self) -> Option<u64> {
        if let DatasetStorage::Contiguous(address) = self.storage { address } else { None }
    }

    /// Whether the values go into a shared subfile.
    pub fn is_shared(&self) -> bool {
        self.shared
    }

    /// Stored chunks, except those at fixed offsets.
    pub fn stored(&self) -> impl Iterator<Item = &StoredChunk> {
        let stored = if let DatasetStorage::Chunked { stored, .. } = &self.storage { Some(stored.values()) } else { None };
        stored.into_iter().flatten()
    }

    /// Adds regions and chunks that tasks have written.
    pub fn add_written(&mut self, regions: &[Region], chunks: impl Iterator<Item = StoredChunk>) -> Result<()> {
        self.written.extend_from_slice(regions);
        for chunk in chunks {
            let DatasetStorage::Chunked { stored, .. } = &mut self.storage else {
                return Err(Error::invalid_input("a list of chunks for a dataset whose chunk offsets are fixed"));
            };
            if let Some(twice) = stored.insert(chunk.position.clone(), chunk) {
                return Err(Error::invalid_input(format!("two tasks both stored the chunk at {:?}", twice.position)));
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

    /// Replaces the path of the committed datatype by the result of `change`.
    pub fn recommit(&mut self, change: impl FnOnce(&str) -> Option<String>) {
        if let Some(committed) = &self.definition.committed {
            self.definition.committed = change(committed.trim_start_matches('/'));
        }
    }

    /// The dataset as the file's metadata describes it.
    pub fn description(&self) -> Result<NewDataset> {
        let storage = match &self.storage {
            // A shared dataset that no task wrote has no address, so that readers see the fill value.
            DatasetStorage::Contiguous(address) => NewStorage::Contiguous(address.filter(|_| !self.shared || !self.written.is_empty())),
            DatasetStorage::Virtual(mappings) => NewStorage::Virtual(mappings.clone()),
            DatasetStorage::Placed { chunk_shape, base, stride } => {
                let shape = self.definition.dataspace.shape();
                let length = chunk_shape.iter().fold(self.definition.datatype.size(), |n, extent| n.saturating_mul(*extent));
                let positions: BTreeSet<Vec<u64>> =
                    self.written.iter().flat_map(|region| touched_chunks(region, shape, chunk_shape)).map(|chunk| chunk.position).collect();
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
            is_fill_undefined: definition.is_fill_undefined,
            fill_time: definition.fill_time,
            allocation: definition.allocation,
            filters: definition.filters.clone(),
            storage,
        })
    }
}
