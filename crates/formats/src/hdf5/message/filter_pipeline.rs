//! Filter pipeline message (IV.A.2.l).

use hyperslab_array::Result;

use crate::filter::{Filter, Pipeline};
use crate::hdf5::Cursor;

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
        let name = cursor.take(padded)?.split(|&b| b == 0).next().unwrap_or_default();
        let name = (!name.is_empty()).then(|| String::from_utf8_lossy(name).into_owned());
        let parameters = (0..parameters).map(|_| cursor.u32()).collect::<Result<Vec<_>>>()?;
        if version == 1 && parameters.len() % 2 == 1 {
            cursor.skip(4)?;
        }
        filters.push(Filter { id, name, optional: flags & 1 != 0, parameters });
    }
    Ok(Pipeline { filters })
}
