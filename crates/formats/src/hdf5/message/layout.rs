//! Data layout message (IV.A.2.i), versions 1 to 5.

use std::sync::Arc;

use hyperslab_array::{Error, HeapReference, Result};

use crate::hdf5::chunk_locator::{extensible_array, fixed_array};
use crate::hdf5::encoder::width_of;
use crate::hdf5::layout::Locator;
use crate::hdf5::{Cursor, Encoder, Widths};

/// What the message says, before the dataspace and datatype are known.
#[derive(Debug)]
pub(crate) enum LayoutMessage {
    Compact(Arc<[u8]>),
    /// `size` is `None` in versions 1 and 2, in which it follows from shape and datatype.
    Contiguous {
        address: Option<u64>,
        size: Option<u64>,
    },
    Chunked {
        /// Chunk extents, the trailing element size removed.
        chunk_shape: Vec<u64>,
        /// The trailing extent: bytes of an element.
        element_size: u64,
        unfiltered_partial_edges: bool,
        locator: Locator,
    },
    /// Where in the global heap the mappings are.
    Virtual(Option<HeapReference>),
}

pub(crate) fn parse(cursor: &mut Cursor<'_>) -> Result<LayoutMessage> {
    let version = cursor.u8()?;
    match version {
        1 | 2 => old(cursor),
        3 => version3(cursor),
        4 | 5 => version4(cursor),
        _ => Err(Error::unsupported(format!("version {version} of the data layout message")).at_offset(cursor.offset_in_file())),
    }
}

fn old(cursor: &mut Cursor<'_>) -> Result<LayoutMessage> {
    let ndim = usize::from(cursor.u8()?);
    let class = cursor.u8()?;
    cursor.skip(5)?;
    let address = if class == 0 { None } else { cursor.address()? };
    let extents = (0..ndim).map(|_| cursor.u32().map(u64::from)).collect::<Result<Vec<_>>>()?;
    match class {
        0 => {
            let size = u64::from(cursor.u32()?);
            Ok(LayoutMessage::Compact(cursor.bytes(size)?.into()))
        }
        1 => Ok(LayoutMessage::Contiguous { address, size: None }),
        2 => chunked_btree(cursor, extents, address),
        _ => Err(cursor.corrupt(format!("layout class {class}"))),
    }
}

fn version3(cursor: &mut Cursor<'_>) -> Result<LayoutMessage> {
    match cursor.u8()? {
        0 => compact(cursor),
        1 => contiguous(cursor),
        2 => {
            let ndim = usize::from(cursor.u8()?);
            let address = cursor.address()?;
            let extents = (0..ndim).map(|_| cursor.u32().map(u64::from)).collect::<Result<Vec<_>>>()?;
            chunked_btree(cursor, extents, address)
        }
        class => Err(cursor.corrupt(format!("layout class {class}"))),
    }
}

fn compact(cursor: &mut Cursor<'_>) -> Result<LayoutMessage> {
    let size = u64::from(cursor.u16()?);
    Ok(LayoutMessage::Compact(cursor.bytes(size)?.into()))
}

fn contiguous(cursor: &mut Cursor<'_>) -> Result<LayoutMessage> {
    let address = cursor.address()?;
    Ok(LayoutMessage::Contiguous { address, size: Some(cursor.length()?) })
}

fn chunked_btree(cursor: &Cursor<'_>, extents: Vec<u64>, address: Option<u64>) -> Result<LayoutMessage> {
    let locator = address.map_or(Locator::None, |address| Locator::BtreeV1 { address });
    chunked(cursor, extents, false, locator)
}

fn chunked(cursor: &Cursor<'_>, mut extents: Vec<u64>, unfiltered_partial_edges: bool, locator: Locator) -> Result<LayoutMessage> {
    let element_size = extents.pop().ok_or_else(|| cursor.corrupt("a chunked layout without dimensions"))?;
    if extents.contains(&0) || element_size == 0 {
        return Err(cursor.corrupt(format!("a chunk of shape {extents:?} and {element_size} bytes an element")));
    }
    Ok(LayoutMessage::Chunked { chunk_shape: extents, element_size, unfiltered_partial_edges, locator })
}

fn version4(cursor: &mut Cursor<'_>) -> Result<LayoutMessage> {
    match cursor.u8()? {
        0 => return compact(cursor),
        1 => return contiguous(cursor),
        2 => {}
        3 => {
            let address = cursor.address()?;
            let index = cursor.u32()?;
            return Ok(LayoutMessage::Virtual(address.map(|address| HeapReference { address, index })));
        }
        class => return Err(cursor.corrupt(format!("layout class {class}"))),
    }
    let flags = cursor.u8()?;
    let ndim = usize::from(cursor.u8()?);
    let width = usize::from(cursor.u8()?);
    let extents = (0..ndim).map(|_| cursor.uint(width)).collect::<Result<Vec<_>>>()?;
    let class = cursor.u8()?;
    let mut filtered = None;
    match class {
        1 if flags & 2 != 0 => filtered = Some((cursor.length()?, cursor.u32()?)),
        1 | 2 => {}
        3 => cursor.skip(1)?,
        4 => cursor.skip(5)?,
        5 => cursor.skip(6)?,
        _ => {
            return Err(Error::unsupported(format!("chunk indexing type {class}")).at_offset(cursor.offset_in_file()));
        }
    }
    let locator = match (cursor.address()?, class) {
        (None, _) => Locator::None,
        (Some(address), 1) => Locator::Single { address, filtered },
        (Some(address), 2) => Locator::Implicit { address },
        (Some(address), 3) => Locator::FixedArray { address },
        (Some(address), 4) => Locator::ExtensibleArray { address },
        (Some(address), _) => Locator::BtreeV2 { address },
    };
    chunked(cursor, extents, flags & 1 != 0, locator)
}

/// The message, in version 3 if possible, which readers of HDF5 1.6 know; else in version 4.
pub(crate) fn encode(layout: &LayoutMessage) -> Result<Vec<u8>> {
    encode_in(layout, Widths::WIDE)
}

/// The same for a file with these widths.
pub(crate) fn encode_in(layout: &LayoutMessage, widths: Widths) -> Result<Vec<u8>> {
    let mut encoder = Encoder::of(widths);
    match layout {
        LayoutMessage::Compact(value) => {
            encoder.bytes(&[3, 0]);
            let length = u16::try_from(value.len());
            encoder.u16(length.map_err(|_| Error::unsupported("compact data of 64 KiB or more"))?);
            encoder.bytes(value);
        }
        LayoutMessage::Contiguous { address, size } => {
            let size = size.ok_or_else(|| Error::internal("contiguous data of no size"))?;
            encoder.bytes(&[3, 1]);
            encoder.address(*address);
            encoder.length(size)?;
        }
        LayoutMessage::Virtual(place) => {
            encoder.bytes(&[4, 3]);
            encoder.address(place.map(|place| place.address));
            encoder.u32(place.map_or(0, |place| place.index));
        }
        LayoutMessage::Chunked { chunk_shape, element_size, unfiltered_partial_edges: _, locator } => {
            let extents: Vec<u64> = chunk_shape.iter().copied().chain([*element_size]).collect();
            encode_chunked(&mut encoder, &extents, locator)?;
        }
    }
    Ok(encoder.finish())
}

fn encode_chunked(encoder: &mut Encoder, extents: &[u64], locator: &Locator) -> Result<()> {
    let too_many = |_| Error::unsupported("a chunked dataset of this many dimensions");
    let ndim = u8::try_from(extents.len()).map_err(too_many)?;
    let tree = match locator {
        Locator::None => Some(None),
        Locator::BtreeV1 { address } => Some(Some(*address)),
        _ => None,
    };
    if let Some(address) = tree {
        encoder.bytes(&[3, 2, ndim]);
        encoder.address(address);
        for extent in extents {
            let extent = u32::try_from(*extent);
            encoder.u32(extent.map_err(|_| Error::unsupported("a chunk extent of 2³² or more"))?);
        }
        return Ok(());
    }
    let filtered_single = u8::from(matches!(locator, Locator::Single { filtered: Some(_), .. })) << 1;
    let width = extents.iter().map(|extent| width_of(*extent)).max().unwrap_or(1);
    encoder.bytes(&[4, 2, filtered_single, ndim]);
    encoder.u8(u8::try_from(width).unwrap_or(8));
    extents.iter().for_each(|extent| encoder.uint(*extent, width));
    match locator {
        Locator::Single { address, filtered } => {
            encoder.u8(1);
            if let Some((size, mask)) = filtered {
                encoder.length(*size)?;
                encoder.u32(*mask);
            }
            encoder.address(Some(*address));
        }
        Locator::FixedArray { address } => {
            encoder.bytes(&[3, fixed_array::PAGE_BITS]);
            encoder.address(Some(*address));
        }
        Locator::ExtensibleArray { address } => {
            encoder.u8(4);
            encoder.bytes(&extensible_array::CREATION);
            encoder.address(Some(*address));
        }
        other => return Err(Error::internal(format!("a chunk locator that is not written: {other:?}"))),
    }
    Ok(())
}
