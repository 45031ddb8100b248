//! Attribute message (IV.A.2.m), versions 1 to 3.

use hyperslab_array::name::{bytes_of, is_utf8};
use hyperslab_array::{Dataspace, Datatype, Error, Result};

use super::{dataspace, datatype};
use crate::hdf5::object_header::{committed_reference, kind, shared_address, shared_body, shared_datatype};
use crate::hdf5::{Cursor, Encoder, Source, Widths};

/// An attribute with the stored bytes of its value.
pub(crate) struct RawAttribute {
    pub name: String,
    /// Datatype, dataspace and bytes, or why they cannot be determined.
    pub value: Result<(Datatype, Dataspace, Vec<u8>)>,
}

/// The name alone, with replacement characters if it is not UTF-8.
pub(crate) fn name(cursor: &mut Cursor<'_>) -> Result<String> {
    head(cursor).map(|head| head.name)
}

/// Bytes that an attribute takes besides its name, datatype and value.
const ATTRIBUTE_COST: usize = 300;

pub(crate) fn parse(source: &Source, cursor: &mut Cursor<'_>) -> Result<RawAttribute> {
    cursor.keep(ATTRIBUTE_COST)?;
    let Head { name, flags, datatype_bytes, dataspace_bytes } = head(cursor)?;
    let value = value(source, cursor, flags, datatype_bytes, dataspace_bytes);
    Ok(RawAttribute { name, value })
}

/// The name, and the address of the committed datatype that the attribute shares, if it does.
pub(crate) fn committed(source: &Source, cursor: &mut Cursor<'_>) -> Result<(String, Option<u64>)> {
    let Head { name, flags, datatype_bytes, .. } = head(cursor)?;
    if flags & SHARED_DATATYPE == 0 {
        return Ok((name, None));
    }
    let place = cursor.offset_in_file();
    let body = cursor.take(datatype_bytes)?;
    let address = shared_address(&mut Cursor::new(body, place, source.offset_size, source.length_size, cursor.budget()))?;
    Ok((name, address))
}

/// Flag: the datatype is shared.
const SHARED_DATATYPE: u8 = 1;

/// What stands before the datatype.
struct Head {
    name: String,
    flags: u8,
    /// Bytes of the parts, with padding.
    datatype_bytes: usize,
    dataspace_bytes: usize,
}

fn head(cursor: &mut Cursor<'_>) -> Result<Head> {
    let version = cursor.u8()?;
    if !(1..=3).contains(&version) {
        return Err(cursor.corrupt(format!("version {version} of the attribute message")));
    }
    let flags = cursor.u8()?;
    let flags = if version == 1 { 0 } else { flags };
    let name_bytes = usize::from(cursor.u16()?);
    let datatype_bytes = usize::from(cursor.u16()?);
    let dataspace_bytes = usize::from(cursor.u16()?);
    if version == 3 {
        cursor.skip(1)?;
    }
    let padded = |length: usize| if version == 1 { length.next_multiple_of(8) } else { length };
    let name = cursor.take(padded(name_bytes))?;
    let name = cursor.text(name)?;
    Ok(Head { name, flags, datatype_bytes: padded(datatype_bytes), dataspace_bytes: padded(dataspace_bytes) })
}

fn value(source: &Source, cursor: &mut Cursor<'_>, flags: u8, datatype_bytes: usize, dataspace_bytes: usize) -> Result<(Datatype, Dataspace, Vec<u8>)> {
    let mut part = |length: usize| {
        let place = cursor.offset_in_file();
        let body = cursor.take(length)?;
        Ok::<_, Error>(Cursor::new(body, place, source.offset_size, source.length_size, cursor.budget()))
    };
    let mut datatype_cursor = part(datatype_bytes)?;
    let mut dataspace_cursor = part(dataspace_bytes)?;
    let datatype = if flags & SHARED_DATATYPE != 0 {
        shared_datatype(source, &mut datatype_cursor)?
    } else {
        source.shared_messages.interned(datatype::parse(&mut datatype_cursor, source.limits.depth)?)
    };
    let dataspace = if flags & 2 != 0 {
        let shared = shared_body(source, &mut dataspace_cursor, kind::DATASPACE)?;
        dataspace::parse(&mut source.cursor(&shared.body, shared.address))?
    } else {
        dataspace::parse(&mut dataspace_cursor)?
    };
    let bytes = dataspace
        .element_count()?
        .checked_mul(datatype.size())
        .filter(|bytes| *bytes <= source.limits.attribute_bytes)
        .ok_or_else(|| Error::limit_exceeded("an attribute beyond the limit").at_offset(cursor.offset_in_file()))?;
    let bytes = cursor.bytes(bytes)?;
    Ok((datatype, dataspace, bytes))
}

/// Version 3 of the message, with the bytes of the value as they lie in the file. `committed` is the address of the committed datatype that
/// the attribute shares.
pub(crate) fn encode(name: &str, datatype: &Datatype, committed: Option<u64>, dataspace: &Dataspace, value: &[u8]) -> Result<Vec<u8>> {
    encode_in(name, datatype, committed, dataspace, value, Widths::WIDE)
}

/// The same for a file with these widths.
pub(crate) fn encode_in(name: &str, datatype: &Datatype, committed: Option<u64>, dataspace: &Dataspace, value: &[u8], widths: Widths) -> Result<Vec<u8>> {
    if name.is_empty() || name.contains('\0') {
        return Err(Error::invalid_input(format!("{name:?} is not a name for an attribute")));
    }
    let length = |bytes: usize| u16::try_from(bytes).map_err(|_| Error::unsupported(format!("attribute {name:?} with a part of 64 KiB or more")));
    let datatype = match committed {
        Some(address) => committed_reference(address, widths),
        None => datatype::encode(datatype)?,
    };
    let dataspace = dataspace::encode_in(dataspace, false, widths)?;
    let mut encoder = Encoder::default();
    encoder.bytes(&[3, if committed.is_some() { SHARED_DATATYPE } else { 0 }]);
    encoder.u16(length(bytes_of(name).len() + 1)?);
    encoder.u16(length(datatype.len())?);
    encoder.u16(length(dataspace.len())?);
    encoder.u8(u8::from(is_utf8(name)));
    encoder.null_terminated(name);
    encoder.bytes(&datatype);
    encoder.bytes(&dataspace);
    encoder.bytes(value);
    Ok(encoder.finish())
}
