//! Fill value messages, old and new (IV.A.2.e, IV.A.2.f).

use hyperslab_array::{Datatype, Error, Result};

use crate::FillTime;
use crate::hdf5::{Cursor, Encoder};

/// The user's fill value of the old message; `None` if it is the default (zeros).
pub(crate) fn parse_old(cursor: &mut Cursor<'_>) -> Result<Option<Vec<u8>>> {
    let size = u64::from(cursor.u32()?);
    Ok(Some(cursor.bytes(size)?).filter(|value| !value.is_empty()))
}

/// The user's fill value (`None` if it is the default, zeros, or undefined), and when it is written.
pub(crate) fn parse(cursor: &mut Cursor<'_>) -> Result<(Option<Vec<u8>>, FillTime)> {
    let version = cursor.u8()?;
    let (time, defined) = match version {
        1 | 2 => {
            cursor.skip(1)?;
            // Version 1 writes bytes after it even if no value is defined; they have no meaning.
            (cursor.u8()?, cursor.u8()? != 0)
        }
        3 => {
            let flags = cursor.u8()?;
            (flags >> TIME_SHIFT & 3, flags & (1 << 5) != 0)
        }
        _ => return Err(cursor.corrupt(format!("version {version} of the fill value message"))),
    };
    let time = match time {
        0 => FillTime::Alloc,
        1 => FillTime::Never,
        // Values beyond the specification change nothing of what is read.
        _ => FillTime::IfSet,
    };
    if !defined {
        return Ok((None, time));
    }
    let size = cursor.u32()?;
    if size == 0 || size == u32::MAX {
        return Ok((None, time));
    }
    Ok((Some(cursor.bytes(u64::from(size))?), time))
}

/// Where the flags of version 3 have the time.
const TIME_SHIFT: u8 = 2;

/// When a writer should make room for values: a hint for those who change the file later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Allocation {
    Late = 2,
    Incremental = 3,
}

/// Flag of version 3: there is a value.
const DEFINED: u8 = 1 << 5;

/// Where the value of `length` bytes is in a message that [`encode`] made; `None` if it has no such value.
pub(crate) fn value_place(message: &[u8], length: usize) -> Option<usize> {
    const PREFIX: usize = 6;
    let stated = u32::from_le_bytes(message.get(2..PREFIX)?.try_into().ok()?);
    let has_value = message.first() == Some(&3) && message.get(1)? & DEFINED != 0;
    (has_value && usize::try_from(stated).ok() == Some(length)).then_some(PREFIX)
}

/// The time that is stored for a dataset with or without a fill value. Without one, the library writes no zeros into storage that it
/// allocates later, except at [`FillTime::Alloc`]: elements of variable length would then lead anywhere. It stores the same.
pub(crate) fn stored_time(datatype: &Datatype, has_value: bool, time: FillTime) -> FillTime {
    if datatype.uses_heap() && !has_value { FillTime::Alloc } else { time }
}

/// Version 3 of the message; `None` is the default value, zeros.
pub(crate) fn encode(value: Option<&[u8]>, time: FillTime, allocation: Allocation) -> Result<Vec<u8>> {
    let mut encoder = Encoder::default();
    encoder.u8(3);
    let time = match time {
        FillTime::Alloc => 0,
        FillTime::Never => 1,
        FillTime::IfSet => 2,
    };
    let when = allocation as u8 | time << TIME_SHIFT;
    let Some(value) = value else {
        encoder.u8(when);
        return Ok(encoder.finish());
    };
    let length = u32::try_from(value.len()).map_err(|_| Error::unsupported("a fill value of 4 GiB or more"))?;
    encoder.u8(when | DEFINED);
    encoder.u32(length);
    encoder.bytes(value);
    Ok(encoder.finish())
}
