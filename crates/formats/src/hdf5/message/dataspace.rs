//! Dataspace message (IV.A.2.b).

use hyperslab_array::{Dataspace, Error, MAX_NDIM, Result};

use crate::hdf5::{Cursor, Encoder, Widths};

pub(crate) fn parse(cursor: &mut Cursor<'_>) -> Result<Dataspace> {
    let version = cursor.u8()?;
    let ndim = usize::from(cursor.u8()?);
    let flags = cursor.u8()?;
    let class = match version {
        1 => {
            cursor.skip(5)?;
            u8::from(ndim > 0)
        }
        2 => cursor.u8()?,
        _ => return Err(cursor.corrupt(format!("version {version} of the dataspace message"))),
    };
    if ndim > MAX_NDIM {
        return Err(cursor.corrupt(format!("a dataspace of {ndim} dimensions; HDF5 allows {MAX_NDIM}")));
    }
    match class {
        0 => return Ok(Dataspace::Scalar),
        1 => {}
        2 => return Ok(Dataspace::Null),
        _ => return Err(cursor.corrupt(format!("dataspace class {class}"))),
    }
    let shape = (0..ndim).map(|_| cursor.length()).collect::<Result<Vec<_>>>()?;
    let unlimited = u64::MAX >> (64 - 8 * u32::from(cursor.length_size()));
    let max_shape = if flags & 1 != 0 {
        let extents = (0..ndim).map(|_| cursor.length()).collect::<Result<Vec<_>>>()?;
        extents.into_iter().map(|extent| (extent != unlimited).then_some(extent)).collect()
    } else {
        shape.iter().copied().map(Some).collect()
    };
    if ndim == 0 {
        return Ok(Dataspace::Scalar);
    }
    Ok(Dataspace::Simple { shape, max_shape })
}

/// Version 2 of the message. The maximum shape is in it if it differs from the shape.
pub(crate) fn encode(dataspace: &Dataspace) -> Result<Vec<u8>> {
    encode_in(dataspace, false, Widths::WIDE)
}

/// As [`encode`], for a dataset in chunks: the maximum shape is always in it, because the shape may be made smaller and grow again.
pub(crate) fn encode_resizable(dataspace: &Dataspace) -> Result<Vec<u8>> {
    encode_in(dataspace, true, Widths::WIDE)
}

/// The message of a dataset that is in chunks if it `may_shrink`, in a file with these widths.
pub(crate) fn encode_in(dataspace: &Dataspace, may_shrink: bool, widths: Widths) -> Result<Vec<u8>> {
    let mut encoder = Encoder::of(widths);
    let (class, shape, max_shape) = match dataspace {
        Dataspace::Scalar => (0, [].as_slice(), [].as_slice()),
        Dataspace::Simple { shape, max_shape } => (1, shape.as_slice(), max_shape.as_slice()),
        Dataspace::Null => (2, [].as_slice(), [].as_slice()),
    };
    let ndim = u8::try_from(shape.len()).ok().filter(|ndim| usize::from(*ndim) <= MAX_NDIM);
    let ndim = ndim.ok_or_else(|| Error::unsupported(format!("{} dimensions: HDF5 allows {MAX_NDIM}", shape.len())))?;
    let grows = may_shrink && !max_shape.is_empty() || shape.iter().zip(max_shape).any(|(extent, max_extent)| *max_extent != Some(*extent));
    encoder.bytes(&[2, ndim, u8::from(grows), class]);
    shape.iter().try_for_each(|extent| encoder.length(*extent))?;
    if grows {
        for max_extent in max_shape {
            match max_extent {
                Some(max_extent) => encoder.length(*max_extent)?,
                None => encoder.no_limit(),
            }
        }
    }
    Ok(encoder.finish())
}
