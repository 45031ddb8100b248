//! A serialized selection, as virtual datasets and region references keep it (specification III.E and
//! the selection encodings of HDF5 1.8, 1.10 and 1.12: hyperslab versions 1 to 3, point versions 1 and 2).

use hyperslab_array::{Error, HyperslabAxis, Result, StoredSelection};

use crate::hdf5::{Cursor, Encoder};

/// Flag: a hyperslab by start, stride, count and block instead of a list of blocks.
const REGULAR: u8 = 1;

pub(crate) fn parse(cursor: &mut Cursor<'_>) -> Result<StoredSelection> {
    let class = cursor.u32()?;
    let version = cursor.u32()?;
    match class {
        0 | 3 => {
            if version != 1 {
                return Err(cursor.corrupt(format!("version {version} of a selection of all or nothing")));
            }
            cursor.skip(8)?;
            Ok(if class == 0 { StoredSelection::None } else { StoredSelection::All })
        }
        1 => points(cursor, version),
        2 => hyperslab(cursor, version),
        _ => Err(cursor.corrupt(format!("selection class {class}"))),
    }
}

fn points(cursor: &mut Cursor<'_>, version: u32) -> Result<StoredSelection> {
    let width = match version {
        1 => {
            cursor.skip(8)?;
            4
        }
        2 => width(cursor)?,
        _ => return Err(cursor.corrupt(format!("version {version} of a point selection"))),
    };
    let ndim = ndim(cursor)?;
    let count = cursor.uint(width)?;
    // Checked against the bytes that are there, before anything is allocated for them.
    enough(cursor, count, ndim * width)?;
    let points = (0..count).map(|_| coordinates(cursor, ndim, width));
    Ok(StoredSelection::Points(points.collect::<Result<_>>()?))
}

fn hyperslab(cursor: &mut Cursor<'_>, version: u32) -> Result<StoredSelection> {
    let (flags, width) = match version {
        1 => {
            cursor.skip(8)?;
            (0, 4)
        }
        2 => {
            let flags = cursor.u8()?;
            cursor.skip(4)?;
            (flags, 8)
        }
        3 => (cursor.u8()?, width(cursor)?),
        _ => return Err(cursor.corrupt(format!("version {version} of a hyperslab selection"))),
    };
    if flags & !REGULAR != 0 {
        return Err(cursor.corrupt(format!("selection flags {flags:#x}")));
    }
    let ndim = ndim(cursor)?;
    if flags & REGULAR == 0 {
        let count = cursor.uint(width)?;
        enough(cursor, count, 2 * ndim * width)?;
        let blocks = (0..count).map(|_| {
            let block = (coordinates(cursor, ndim, width)?, coordinates(cursor, ndim, width)?);
            if block.0.iter().zip(&block.1).any(|(first, last)| first > last || *last == u64::MAX) {
                return Err(cursor.corrupt("a block of a selection that ends before it begins"));
            }
            Ok(block)
        });
        return Ok(StoredSelection::Blocks(blocks.collect::<Result<_>>()?));
    }
    let unlimited = u64::MAX >> (64 - 8 * u32::try_from(width).unwrap_or(8));
    let axes = (0..ndim).map(|_| {
        let (start, stride) = (cursor.uint(width)?, cursor.uint(width)?);
        let (count, block) = (cursor.uint(width)?, cursor.uint(width)?);
        let limited = |n: u64| (n != unlimited).then_some(n);
        axis(HyperslabAxis { start, stride, count: limited(count), block: limited(block), limit: None }).map_err(|e| e.at_offset(cursor.offset_in_file()))
    });
    Ok(StoredSelection::Hyperslab(axes.collect::<Result<_>>()?))
}

/// Checks an axis; one block has no use for its stride, which may then be anything.
fn axis(mut axis: HyperslabAxis) -> Result<HyperslabAxis> {
    let one = axis.count == Some(1) || axis.block.is_none();
    if one {
        axis.stride = axis.block.unwrap_or(1).max(1);
    }
    let ends = axis.len().map(|len| {
        len.checked_sub(1).map_or(Some(0), |last| {
            let blocks = axis.block.map_or(0, |block| last / block.max(1));
            axis.start.checked_add(blocks.checked_mul(axis.stride)?)?.checked_add(axis.block.unwrap_or(0))
        })
    });
    let sane = axis.stride > 0
        && axis.block.is_none_or(|block| block <= axis.stride)
        && (axis.block.is_some() || axis.count.is_none_or(|count| count == 1))
        && ends.is_none_or(|end| end.is_some());
    if sane { Ok(axis) } else { Err(Error::corrupt(format!("an impossible hyperslab: start {}, stride {}", axis.start, axis.stride))) }
}

fn width(cursor: &mut Cursor<'_>) -> Result<usize> {
    match cursor.u8()? {
        width @ (2 | 4 | 8) => Ok(usize::from(width)),
        width => Err(cursor.corrupt(format!("coordinates of {width} bytes in a selection"))),
    }
}

fn ndim(cursor: &mut Cursor<'_>) -> Result<usize> {
    match cursor.u32()? {
        ndim @ 1..=32 => Ok(ndim as usize),
        ndim => Err(cursor.corrupt(format!("a selection of {ndim} dimensions"))),
    }
}

fn enough(cursor: &Cursor<'_>, count: u64, bytes: usize) -> Result<()> {
    let needed = count.checked_mul(bytes as u64);
    // In memory, each is one or two lists of numbers.
    cursor.budget().charge(count.saturating_mul(96))?;
    if needed.is_none_or(|needed| needed > cursor.remaining() as u64) {
        return Err(cursor.corrupt(format!("a selection of {count} parts in {} bytes", cursor.remaining())));
    }
    Ok(())
}

fn coordinates(cursor: &mut Cursor<'_>, ndim: usize, width: usize) -> Result<Vec<u64>> {
    (0..ndim).map(|_| cursor.uint(width)).collect()
}

/// All of an extent, nothing (version 1), or a regular hyperslab (version 2, of HDF5 1.10).
pub(crate) fn encode(selection: &StoredSelection, encoder: &mut Encoder) -> Result<()> {
    let axes = match selection {
        StoredSelection::None | StoredSelection::All => {
            encoder.u32(if *selection == StoredSelection::All { 3 } else { 0 });
            encoder.u32(1);
            encoder.u64(0);
            return Ok(());
        }
        StoredSelection::Hyperslab(axes) => axes,
        StoredSelection::Points(_) | StoredSelection::Blocks(_) => {
            return Err(Error::unsupported("writing a selection of points or of a list of blocks"));
        }
    };
    let ndim = u32::try_from(axes.len()).map_err(|_| Error::unsupported("a selection of this many dimensions"))?;
    encoder.u32(2);
    encoder.u32(2);
    encoder.u8(REGULAR);
    encoder.u32(4 + 32 * ndim);
    encoder.u32(ndim);
    for axis in axes {
        if axis.limit.is_some() {
            return Err(Error::unsupported("writing a hyperslab that was cut"));
        }
        encoder.u64(axis.start);
        encoder.u64(axis.stride);
        encoder.u64(axis.count.unwrap_or(u64::MAX));
        encoder.u64(axis.block.unwrap_or(u64::MAX));
    }
    Ok(())
}
