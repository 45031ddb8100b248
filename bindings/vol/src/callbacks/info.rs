//! The connector's info string: options that a user writes after its name, as in `arrow sync=1 form=file`.

use std::ffi::{CString, c_char, c_int, c_void};

use crate::ffi::*;
use crate::guard;
use crate::handle::text;
use crate::host::Host;
use hyperslab_arrow_container::container::Options;
use hyperslab_arrow_container::error::{Result, error};

fn parse(words: &str) -> Result<Options> {
    let mut options = Options::default();
    for word in words.split([' ', ';', ',']).filter(|word| !word.is_empty()) {
        match word {
            "sync=1" => options.sync = true,
            "sync=0" => options.sync = false,
            "form=file" => options.one_file = true,
            "form=folder" => options.one_file = false,
            other => return Err(error!("unknown option '{other}' in the connector's info string; known are sync=0, sync=1, form=folder and form=file")),
        }
    }
    Ok(options)
}

/// Formats options as [`parse`] reads them.
fn words(options: Options) -> String {
    format!("sync={} form={}", u8::from(options.sync), if options.one_file { "file" } else { "folder" })
}

/// The options in a file access property list.
pub(crate) fn of_plist(host: &Host, fapl: hid_t) -> Options {
    if fapl <= 0 {
        return Options::default();
    }
    let mut info: *mut c_void = std::ptr::null_mut();
    // SAFETY: a valid output pointer; what comes back is a copy that `copy` made, and is freed here.
    unsafe {
        if (host.call.H5Pget_vol_info)(fapl, &raw mut info) < 0 || info.is_null() {
            return Options::default();
        }
        *Box::from_raw(info.cast::<Options>())
    }
}

pub(crate) unsafe extern "C" fn copy<const S: usize>(info: *const c_void) -> *mut c_void {
    // SAFETY: the info is one that `copy` or `from_str` made, or null.
    guard::object::<S>("info copy", |_| {
        Ok(unsafe { info.cast::<Options>().as_ref() }.map_or(std::ptr::null_mut(), |options| Box::into_raw(Box::new(*options)).cast()))
    })
}

pub(crate) unsafe extern "C" fn cmp<const S: usize>(value: *mut c_int, one: *const c_void, other: *const c_void) -> herr_t {
    guard::status::<S>("info cmp", |_| {
        // SAFETY: both are ours or null; `value` is a valid output pointer.
        unsafe {
            let read = |info: *const c_void| info.cast::<Options>().as_ref().copied().unwrap_or_default();
            *value = words(read(one)).cmp(&words(read(other))) as c_int;
        }
        Ok(())
    })
}

pub(crate) unsafe extern "C" fn free<const S: usize>(info: *mut c_void) -> herr_t {
    guard::status::<S>("info free", |_| {
        if !info.is_null() {
            // SAFETY: it is ours, and freed only here.
            drop(unsafe { Box::from_raw(info.cast::<Options>()) });
        }
        Ok(())
    })
}

pub(crate) unsafe extern "C" fn to_str<const S: usize>(info: *const c_void, out: *mut *mut c_char) -> herr_t {
    guard::status::<S>("info to_str", |host| {
        // SAFETY: HDF5 frees the string with its own allocator.
        unsafe {
            *out = allocate(host, &words(info.cast::<Options>().as_ref().copied().unwrap_or_default()))?;
        }
        Ok(())
    })
}

pub(crate) unsafe extern "C" fn from_str<const S: usize>(words: *const c_char, out: *mut *mut c_void) -> herr_t {
    guard::status::<S>("info from_str", |_| {
        // SAFETY: a zero-terminated string from HDF5, and a valid output pointer.
        unsafe {
            let options = if words.is_null() { Options::default() } else { parse(text(words)?)? };
            *out = Box::into_raw(Box::new(options)).cast();
        }
        Ok(())
    })
}

/// A string that the host frees.
pub(crate) unsafe fn allocate(host: &Host, value: &str) -> Result<*mut c_char> {
    let value = CString::new(value).map_err(|_| error!("a string contains a zero byte"))?;
    let bytes = value.as_bytes_with_nul();
    // SAFETY: the memory has space for the string and its zero.
    unsafe {
        let memory = (host.call.H5allocate_memory)(bytes.len(), false).cast::<c_char>();
        if memory.is_null() {
            return Err(error!("cannot allocate memory for a string"));
        }
        std::ptr::copy_nonoverlapping(bytes.as_ptr().cast(), memory, bytes.len());
        Ok(memory)
    }
}
