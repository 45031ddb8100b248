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
    let points: Vec<_> = (0..count).map(|_| coordinates(cursor, ndim, width)).collect::<Result<_>>()?;
    Ok(if points.is_empty() { StoredSelection::None } else { StoredSelection::Points(points) })
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
        let blocks: Vec<_> = blocks.collect::<Result<_>>()?;
        return Ok(if blocks.is_empty() { StoredSelection::None } else { StoredSelection::Blocks(blocks) });
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

/// All of an extent, nothing, points and lists of blocks with coordinates below 2³² (version 1), a regular hyperslab (version 2, of HDF5 1.10),
/// other points (version 2) and lists of blocks (version 3, both of HDF5 1.12).
pub(crate) fn encode(selection: &StoredSelection, encoder: &mut Encoder) -> Result<()> {
    let axes = match selection {
        StoredSelection::None | StoredSelection::All => {
            encoder.u32(if *selection == StoredSelection::All { 3 } else { 0 });
            encoder.u32(1);
            encoder.u64(0);
            return Ok(());
        }
        StoredSelection::Hyperslab(axes) => axes,
        StoredSelection::Points(points) => return encode_list(1, 2, points.len(), &points.iter().map(Vec::as_slice).collect::<Vec<_>>(), encoder),
        StoredSelection::Blocks(blocks) => {
            let corners: Vec<&[u64]> = blocks.iter().flat_map(|(first, last)| [first.as_slice(), last.as_slice()]).collect();
            return encode_list(2, 3, blocks.len(), &corners, encoder);
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
        // The library has 1 as the stride of one block.
        encoder.u64(if axis.count == Some(1) { 1 } else { axis.stride });
        encoder.u64(axis.count.unwrap_or(u64::MAX));
        encoder.u64(axis.block.unwrap_or(u64::MAX));
    }
    Ok(())
}

/// A list of `count` points or blocks by their coordinates: version 1, or `wide_version` if a number needs more than 32 bits.
fn encode_list(class: u32, wide_version: u32, count: usize, coordinates: &[&[u64]], encoder: &mut Encoder) -> Result<()> {
    let Some(ndim) = coordinates.first().map(|first| first.len()) else { return encode(&StoredSelection::None, encoder) };
    if coordinates.iter().any(|point| point.len() != ndim) {
        return Err(Error::internal("a selection of points with different numbers of dimensions"));
    }
    let (count, dimensions) = (count as u64, u32::try_from(ndim).map_err(|_| Error::unsupported("a selection of this many dimensions"))?);
    let numbers = || coordinates.iter().copied().flatten().copied();
    // The length of version 1 counts what follows it.
    let length = 8 + 4 * coordinates.len() as u64 * u64::from(dimensions);
    encoder.u32(class);
    if let (Ok(count), Ok(length), true) = (u32::try_from(count), u32::try_from(length), numbers().all(|number| number <= u64::from(u32::MAX))) {
        encoder.u32(1);
        encoder.u32(0);
        encoder.u32(length);
        encoder.u32(dimensions);
        encoder.u32(count);
        numbers().for_each(|number| encoder.bytes(&number.to_le_bytes()[..4]));
        return Ok(());
    }
    encoder.u32(wide_version);
    if class == 2 {
        encoder.u8(0);
    }
    encoder.u8(8);
    encoder.u32(dimensions);
    encoder.u64(count);
    numbers().for_each(|number| encoder.u64(number));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::Budget;

    #[test]
    fn encoded_selections_are_parsed_again() -> Result<()> {
        let axis = |start, stride, count, block| HyperslabAxis { start, stride, count: Some(count), block: Some(block), limit: None };
        let wide = 1 << 40;
        let cases = [
            (StoredSelection::All, 16),
            (StoredSelection::None, 16),
            (StoredSelection::Hyperslab(vec![axis(1, 3, 2, 2), axis(0, 1, 1, 1)]), 17 + 64),
            (StoredSelection::Points(vec![vec![6, 1], vec![0, 0], vec![3, 9]]), 24 + 24),
            (StoredSelection::Points(vec![vec![wide, 1], vec![0, 0]]), 21 + 32),
            (StoredSelection::Blocks(vec![(vec![0, 2], vec![1, 4]), (vec![5, 5], vec![5, 5])]), 24 + 32),
            (StoredSelection::Blocks(vec![(vec![0, 2], vec![wide, 4])]), 22 + 32),
        ];
        for (selection, length) in cases {
            let mut encoder = Encoder::default();
            encode(&selection, &mut encoder)?;
            let bytes = encoder.finish();
            assert_eq!(bytes.len(), length, "{selection:?}");
            let budget = Budget::new(bytes.len() as u64, 1 << 20);
            let mut cursor = Cursor::new(&bytes, 0, 8, 8, &budget);
            assert_eq!(parse(&mut cursor)?, selection);
            assert_eq!(cursor.remaining(), 0);
        }
        Ok(())
    }

    #[test]
    fn lists_of_nothing_select_nothing() -> Result<()> {
        // Class, version, what is not used, bytes, dimensions, count.
        for class in [1, 2] {
            let bytes: Vec<u8> = [class, 1, 0, 8, 3, 0].iter().flat_map(|number: &u32| number.to_le_bytes()).collect();
            let budget = Budget::new(bytes.len() as u64, 1 << 20);
            assert_eq!(parse(&mut Cursor::new(&bytes, 0, 8, 8, &budget))?, StoredSelection::None);
        }
        Ok(())
    }
}
