//! Fill value messages, old and new (IV.A.2.e, IV.A.2.f).

use hyperslab_array::{Datatype, Error, Result};

use crate::hdf5::{Cursor, Encoder};
use crate::{AllocationTime, FillTime};

/// What the message says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct FillMessage {
    /// The user's fill value; `None` if it is the default (zeros), or undefined.
    pub value: Option<Vec<u8>>,
    /// Whether elements that were never written have no defined value.
    pub is_undefined: bool,
    /// When the value is written.
    pub time: FillTime,
    /// When a writer makes room for values, if the message says so.
    pub allocation: Option<AllocationTime>,
}

/// The old message, which only has a value. Without bytes it is undefined.
pub(crate) fn parse_old(cursor: &mut Cursor<'_>) -> Result<FillMessage> {
    let size = u64::from(cursor.u32()?);
    let value = Some(cursor.bytes(size)?).filter(|value| !value.is_empty());
    Ok(FillMessage { is_undefined: value.is_none(), value, ..FillMessage::default() })
}

pub(crate) fn parse(cursor: &mut Cursor<'_>) -> Result<FillMessage> {
    let version = cursor.u8()?;
    let (allocation, time, is_defined, is_undefined) = match version {
        1 | 2 => {
            // Version 1 writes bytes after it even if no value is defined; they have no meaning.
            let (allocation, time, is_defined) = (cursor.u8()?, cursor.u8()?, cursor.u8()? != 0);
            (allocation, time, is_defined, !is_defined)
        }
        3 => {
            let flags = cursor.u8()?;
            (flags & 3, flags >> TIME_SHIFT & 3, flags & DEFINED != 0, flags & UNDEFINED != 0)
        }
        _ => return Err(cursor.corrupt(format!("version {version} of the fill value message"))),
    };
    let time = match time {
        0 => FillTime::Alloc,
        1 => FillTime::Never,
        // Values beyond the specification change nothing of what is read.
        _ => FillTime::IfSet,
    };
    let message = FillMessage { value: None, is_undefined, time, allocation: AllocationTime::of_number(allocation) };
    if !is_defined {
        return Ok(message);
    }
    let size = cursor.u32()?;
    if size == 0 || size == u32::MAX {
        return Ok(FillMessage { is_undefined: size != 0, ..message });
    }
    Ok(FillMessage { value: Some(cursor.bytes(u64::from(size))?), is_undefined: false, ..message })
}

/// Where the flags of version 3 have the time.
const TIME_SHIFT: u8 = 2;

/// Flag of version 3: elements that were never written have no defined value.
const UNDEFINED: u8 = 1 << 4;
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
/// allocates later, except at [`FillTime::Alloc`]: elements of variable length would then lead anywhere. It stores the same. A value that is
/// undefined keeps its time: the library creates no dataset with properties that want it written.
pub(crate) fn stored_time(datatype: &Datatype, has_value: bool, is_undefined: bool, time: FillTime) -> FillTime {
    if datatype.uses_heap() && !has_value && !is_undefined { FillTime::Alloc } else { time }
}

/// Version 3 of the message; no value that is not undefined is the default, zeros. `otherwise` is when writers make room for values if the message
/// does not say so.
pub(crate) fn encode(message: &FillMessage, otherwise: AllocationTime) -> Result<Vec<u8>> {
    let FillMessage { value, is_undefined, time, allocation } = message;
    let mut encoder = Encoder::default();
    encoder.u8(3);
    let time = match time {
        FillTime::Alloc => 0,
        FillTime::Never => 1,
        FillTime::IfSet => 2,
    };
    let when = allocation.unwrap_or(otherwise).number() | time << TIME_SHIFT;
    let Some(value) = value else {
        encoder.u8(when | if *is_undefined { UNDEFINED } else { 0 });
        return Ok(encoder.finish());
    };
    let length = u32::try_from(value.len()).map_err(|_| Error::unsupported("a fill value of 4 GiB or more"))?;
    encoder.u8(when | DEFINED);
    encoder.u32(length);
    encoder.bytes(value);
    Ok(encoder.finish())
}
