//! A dataset from its object header (specification IV.A.2): description and layout.

use std::sync::Arc;

use hyperslab_array::{ChunkGrid, Dataspace, Datatype, Error, Result, Selection};

use super::heap::LocalHeap;
use super::layout::{ChunkedLayout, Layout, StoredDataset};
use super::message::fill_value::FillMessage;
use super::message::layout::LayoutMessage;
use super::message::{dataspace, external_files, fill_value, filter_pipeline, layout};
use super::object_header::{ObjectHeader, kind};
use super::{Source, chunk_locator, virtual_dataset};
use crate::filter::Pipeline;
use crate::object::{BLOCK_BYTES, block_shape};
use crate::{ChunkLocation, ChunkSource, Dataset, ExternalFile, StorageLayout, VirtualMapping};

pub(super) fn parse(source: &Source, header: &ObjectHeader) -> Result<(Dataset, StoredDataset)> {
    let missing = |what: &str| Error::corrupt(format!("a dataset without its {what} message"));
    let datatype = header.find(kind::DATATYPE).ok_or_else(|| missing("datatype"))?.datatype(source)?;
    let dataspace = header.find(kind::DATASPACE).ok_or_else(|| missing("dataspace"))?.parse(source, dataspace::parse)?;
    let message = header.find(kind::LAYOUT).ok_or_else(|| missing("layout"))?.parse(source, layout::parse)?;
    let pipeline = match header.find(kind::FILTER_PIPELINE) {
        Some(message) => message.parse(source, filter_pipeline::parse)?,
        None => Pipeline::default(),
    };
    let fill = fill_value(source, header, &datatype)?;
    let virtual_mappings = match &message {
        LayoutMessage::Virtual(place) => virtual_dataset::mappings(source, *place)?,
        _ => Arc::<[VirtualMapping]>::default(),
    };
    let external_files = external_files(source, header)?;
    let (layout, storage, stored_bytes) = layout_of(message, &datatype, &dataspace, !external_files.is_empty())?;
    let refusal = refusal(&datatype, &pipeline).filter(|_| !reads_without_filters(source, &datatype, &layout, &pipeline));
    let chunk_shape = match &layout {
        Layout::Chunked(layout) => Some(layout.chunk_shape.clone()),
        _ => None,
    };
    let grid_shape = match &layout {
        Layout::Chunked(layout) => layout.chunk_shape.clone(),
        Layout::Compact(_) => dataspace.shape().iter().map(|&extent| extent.max(1)).collect(),
        _ => block_shape(dataspace.shape(), datatype.size(), BLOCK_BYTES),
    };
    let dataset = Dataset {
        chunk_grid: ChunkGrid::new(dataspace.shape().to_vec(), grid_shape)?,
        filters: pipeline.describe(),
        datatype,
        dataspace,
        storage,
        chunk_shape,
        fill_value: fill.value,
        is_fill_undefined: fill.is_undefined,
        fill_time: fill.time,
        allocation: fill.allocation,
        stored_bytes,
        written_shape: None,
        requested: None,
        external_files,
        virtual_mappings,
        refusal,
    };
    Ok((dataset, StoredDataset { layout, pipeline }))
}

/// The files of external storage.
fn external_files(source: &Source, header: &ObjectHeader) -> Result<Arc<[ExternalFile]>> {
    let Some(message) = header.find(kind::EXTERNAL_FILES) else { return Ok(Arc::default()) };
    let files = message.parse(source, external_files::parse)?;
    let heap = LocalHeap::read(source, files.heap)?;
    source.budget.charge((files.slots.len() * 2 * size_of::<ExternalFile>()) as u64)?;
    let named = files.slots.into_iter().map(|slot| Ok(ExternalFile { file: heap.text(slot.name)?, offset: slot.offset, length: slot.length }));
    named.collect()
}

fn fill_value(source: &Source, header: &ObjectHeader, datatype: &Datatype) -> Result<FillMessage> {
    let fill = match (header.find(kind::FILL_VALUE), header.find(kind::FILL_VALUE_OLD)) {
        (Some(message), _) => message.parse(source, fill_value::parse)?,
        (None, Some(message)) => message.parse(source, fill_value::parse_old)?,
        // The library reads a dataset without any message as one whose fill value is undefined.
        (None, None) => FillMessage { is_undefined: true, ..FillMessage::default() },
    };
    // Variable-length fill values are references into a heap; a null one is the empty value.
    match &fill.value {
        Some(value) if value.len() as u64 != datatype.size() => {
            Err(Error::corrupt(format!("a fill value of {} bytes for elements of {}", value.len(), datatype.size())))
        }
        _ => Ok(fill),
    }
}

fn layout_of(message: LayoutMessage, datatype: &Datatype, dataspace: &Dataspace, external: bool) -> Result<(Layout, StorageLayout, Option<u64>)> {
    let bytes = || {
        let bytes = dataspace.element_count()?.checked_mul(datatype.size());
        bytes.ok_or_else(|| Error::corrupt("a dataset beyond 64 bits"))
    };
    Ok(match message {
        LayoutMessage::Compact(value) => {
            let length = value.len() as u64;
            (Layout::Compact(value), StorageLayout::Compact, Some(length))
        }
        LayoutMessage::Contiguous { .. } if external => (Layout::External, StorageLayout::External, Some(bytes()?)),
        LayoutMessage::Contiguous { address, size } => {
            let size = match size {
                Some(size) => size,
                None => bytes()?,
            };
            let stored = if address.is_some() { size } else { 0 };
            (Layout::Contiguous { address, size }, StorageLayout::Contiguous, Some(stored))
        }
        LayoutMessage::Virtual(_) => (Layout::Virtual, StorageLayout::Virtual, Some(0)),
        LayoutMessage::Chunked { chunk_shape, element_size, unfiltered_partial_edges, locator } => {
            let Dataspace::Simple { shape, max_shape } = dataspace else {
                return Err(Error::corrupt("a chunked dataset that is scalar or null"));
            };
            if chunk_shape.len() != shape.len() || element_size != datatype.size() {
                return Err(Error::corrupt(format!(
                    "chunks of shape {chunk_shape:?} and {element_size}-byte elements in a dataset of shape {shape:?} and {}-byte elements",
                    datatype.size()
                )));
            }
            let chunk_bytes = chunk_shape.iter().try_fold(element_size, |n, &extent| n.checked_mul(extent));
            let layout = ChunkedLayout {
                shape: shape.clone(),
                max_shape: max_shape.clone(),
                chunk_shape,
                chunk_bytes: chunk_bytes.ok_or_else(|| Error::corrupt("a chunk beyond 64 bits"))?,
                unfiltered_partial_edges,
                locator,
            };
            (Layout::Chunked(layout), StorageLayout::Chunked, None)
        }
    })
}

/// Bytes that a chunk takes while all of them are looked at.
const CHUNK_COST: u64 = 256;

/// Whether every chunk skipped the unknown filters, as writers do if a filter would not help. Called only
/// for datasets that would otherwise be refused. Datasets with more chunks than the file's length justifies are refused.
fn reads_without_filters(source: &Source, datatype: &Datatype, layout: &Layout, pipeline: &Pipeline) -> bool {
    let Layout::Chunked(layout) = layout else { return false };
    if datatype.unsupported_class().is_some() {
        return false;
    }
    let skips = |chunk: &ChunkLocation| match chunk.source {
        ChunkSource::Stored { filter_mask, .. } => pipeline.skips_unknown(filter_mask),
        _ => true,
    };
    let all = Selection::all(&layout.shape);
    let count = layout.shape.iter().zip(&layout.chunk_shape).try_fold(CHUNK_COST, |n, (extent, chunk)| n.checked_mul(extent.div_ceil(*chunk)));
    if count.is_none_or(|cost| source.budget.charge(cost).is_err()) {
        return false;
    }
    let chunks = chunk_locator::locate(source, layout, &all);
    chunks.is_ok_and(|chunks| chunks.iter().any(|chunk| matches!(chunk.source, ChunkSource::Stored { .. })) && chunks.iter().all(skips))
}

fn refusal(datatype: &Datatype, pipeline: &Pipeline) -> Option<Error> {
    if let Some(class) = datatype.unsupported_class() {
        return Some(Error::unsupported(format!("datatype class {class}")));
    }
    pipeline.refusal()
}
