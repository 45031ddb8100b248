//! Datatypes of the host: encoded, in file form, and as columns.

use std::ffi::{CStr, c_void};

use crate::encoded::check_datatype;
use crate::ffi::*;
use crate::handle::Handle;
use crate::host::{Host, Owned, check};
use hyperslab_arrow_container::elements::{Datatype, Member};
use hyperslab_arrow_container::error::{Error, Result, error};
use hyperslab_arrow_container::model::StoredDatatype;

fn own(host: &Host, id: hid_t, what: &str) -> Result<Owned> {
    Owned::new(id, host.call.H5Tclose, what)
}

/// A copy in memory form that is not committed.
pub(crate) fn copy(host: &Host, id: hid_t) -> Result<Owned> {
    // SAFETY: a valid ID of the host.
    own(host, unsafe { (host.call.H5Tcopy)(id) }, "the datatype cannot be copied")
}

/// The bytes of `H5Tencode`.
pub(crate) fn encode(host: &Host, id: hid_t) -> Result<Vec<u8>> {
    let mut size = 0;
    // SAFETY: a null buffer queries the size; then the buffer has that size.
    unsafe {
        check((host.call.H5Tencode)(id, std::ptr::null_mut(), &raw mut size), "the datatype cannot be encoded")?;
        let mut bytes = vec![0u8; size];
        check((host.call.H5Tencode)(id, bytes.as_mut_ptr().cast(), &raw mut size), "the datatype cannot be encoded")?;
        bytes.truncate(size);
        Ok(bytes)
    }
}

/// Decodes the bytes of `H5Tencode` to a datatype in memory form.
pub(crate) fn decode(host: &Host, bytes: &[u8]) -> Result<Owned> {
    check_datatype(bytes)?;
    // SAFETY: the bytes outlive the call, and HDF5 reads no more of them than were checked.
    own(host, unsafe { (host.call.H5Tdecode)(bytes.as_ptr().cast()) }, "a datatype in the catalog cannot be decoded")
}

/// The base type of a datatype.
pub(crate) fn base(host: &Host, id: hid_t) -> Result<Owned> {
    // SAFETY: a valid ID of the host.
    own(host, unsafe { (host.call.H5Tget_super)(id) }, "the datatype has no base")
}

/// The datatype of a member of a compound.
pub(crate) fn member(host: &Host, id: hid_t, index: u32) -> Result<Owned> {
    // SAFETY: a valid ID of the host.
    own(host, unsafe { (host.call.H5Tget_member_type)(id, index) }, "a member of the datatype cannot be opened")
}

/// The names of a compound's members.
pub(crate) fn member_names(host: &Host, id: hid_t) -> Result<Vec<String>> {
    // SAFETY: a valid ID of the host; H5free_memory frees the name.
    unsafe {
        let count = check((host.call.H5Tget_nmembers)(id), "the datatype has no members")?;
        (0..count as u32)
            .map(|index| {
                let name = (host.call.H5Tget_member_name)(id, index);
                if name.is_null() {
                    return Err(error!("a member has no name"));
                }
                let text = CStr::from_ptr(name).to_str().map(str::to_owned).map_err(|_| error!("the name of a member is not UTF-8, which Arrow requires"));
                (host.call.H5free_memory)(name.cast());
                text
            })
            .collect()
    }
}

/// Whether a datatype contains references of HDF5 before 1.12.
pub(crate) fn has_legacy_references(host: &Host, id: hid_t) -> Result<bool> {
    // SAFETY: valid IDs of the host.
    unsafe {
        Ok(match (host.call.H5Tget_class)(id) {
            H5T_REFERENCE => matches!((host.call.H5Tget_size)(id), 8 | 12),
            H5T_VLEN | H5T_ARRAY => has_legacy_references(host, base(host, id)?.id)?,
            H5T_COMPOUND => {
                for index in 0..(host.call.H5Tget_nmembers)(id).max(0) as u32 {
                    if has_legacy_references(host, member(host, id, index)?.id)? {
                        return Ok(true);
                    }
                }
                false
            }
            _ => false,
        })
    }
}

/// The datatype in file form, with its variable-length parts in the file of `handle`. Close it before the handle.
pub(crate) fn in_file(host: &Host, handle: *mut c_void, id: hid_t) -> Result<Owned> {
    // SAFETY: valid IDs of the host; `handle` outlives the datatype, as the caller promises.
    unsafe {
        let has = |class| (host.call.H5Tdetect_class)(id, class) > 0;
        let beyond = has(H5T_VLEN) || has(H5T_REFERENCE) || (has(H5T_STRING) && has_text(host, id)?);
        if !beyond {
            return copy(host, id);
        }
        if has_legacy_references(host, id)? {
            if has(H5T_VLEN) || has_text(host, id)? {
                return Err(Error::unsupported("references of HDF5 before 1.12 together with variable-length data are not supported; use H5T_STD_REF"));
            }
            return copy(host, id);
        }
        let connector = (host.call.H5VLget_connector_id_by_name)(c"arrow".as_ptr());
        let connector = Owned::new(connector, host.call.H5VLclose, "the connector is not registered under the name 'arrow'")?;
        own(host, (host.call.H5VLget_file_type)(handle, connector.id, id), "HDF5 cannot convert the datatype to file form")
    }
}

fn has_text(host: &Host, id: hid_t) -> Result<bool> {
    // SAFETY: valid IDs of the host.
    unsafe {
        Ok(match (host.call.H5Tget_class)(id) {
            H5T_STRING => (host.call.H5Tis_variable_str)(id) > 0,
            H5T_VLEN | H5T_ARRAY => has_text(host, base(host, id)?.id)?,
            H5T_COMPOUND => {
                for index in 0..(host.call.H5Tget_nmembers)(id).max(0) as u32 {
                    if has_text(host, member(host, id, index)?.id)? {
                        return Ok(true);
                    }
                }
                false
            }
            _ => false,
        })
    }
}

/// The layout of a datatype that is in file form.
pub(crate) fn decoded(host: &Host, id: hid_t) -> Result<Datatype> {
    let found = layout(host, copy(host, id)?.id)?;
    // SAFETY: a valid ID of the host.
    let bytes = unsafe { (host.call.H5Tget_size)(id) };
    if found.bytes() == bytes {
        Ok(found)
    } else {
        Err(Error::unsupported(format!("a datatype of {bytes} bytes in file form, for which the connector expects {}", found.bytes())))
    }
}

/// The members of a compound at their offsets in file form: each moves by the growth of those before it. `given` are the
/// members in memory form, each with its size there.
fn in_file_members(bytes: usize, mut given: Vec<(Member, usize)>) -> Result<Datatype> {
    if !given.iter().any(|(member, _)| member.datatype.has_heap()) {
        return Ok(Datatype::Compound { bytes, members: given.into_iter().map(|(member, _)| member).collect() });
    }
    // HDF5 uses this order, too.
    given.sort_by_key(|(member, _)| member.offset);
    let (mut grown, mut shrunk) = (0, 0);
    let moved = |at: usize, grown: usize, shrunk: usize| (at + grown).checked_sub(shrunk).ok_or_else(|| error!("the members of a compound overlap"));
    let mut members = Vec::with_capacity(given.len());
    for (mut member, in_memory) in given {
        member.offset = moved(member.offset, grown, shrunk)?;
        grown += member.datatype.bytes();
        shrunk += in_memory;
        members.push(member);
    }
    Ok(Datatype::Compound { bytes: moved(bytes, grown, shrunk)?, members })
}

/// Whether a floating-point datatype of 2, 4 or 8 bytes is one of IEEE 754.
fn is_ieee(host: &Host, id: hid_t, bytes: usize) -> Result<bool> {
    let call = &host.call;
    let (mut sign, mut exponent, mut exponent_bits, mut mantissa, mut mantissa_bits) = (0, 0, 0, 0, 0);
    // SAFETY: a valid ID of the host, and valid output pointers.
    let fields = unsafe { (call.H5Tget_fields)(id, &raw mut sign, &raw mut exponent, &raw mut exponent_bits, &raw mut mantissa, &raw mut mantissa_bits) };
    check(fields, "the bit fields of a floating-point datatype cannot be read")?;
    // SAFETY: a valid ID of the host.
    let layout = (sign, exponent, exponent_bits, mantissa, mantissa_bits, unsafe { (call.H5Tget_ebias)(id) });
    Ok(layout
        == match bytes {
            2 => (15, 10, 5, 0, 10, 15),
            4 => (31, 23, 8, 0, 23, 127),
            _ => (63, 52, 11, 0, 52, 1023),
        })
}

/// The layout of a datatype that is in memory form.
fn layout(host: &Host, id: hid_t) -> Result<Datatype> {
    let call = &host.call;
    // SAFETY: valid IDs of the host, and valid output pointers.
    unsafe {
        let bytes = (call.H5Tget_size)(id);
        let whole = || (call.H5Tget_precision)(id) == bytes * 8 && (call.H5Tget_offset)(id) == 0;
        let order = (call.H5Tget_order)(id);
        Ok(match (call.H5Tget_class)(id) {
            H5T_INTEGER if matches!(bytes, 1 | 2 | 4 | 8) && whole() && matches!(order, 0 | 1) => {
                Datatype::Integer { bytes, signed: (call.H5Tget_sign)(id) == 1, swapped: order == 1 && bytes > 1 }
            }
            H5T_BITFIELD if matches!(bytes, 1 | 2 | 4 | 8) && whole() && matches!(order, 0 | 1) => {
                Datatype::Integer { bytes, signed: false, swapped: order == 1 && bytes > 1 }
            }
            H5T_ENUM => layout(host, base(host, id)?.id)?,
            H5T_FLOAT if matches!(bytes, 2 | 4 | 8) && whole() && matches!(order, 0 | 1) => {
                if is_ieee(host, id, bytes)? {
                    Datatype::Float { bytes, swapped: order == 1 }
                } else {
                    Datatype::Fixed(bytes)
                }
            }
            H5T_STRING if (call.H5Tis_variable_str)(id) > 0 => Datatype::Text,
            H5T_VLEN => {
                let element = base(host, id)?;
                // In sequences HDF5 stores references in memory form.
                let bare = (call.H5Tget_class)(element.id) == H5T_REFERENCE;
                Datatype::Sequence(Box::new(if bare { Datatype::Fixed((call.H5Tget_size)(element.id)) } else { layout(host, element.id)? }))
            }
            H5T_REFERENCE if !matches!(bytes, 8 | 12) => Datatype::Reference,
            H5T_ARRAY => {
                let mut dims = [0u64; 32];
                let ndims = check((call.H5Tget_array_dims2)(id, dims.as_mut_ptr()), "the dimensions of an array datatype cannot be read")?;
                let count = dims.iter().take(ndims as usize).product::<u64>() as usize;
                Datatype::Array { count, element: Box::new(layout(host, base(host, id)?.id)?) }
            }
            H5T_COMPOUND => {
                let mut members = Vec::new();
                for (index, name) in member_names(host, id)?.into_iter().enumerate() {
                    let index = index as u32;
                    let inner = member(host, id, index)?;
                    let member = Member::new(name, (call.H5Tget_member_offset)(id, index), layout(host, inner.id)?);
                    members.push((member, (call.H5Tget_size)(inner.id)));
                }
                in_file_members(bytes, members)?
            }
            class if class < 0 => return Err(error!("the datatype cannot be read")),
            _ if bytes == 0 || i32::try_from(bytes).is_err() => {
                return Err(error!("a datatype of {bytes} bytes; Arrow's fixed-size binary type allows 1 to {}", i32::MAX));
            }
            _ => Datatype::Fixed(bytes),
        })
    }
}

/// The stored form of a datatype that a program passes. `handle` is any handle of the file.
pub(crate) fn stored(host: &Host, handle: *mut c_void, id: hid_t) -> Result<StoredDatatype> {
    let memory = copy(host, id)?;
    let target = in_file(host, handle, memory.id)?;
    // SAFETY: a valid ID of the host; H5VLobject returns our own handle of a committed datatype.
    let committed =
        unsafe { if (host.call.H5Tcommitted)(id) > 0 { Handle::of((host.call.H5VLobject)(id)).ok().map(|handle| handle.place.object) } else { None } };
    let mut stored = StoredDatatype::new(encode(host, memory.id)?, decoded(host, target.id)?);
    stored.committed = committed;
    Ok(stored)
}

/// Decodes a datatype that [`stored`] encoded, for a file that is being opened. `anchor` is any handle of the host.
pub(crate) fn decode_stored(host: &Host, anchor: *mut c_void, encoded: &[u8]) -> Result<Datatype> {
    let memory = decode(host, encoded)?;
    let target = in_file(host, anchor, memory.id)?;
    decoded(host, target.id)
}
