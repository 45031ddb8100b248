//! A dataset from its object header (specification IV.A.2): description and layout.

use hyperslab_array::{ChunkGrid, Dataspace, Datatype, Error, Result};

use super::Source;
use super::file::Stored;
use super::layout::{ChunkedLayout, Layout};
use super::message::layout::LayoutMessage;
use super::message::{dataspace, datatype, fill_value, filter_pipeline, layout};
use super::object_header::{ObjectHeader, kind};
use crate::filter::Pipeline;
use crate::{Dataset, DimensionScale, StorageLayout};

/// Bytes that one block of a contiguous dataset aims for.
const BLOCK_BYTES: u64 = 1 << 20;

pub(super) fn parse(source: &Source, header: &ObjectHeader) -> Result<(Dataset, Stored)> {
    let missing = |what: &str| Error::corrupt(format!("a dataset without its {what} message"));
    let datatype = header.find(kind::DATATYPE).ok_or_else(|| missing("datatype"))?.parse(source, datatype::parse)?;
    let dataspace = header.find(kind::DATASPACE).ok_or_else(|| missing("dataspace"))?.parse(source, dataspace::parse)?;
    let message = header.find(kind::LAYOUT).ok_or_else(|| missing("layout"))?.parse(source, layout::parse)?;
    let pipeline = match header.find(kind::FILTER_PIPELINE) {
        Some(message) => message.parse(source, filter_pipeline::parse)?,
        None => Pipeline::default(),
    };
    let fill_value = fill_value(source, header, &datatype)?;
    let external = header.find(kind::EXTERNAL_FILES).is_some();
    let (layout, storage, stored_bytes) = layout_of(message, &datatype, &dataspace)?;
    let refusal = refusal(&datatype, &layout, external, &pipeline);
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
        dimensions: vec![DimensionScale::default(); dataspace.ndim()],
        datatype,
        dataspace,
        storage,
        chunk_shape,
        fill_value,
        stored_bytes,
        refusal,
    };
    Ok((dataset, Stored { layout, pipeline }))
}

/// The shape of blocks that are contiguous in row-major order and of about `aim` bytes: single
/// indexes of leading dimensions, a run of one, all of the rest.
pub(crate) fn block_shape(shape: &[u64], element_bytes: u64, aim: u64) -> Vec<u64> {
    let mut block: Vec<u64> = shape.iter().map(|&extent| extent.max(1)).collect();
    let mut below = element_bytes.max(1);
    let mut cut = false;
    for extent in block.iter_mut().rev() {
        if cut {
            *extent = 1;
            continue;
        }
        let whole = below.saturating_mul(*extent);
        if whole > aim {
            *extent = (aim / below).clamp(1, *extent);
            cut = true;
        } else {
            below = whole;
        }
    }
    block
}

fn fill_value(source: &Source, header: &ObjectHeader, datatype: &Datatype) -> Result<Option<Vec<u8>>> {
    let value = match (header.find(kind::FILL_VALUE), header.find(kind::FILL_VALUE_OLD)) {
        (Some(message), _) => message.parse(source, fill_value::parse)?,
        (None, Some(message)) => message.parse(source, fill_value::parse_old)?,
        (None, None) => None,
    };
    // Variable-length fill values are references into a heap; a null one is the empty value.
    match value {
        Some(value) if value.len() as u64 != datatype.size() => Err(Error::corrupt(format!(
            "a fill value of {} bytes for elements of {}",
            value.len(),
            datatype.size()
        ))),
        value => Ok(value),
    }
}

fn layout_of(
    message: LayoutMessage,
    datatype: &Datatype,
    dataspace: &Dataspace,
) -> Result<(Layout, StorageLayout, Option<u64>)> {
    let bytes = || {
        let bytes = dataspace.element_count()?.checked_mul(datatype.size());
        bytes.ok_or_else(|| Error::corrupt("a dataset beyond 64 bits"))
    };
    Ok(match message {
        LayoutMessage::Compact(value) => {
            let length = value.len() as u64;
            (Layout::Compact(value), StorageLayout::Compact, Some(length))
        }
        LayoutMessage::Contiguous { address, size } => {
            let size = match size {
                Some(size) => size,
                None => bytes()?,
            };
            let stored = if address.is_some() { size } else { 0 };
            (Layout::Contiguous { address, size }, StorageLayout::Contiguous, Some(stored))
        }
        LayoutMessage::Virtual => (Layout::Refused, StorageLayout::Virtual, None),
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

fn refusal(datatype: &Datatype, layout: &Layout, external: bool, pipeline: &Pipeline) -> Option<Error> {
    if let Some(class) = datatype.unsupported_class() {
        return Some(Error::unsupported(format!("datatype class {class}")));
    }
    if external {
        return Some(Error::unsupported("external raw data files"));
    }
    if matches!(layout, Layout::Refused) {
        return Some(Error::unsupported("virtual dataset"));
    }
    pipeline.refusal()
}
