//! An open HDF5 file as an [`ArrayFile`].

use std::sync::Arc;

use hyperslab_array::{Arrangement, ChunkBuffer, Error, HeapObjects, HeapReference, ReferenceKind, Region, Result, Selection, StoredReference};
use hyperslab_storage::{IF_DAMAGED, Storage};

use super::heap::GlobalHeap;
use super::layout::{Layout, StoredDataset};
use super::lazy_tree::{Kept, LazyTree};
use super::superblock::Superblock;
use super::{Source, chunk_locator, object_header, reference};
use crate::netcdf4::{self, Netcdf4Tree};
use crate::tree::dataset;
use crate::{ArrayFile, ChunkLocation, ChunkLocations, ChunkSource, Dataset, Format, HeaderPattern, Limits, ObjectId, Tree};

/// An open HDF5 file.
pub struct Hdf5File {
    source: Source,
    objects: Arc<LazyTree>,
    /// The tree as the netCDF-4 conventions show it, of a file that follows them.
    interpreted: Option<Netcdf4Tree>,
}

/// A buffer that needs no try.
const SURELY_THERE: usize = 16 << 20;

/// A dataset to be located or decoded.
struct Stored {
    /// As the tree shows it.
    dataset: Arc<Dataset>,
    /// As the file has it.
    kept: Arc<Kept>,
}

/// The start of a contiguous dataset's bytes.
enum ContiguousStart {
    /// No storage was allocated.
    Nowhere,
    /// In this file, relative to the base address.
    Here { address: u64, size: u64 },
    /// At byte 0 of its external files.
    External,
}

impl Hdf5File {
    /// Opens the file whose superblock lies at absolute offset `superblock`; other members of a file of several only if `joins_members`.
    ///
    /// # Errors
    /// `Corrupt`, `Unsupported`, `LimitExceeded` or `Io` if the metadata cannot be parsed.
    pub fn open(storage: Arc<dyn Storage>, superblock: u64, limits: &Limits, joins_members: bool) -> Result<Self> {
        let Superblock { source, root, .. } = Superblock::read(storage, superblock, limits, joins_members)?;
        source.storage.keep(source.absolute(root)?);
        Ok(Self { objects: Arc::new(LazyTree::open(source.clone(), root)?), source, interpreted: None })
    }
    /// Shows the file as the netCDF-4 conventions say, if the netCDF-4 library wrote it.
    ///
    /// # Errors
    /// `Corrupt`, `Unsupported`, `LimitExceeded` or `Io` if the root group cannot be parsed.
    pub fn detect_netcdf4(&mut self) -> Result<()> {
        if netcdf4::is_netcdf4(self.objects.as_ref())? {
            self.interpret_netcdf4();
        }
        Ok(())
    }
    /// Shows the file as the netCDF-4 conventions say.
    pub fn interpret_netcdf4(&mut self) {
        self.interpreted = Some(Netcdf4Tree::new(self.objects.clone()));
    }

    fn stored(&self, id: ObjectId) -> Result<Stored> {
        let dataset = dataset(self.tree(), id)?;
        if let Some(refusal) = &dataset.refusal {
            return Err(refusal.clone());
        }
        Ok(Stored { dataset, kept: self.objects.kept(id)? })
    }

    /// The blocks of a contiguous dataset that a selection touches.
    fn blocks(&self, dataset: &Dataset, place: ContiguousStart, selection: &Selection) -> Result<Vec<ChunkLocation>> {
        let shape = dataset.dataspace.shape();
        let element = dataset.datatype.size();
        let needed = dataset.dataspace.element_count()?.checked_mul(element).ok_or_else(|| Error::corrupt("a dataset beyond 64 bits"))?;
        let base = match place {
            ContiguousStart::Nowhere => None,
            ContiguousStart::External => Some(0),
            ContiguousStart::Here { size, .. } if size < needed => {
                return Err(Error::corrupt(format!("a contiguous dataset of {needed} bytes has {size} allocated")));
            }
            ContiguousStart::Here { address, .. } => {
                let base = self.source.absolute(address)?;
                if !base.checked_add(needed).is_some_and(|end| self.source.storage.reaches(end)) {
                    return Err(Error::corrupt(format!(
                        "{needed} bytes of data begin here but the file ends at byte {}: it is truncated; {IF_DAMAGED}",
                        self.source.storage.len()
                    ))
                    .at_offset(base));
                }
                Some(base)
            }
        };
        let origins = dataset.chunk_grid.touched(selection)?;
        origins
            .into_iter()
            .map(|origin| {
                let region = dataset.chunk_grid.clipped(origin)?;
                let first = region.start.iter().zip(shape).fold(0, |number, (&index, &extent)| number * extent + index);
                let length = region.count.iter().product::<u64>() * element;
                let source = match base {
                    Some(base) => ChunkSource::Stored { offset: base + first * element, length, filter_mask: 0 },
                    None => ChunkSource::Fill,
                };
                Ok(ChunkLocation { region, source })
            })
            .collect()
    }
}

impl ArrayFile for Hdf5File {
    fn format(&self) -> Format {
        if self.interpreted.is_some() { Format::Netcdf4 } else { Format::Hdf5 }
    }
    fn storage(&self) -> &Arc<dyn Storage> {
        &self.source.storage
    }
    fn user_block_bytes(&self) -> u64 {
        self.source.base_address
    }
    fn tree(&self) -> &dyn Tree {
        match &self.interpreted {
            Some(tree) => tree,
            None => self.objects.as_ref(),
        }
    }

    fn header_pattern(&self, id: ObjectId) -> Result<Option<HeaderPattern>> {
        let kept = self.objects.kept(id)?;
        let is_contiguous = |(_, stored): (_, &StoredDataset)| matches!(stored.layout, Layout::Contiguous { address: Some(_), .. });
        match self.interpreted.is_none() && kept.dataset().is_some_and(is_contiguous) {
            true => object_header::pattern(&self.source.with_own_budget(), id.0),
            false => Ok(None),
        }
    }

    fn locate(&self, id: ObjectId, selection: &Selection) -> Result<ChunkLocations> {
        let found = self.stored(id)?;
        let (dataset, stored) = found.parts()?;
        if selection.is_empty() || dataset.dataspace.element_count()? == 0 {
            return Ok(ChunkLocations::default());
        }
        let chunks = match &stored.layout {
            Layout::Compact(bytes) => {
                let needed = dataset.dataspace.element_count()?.checked_mul(dataset.datatype.size());
                let source = match needed.and_then(|n| usize::try_from(n).ok()) {
                    Some(needed) if needed == bytes.len() => ChunkSource::Inline(bytes.clone()),
                    _ if bytes.is_empty() => ChunkSource::Fill,
                    // As in the HDF5 library: with another size, elements would begin at other places than they were written at.
                    needed => {
                        let needed = needed.map_or_else(|| "more".to_owned(), |needed| needed.to_string());
                        return Err(Error::corrupt(format!("a compact dataset of {} bytes, whose shape needs {needed}", bytes.len())));
                    }
                };
                vec![ChunkLocation { region: Region::all(dataset.dataspace.shape()), source }]
            }
            Layout::Contiguous { address: None, .. } => self.blocks(dataset, ContiguousStart::Nowhere, selection)?,
            Layout::Contiguous { address: Some(address), size } => self.blocks(dataset, ContiguousStart::Here { address: *address, size: *size }, selection)?,
            Layout::Chunked(layout) => {
                let mut chunks = chunk_locator::locate(&self.source.with_own_budget(), layout, selection)?;
                if layout.unfiltered_partial_edges {
                    skip_filters_at_edges(&mut chunks, &layout.shape, stored.pipeline.all_skipped());
                }
                chunks
            }
            Layout::External => self.blocks(dataset, ContiguousStart::External, selection)?,
            Layout::Virtual => return Err(Error::internal("a virtual dataset has no chunks of its own")),
        };
        Ok(ChunkLocations { chunks })
    }

    fn stored_bytes(&self, id: ObjectId) -> Result<u64> {
        let found = self.stored(id)?;
        let (dataset, stored) = found.parts()?;
        match (&stored.layout, dataset.stored_bytes) {
            (_, Some(bytes)) => Ok(bytes),
            (Layout::Chunked(_), None) if dataset.dataspace.element_count()? == 0 => Ok(0),
            (Layout::Chunked(layout), None) => chunk_locator::stored_bytes(&self.source.with_own_budget(), layout),
            (_, None) => Err(Error::internal("a dataset without chunks whose stored bytes are not known")),
        }
    }

    fn deflated(&self, id: ObjectId, location: &ChunkLocation) -> Result<Option<Arrangement>> {
        let found = self.stored(id)?;
        let (dataset, stored) = found.parts()?;
        match location.source {
            ChunkSource::Stored { filter_mask, .. } if matches!(stored.layout, Layout::Chunked(_)) => {
                Ok(stored.pipeline.deflated(filter_mask, dataset.datatype.size()))
            }
            _ => Ok(None),
        }
    }

    fn decode(&self, id: ObjectId, location: &ChunkLocation, raw: &[u8], out: &mut ChunkBuffer) -> Result<()> {
        let found = self.stored(id)?;
        let (dataset, stored) = found.parts()?;
        let bytes = location
            .region
            .count
            .iter()
            .try_fold(dataset.datatype.size(), |n, &extent| n.checked_mul(extent))
            .filter(|n| *n <= self.source.limits.chunk_bytes)
            .and_then(|n| usize::try_from(n).ok())
            .ok_or_else(|| Error::limit_exceeded(format!("a chunk of shape {:?}", location.region.count)))?;
        let ChunkSource::Stored { filter_mask, .. } = location.source else {
            return Err(Error::internal("only stored chunks are decoded"));
        };
        if matches!(stored.layout, Layout::Chunked(_)) && !stored.pipeline.filters.is_empty() {
            reserve(&mut out.bytes, bytes)?;
            let least = used_bytes(location, dataset).and_then(|n| usize::try_from(n).ok()).unwrap_or(bytes);
            let element = usize::try_from(dataset.datatype.size()).unwrap_or(usize::MAX);
            return stored.pipeline.decode_chunk(raw, filter_mask, least.min(bytes)..=bytes, element, out);
        }
        if raw.len() != bytes {
            return Err(Error::corrupt(format!("a chunk of {} bytes where {bytes} belong", raw.len())));
        }
        out.arrangement = Arrangement::Elements;
        reserve(&mut out.bytes, bytes)?;
        out.bytes.clear();
        out.bytes.extend_from_slice(raw);
        Ok(())
    }

    fn references(&self, kind: ReferenceKind, size: usize, bytes: &[u8]) -> Result<Vec<Option<StoredReference>>> {
        reference::read(&self.source.with_own_budget(), kind, size, bytes)
    }

    fn heap_objects(&self, references: &[HeapReference], objects: &mut HeapObjects) -> Result<()> {
        GlobalHeap::fetch(&self.source.with_own_budget(), references, objects)
    }
}

impl Stored {
    fn parts(&self) -> Result<(&Dataset, &StoredDataset)> {
        let (_, stored) = self.kept.dataset().ok_or_else(|| Error::internal("a dataset without layout"))?;
        Ok((&self.dataset, stored))
    }
}

/// Chunks that hang over the edge of a dataset with unfiltered partial edges say nothing of it in the chunk index: their masks
/// become `all_skipped`, so that code that copies or decodes them needs no other information.
fn skip_filters_at_edges(chunks: &mut [ChunkLocation], shape: &[u64], all_skipped: u32) {
    for chunk in chunks {
        let hangs_over = chunk.region.dimensions().zip(shape).any(|((start, extent), &n)| start.saturating_add(extent) > n);
        if let (true, ChunkSource::Stored { filter_mask, .. }) = (hangs_over, &mut chunk.source) {
            *filter_mask = all_skipped;
        }
    }
}

/// Makes room for a decoded chunk, and tries whether there is room for what is between two filters. The file decides the size.
fn reserve(out: &mut Vec<u8>, bytes: usize) -> Result<()> {
    let no_room = |_| Error::limit_exceeded(format!("no memory to decode a chunk of {bytes} bytes"));
    out.try_reserve_exact(bytes.saturating_sub(out.len())).map_err(no_room)?;
    if bytes > SURELY_THERE {
        let mut between: Vec<u8> = Vec::new();
        between.try_reserve_exact(bytes).map_err(no_room)?;
        // Otherwise the compiler may optimize the attempt away.
        std::hint::black_box(&mut between);
    }
    Ok(())
}

/// Bytes of a chunk up to the last element that lies in its dataset; `None` beyond 64 bits.
fn used_bytes(location: &ChunkLocation, dataset: &Dataset) -> Option<u64> {
    let extents = dataset.dataspace.shape().iter().zip(location.region.dimensions());
    let mut elements: u64 = 0;
    for (&whole, (start, chunk)) in extents {
        let last = whole.checked_sub(start)?.min(chunk).checked_sub(1)?;
        elements = elements.checked_mul(chunk)?.checked_add(last)?;
    }
    elements.checked_add(1)?.checked_mul(dataset.datatype.size())
}
