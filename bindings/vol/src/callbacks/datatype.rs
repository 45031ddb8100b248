//! Committed datatypes.

use std::ffi::{c_char, c_void};

use super::group::{add, open_at, opened};
use super::location::locate;
use crate::datatype;
use crate::encoded::ListClass;
use crate::ffi::*;
use crate::guard;
use crate::handle::{Handle, What};
use crate::plist;
use hyperslab_arrow_container::error::{Error, error};
use hyperslab_arrow_container::lock;
use hyperslab_arrow_container::model::{Body, Object};

pub(crate) unsafe extern "C" fn commit<const S: usize>(
    obj: *mut c_void,
    loc: *const H5VL_loc_params_t,
    name: *const c_char,
    type_id: hid_t,
    lcpl: hid_t,
    tcpl: hid_t,
    tapl: hid_t,
    _dxpl: hid_t,
    _req: *mut *mut c_void,
) -> *mut c_void {
    guard::object::<S>("datatype commit", |host| {
        plist::check_list(host, tapl)?;
        // SAFETY: HDF5 passes our own handles, and zero-terminated strings.
        unsafe {
            let handle = Handle::of(obj)?;
            let at = locate(handle, loc)?;
            let stored = datatype::stored(host, handle.raw(), type_id)?;
            let mut object = Object::new(Body::Datatype(stored.clone()), plist::encode(host, tcpl));
            object.attributes_tracked = plist::tracks_attributes(host, tcpl);
            object.born = plist::born(host, tcpl);
            let made = add(host, &at, name, lcpl, object)?;
            Ok(Handle::give(host, made.place, What::Datatype(stored), made.path))
        }
    })
}

pub(crate) unsafe extern "C" fn open<const S: usize>(
    obj: *mut c_void,
    loc: *const H5VL_loc_params_t,
    name: *const c_char,
    tapl: hid_t,
    _dxpl: hid_t,
    _req: *mut *mut c_void,
) -> *mut c_void {
    guard::object::<S>("datatype open", |host| {
        // SAFETY: as for `commit`.
        unsafe { Ok(open_at(host, opened(Handle::of(obj)?, loc, name, tapl)?, Some(H5I_DATATYPE))?.0) }
    })
}

pub(crate) unsafe extern "C" fn get<const S: usize>(obj: *mut c_void, args: *mut H5VL_datatype_get_args_t, _dxpl: hid_t, _req: *mut *mut c_void) -> herr_t {
    guard::status::<S>("datatype get", |host| {
        // SAFETY: arguments that HDF5 passes; the operation selects the member of the union.
        unsafe {
            let handle = Handle::of(obj)?;
            let What::Datatype(stored) = &handle.what else { return Err(error!("the object is not a datatype")) };
            let args = args.as_mut().ok_or_else(|| error!("HDF5 passed no arguments"))?;
            match args.op_type {
                H5VL_DATATYPE_GET_BINARY_SIZE => *args.args.get_binary_size.size = stored.encoded.len(),
                H5VL_DATATYPE_GET_BINARY => {
                    let out = &args.args.get_binary;
                    if out.buf_size < stored.encoded.len() {
                        return Err(error!("a buffer of {} bytes is too small for an encoded datatype of {}", out.buf_size, stored.encoded.len()));
                    }
                    std::ptr::copy_nonoverlapping(stored.encoded.as_ptr(), out.buf.cast(), stored.encoded.len());
                }
                H5VL_DATATYPE_GET_TCPL => {
                    let creation = lock(&handle.place.container.tree).object(handle.place.object)?.creation.clone();
                    args.args.get_tcpl.tcpl_id = plist::decode(host, &creation, ListClass::Datatype)?.give();
                }
                other => return Err(Error::unsupported(format!("query {other} of a datatype is not supported"))),
            }
        }
        Ok(())
    })
}

pub(crate) unsafe extern "C" fn specific<const S: usize>(
    obj: *mut c_void,
    args: *mut H5VL_datatype_specific_args_t,
    _dxpl: hid_t,
    _req: *mut *mut c_void,
) -> herr_t {
    guard::status::<S>("datatype specific", |_| {
        // SAFETY: arguments that HDF5 passes.
        unsafe {
            match (*args).op_type {
                H5VL_DATATYPE_FLUSH => Handle::of(obj)?.place.container.publish(),
                H5VL_DATATYPE_REFRESH => Ok(()),
                other => Err(Error::unsupported(format!("operation {other} on a datatype is not supported"))),
            }
        }
    })
}
