//! Filter pipeline message (IV.A.2.l).

use hyperslab_array::{Error, Result};

use crate::filter::{Filter, Pipeline};
use crate::hdf5::{Cursor, Encoder};

pub(crate) fn parse(cursor: &mut Cursor<'_>) -> Result<Pipeline> {
    let version = cursor.u8()?;
    let count = cursor.u8()?;
    match version {
        1 => cursor.skip(6)?,
        2 => {}
        _ => return Err(cursor.corrupt(format!("version {version} of the filter pipeline message"))),
    }
    if count > 32 {
        return Err(cursor.corrupt(format!("a pipeline of {count} filters; HDF5 allows 32")));
    }
    let mut filters = Vec::new();
    for _ in 0..count {
        let id = cursor.u16()?;
        let named = version == 1 || id >= 256;
        let name_bytes = if named { usize::from(cursor.u16()?) } else { 0 };
        let flags = cursor.u16()?;
        let parameters = cursor.u16()?;
        let padded = if version == 1 { name_bytes.next_multiple_of(8) } else { name_bytes };
        let name = cursor.take(padded)?;
        let name = Some(cursor.text(name)?).filter(|name| !name.is_empty());
        cursor.keep(size_of::<Filter>() + 4 * usize::from(parameters))?;
        let parameters = (0..parameters).map(|_| cursor.u32()).collect::<Result<Vec<_>>>()?;
        if version == 1 && parameters.len() % 2 == 1 {
            cursor.skip(4)?;
        }
        filters.push(Filter { id, name, optional: flags & 1 != 0, parameters });
    }
    Ok(Pipeline { filters })
}

/// Version 2 of the message.
pub(crate) fn encode(pipeline: &Pipeline) -> Result<Vec<u8>> {
    let too_long = |_| Error::unsupported("a filter pipeline of more than HDF5 can store");
    let mut encoder = Encoder::default();
    let count = u8::try_from(pipeline.filters.len()).map_err(too_long)?;
    if count > 32 {
        return Err(Error::unsupported(format!("a pipeline of {count} filters: HDF5 allows 32")));
    }
    encoder.bytes(&[2, count]);
    for filter in &pipeline.filters {
        encoder.u16(filter.id);
        let name = filter.name.as_deref().filter(|_| filter.id >= 256);
        if filter.id >= 256 {
            encoder.u16(name.map_or(Ok(0), |name| u16::try_from(name.len() + 1).map_err(too_long))?);
        }
        encoder.u16(u16::from(filter.optional));
        encoder.u16(u16::try_from(filter.parameters.len()).map_err(too_long)?);
        if let Some(name) = name {
            encoder.null_terminated(name);
        }
        filter.parameters.iter().for_each(|word| encoder.u32(*word));
    }
    Ok(encoder.finish())
}
