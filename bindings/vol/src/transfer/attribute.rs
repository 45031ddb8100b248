//! Values of attributes, which are always read and written as a whole.

use std::ffi::c_void;

use super::references::{adopt_references, of_older};
use super::{convert, copy_of_file_type};
use crate::datatype;
use crate::ffi::*;
use crate::handle::Handle;
use crate::host::{Host, Owned};
use hyperslab_arrow_container::error::Result;
use hyperslab_arrow_container::lock;

fn attribute_type(host: &'static Host, handle: &Handle) -> Result<(Owned, usize)> {
    let (encoded, count) = {
        let attribute = lock(handle.attribute()?);
        (attribute.datatype.encoded.clone(), attribute.space.count().unwrap_or(0) as usize)
    };
    Ok((copy_of_file_type(host, handle, &encoded)?, count))
}

/// Reads a whole attribute.
///
/// # Safety
/// `buf` must have space for its elements.
pub(crate) unsafe fn read_attribute(host: &'static Host, handle: &Handle, mem_type: hid_t, buf: *mut c_void, dxpl: hid_t) -> Result<()> {
    let (file, count) = attribute_type(host, handle)?;
    let memory = datatype::copy(host, mem_type)?;
    if count == 0 {
        return Ok(());
    }
    // SAFETY: valid IDs of the host, and as the caller promises.
    unsafe {
        let (small, large) = ((host.call.H5Tget_size)(memory.id), (host.call.H5Tget_size)(file.id));
        let mut scratch = lock(handle.attribute()?).bytes.clone();
        scratch.resize(count * small.max(large), 0);
        let mut background = std::slice::from_raw_parts(buf.cast::<u8>(), count * small).to_vec();
        background.resize(count * small.max(large), 0);
        if !of_older(host, handle, file.id, memory.id, &mut scratch, count)? {
            convert(host, file.id, memory.id, count, &mut scratch, &mut background, dxpl)?;
        }
        adopt_references(host, handle, memory.id, scratch.as_mut_ptr(), count)?;
        std::ptr::copy_nonoverlapping(scratch.as_ptr(), buf.cast(), count * small);
    }
    Ok(())
}

/// Writes a whole attribute.
///
/// # Safety
/// `buf` must hold its elements.
pub(crate) unsafe fn write_attribute(host: &'static Host, handle: &Handle, mem_type: hid_t, buf: *const c_void, dxpl: hid_t) -> Result<()> {
    let (file, count) = attribute_type(host, handle)?;
    let memory = datatype::copy(host, mem_type)?;
    if count == 0 {
        return Ok(());
    }
    // SAFETY: valid IDs of the host, and as the caller promises.
    unsafe {
        let (small, large) = ((host.call.H5Tget_size)(memory.id), (host.call.H5Tget_size)(file.id));
        let mut scratch = std::slice::from_raw_parts(buf.cast::<u8>(), count * small).to_vec();
        scratch.resize(count * small.max(large), 0);
        let mut background = lock(handle.attribute()?).bytes.clone();
        background.resize(count * small.max(large), 0);
        convert(host, memory.id, file.id, count, &mut scratch, &mut background, dxpl)?;
        scratch.truncate(count * large);
        lock(handle.attribute()?).bytes = scratch;
    }
    Ok(())
}
