//! Modification time message (IV.A.2.s): when an object with a header of version 1 was changed.

use hyperslab_array::Result;

use crate::ObjectTimes;
use crate::hdf5::Cursor;

pub(crate) fn parse(cursor: &mut Cursor<'_>) -> Result<ObjectTimes> {
    let version = cursor.u8()?;
    if version != 1 {
        return Err(cursor.corrupt(format!("version {version} of the modification time message")));
    }
    cursor.skip(3)?;
    Ok(ObjectTimes { change: cursor.u32()?, ..ObjectTimes::default() })
}
