//! Objects of any kind.

use std::ffi::{c_char, c_void};

use super::copy;
use super::group::open_at;
use super::iterate;
use super::location::{current_path, locate, token_of};
use crate::ffi::*;
use crate::guard;
use crate::handle::{Handle, give_text, sweep, text};
use hyperslab_arrow_container::error::{Error, error};
use hyperslab_arrow_container::lock;

pub(crate) unsafe extern "C" fn open<const S: usize>(
    obj: *mut c_void,
    loc: *const H5VL_loc_params_t,
    opened: *mut H5I_type_t,
    _dxpl: hid_t,
    _req: *mut *mut c_void,
) -> *mut c_void {
    guard::object::<S>("object open", |host| {
        // SAFETY: arguments that HDF5 passes, and a valid output pointer.
        unsafe {
            let (raw, kind) = open_at(host, locate(Handle::of(obj)?, loc)?, None)?;
            if !opened.is_null() {
                *opened = kind;
            }
            Ok(raw)
        }
    })
}

pub(crate) unsafe extern "C" fn copy<const S: usize>(
    source: *mut c_void,
    from: *const H5VL_loc_params_t,
    source_name: *const c_char,
    target: *mut c_void,
    to: *const H5VL_loc_params_t,
    target_name: *const c_char,
    ocpypl: hid_t,
    lcpl: hid_t,
    _dxpl: hid_t,
    _req: *mut *mut c_void,
) -> herr_t {
    guard::status::<S>("object copy", |host| {
        // SAFETY: arguments that HDF5 passes.
        unsafe {
            let source = Handle::of(source)?;
            let from = super::group::opened(source, from, source_name, 0)?;
            let target = Handle::of(target)?;
            let to = locate(target, to)?;
            copy::object(host, &from, &to, text(target_name)?, ocpypl, lcpl)
        }
    })
}

pub(crate) unsafe extern "C" fn get<const S: usize>(
    obj: *mut c_void,
    loc: *const H5VL_loc_params_t,
    args: *mut H5VL_object_get_args_t,
    _dxpl: hid_t,
    _req: *mut *mut c_void,
) -> herr_t {
    guard::status::<S>("object get", |_| {
        // SAFETY: arguments that HDF5 passes; the operation selects the member of the union.
        unsafe {
            let handle = Handle::of(obj)?;
            let args = args.as_mut().ok_or_else(|| error!("HDF5 passed no arguments"))?;
            match args.op_type {
                H5VL_OBJECT_GET_FILE => *args.args.get_file.file = handle.file(),
                H5VL_OBJECT_GET_NAME => {
                    let by_self = loc.as_ref().is_none_or(|loc| loc.type_ == H5VL_OBJECT_BY_SELF);
                    let name = if by_self { current_path(handle).unwrap_or_default() } else { locate(handle, loc)?.path };
                    let out = &args.args.get_name;
                    give_text(&name, out.buf, out.buf_size, out.name_len);
                }
                H5VL_OBJECT_GET_TYPE => *args.args.get_type.obj_type = iterate::object_info(&locate(handle, loc)?.place)?.type_,
                H5VL_OBJECT_GET_INFO => *args.args.get_info.oinfo = iterate::object_info(&locate(handle, loc)?.place)?,
                other => return Err(Error::unsupported(format!("query {other} of an object is not supported"))),
            }
        }
        Ok(())
    })
}

pub(crate) unsafe extern "C" fn specific<const S: usize>(
    obj: *mut c_void,
    loc: *const H5VL_loc_params_t,
    args: *mut H5VL_object_specific_args_t,
    _dxpl: hid_t,
    _req: *mut *mut c_void,
) -> herr_t {
    guard::run::<S, herr_t>("object specific", -1, |host| {
        // SAFETY: arguments that HDF5 passes; the operation selects the member of the union.
        unsafe {
            let handle = Handle::of(obj)?;
            let args = args.as_mut().ok_or_else(|| error!("HDF5 passed no arguments"))?;
            match args.op_type {
                H5VL_OBJECT_CHANGE_REF_COUNT => {
                    let at = locate(handle, loc)?.place;
                    at.container.change()?;
                    let delta = i64::from(args.args.change_rc.delta);
                    let mut tree = lock(&at.container.tree);
                    tree.object_mut(at.object)?.extra_references += delta;
                    if delta < 0 {
                        tree.suspect(at.object);
                    }
                    drop(tree);
                    sweep(&at.container);
                }
                H5VL_OBJECT_EXISTS => {
                    if let Some(by) = loc.as_ref().filter(|loc| loc.type_ == H5VL_OBJECT_BY_NAME) {
                        crate::plist::check_list(host, by.loc_data.loc_by_name.lapl_id)?;
                    }
                    *args.args.exists.exists = locate(handle, loc).is_ok();
                }
                H5VL_OBJECT_LOOKUP => *args.args.lookup.token_ptr = token_of(locate(handle, loc)?.place.object),
                H5VL_OBJECT_VISIT => return iterate::objects(host, &locate(handle, loc)?, &args.args.visit),
                H5VL_OBJECT_FLUSH => handle.place.container.publish()?,
                H5VL_OBJECT_REFRESH => {}
                other => return Err(Error::unsupported(format!("operation {other} on an object is not supported"))),
            }
        }
        Ok(0)
    })
}

/// Refuses calls that only native files support.
pub(crate) unsafe extern "C" fn optional<const S: usize>(
    _obj: *mut c_void,
    _loc: *const H5VL_loc_params_t,
    args: *mut H5VL_optional_args_t,
    _dxpl: hid_t,
    _req: *mut *mut c_void,
) -> herr_t {
    guard::status::<S>("link optional", |_| Err(native(args)))
}

/// The native connector's optional calls for an object. Only those for comments are supported.
pub(crate) unsafe extern "C" fn comments<const S: usize>(
    obj: *mut c_void,
    loc: *const H5VL_loc_params_t,
    args: *mut H5VL_optional_args_t,
    _dxpl: hid_t,
    _req: *mut *mut c_void,
) -> herr_t {
    guard::status::<S>("object optional", |_| {
        // SAFETY: arguments that HDF5 passes, for this operation.
        unsafe {
            let asked = args.as_ref().ok_or_else(|| error!("HDF5 passed no arguments"))?;
            match (asked.op_type, asked.args.is_null()) {
                (GET_COMMENT, false) => {
                    let place = locate(Handle::of(obj)?, loc)?.place;
                    let out = &*asked.args.cast::<GetComment>();
                    let comment = lock(&place.container.tree).object(place.object)?.comment.clone();
                    give_text(&comment.unwrap_or_default(), out.buffer, out.bytes, out.length);
                }
                (SET_COMMENT, false) => {
                    let place = locate(Handle::of(obj)?, loc)?.place;
                    place.container.change()?;
                    let given = *asked.args.cast::<*const c_char>();
                    let comment = if given.is_null() { None } else { Some(text(given)?.to_owned()).filter(|comment| !comment.is_empty()) };
                    lock(&place.container.tree).object_mut(place.object)?.comment = comment;
                }
                _ => return Err(native(args)),
            }
        }
        Ok(())
    })
}

/// `H5VL_NATIVE_OBJECT_GET_COMMENT` and `H5VL_NATIVE_OBJECT_SET_COMMENT`.
const GET_COMMENT: i32 = 0;
const SET_COMMENT: i32 = 1;

/// The arguments of `GET_COMMENT`: a buffer, its size, and the output for the length of the comment.
#[repr(C)]
struct GetComment {
    bytes: usize,
    buffer: *mut c_char,
    length: *mut usize,
}

/// Refuses calls that only native files support.
pub(crate) unsafe extern "C" fn optional_plain<const S: usize>(
    _obj: *mut c_void,
    args: *mut H5VL_optional_args_t,
    _dxpl: hid_t,
    _req: *mut *mut c_void,
) -> herr_t {
    guard::status::<S>("optional", |_| Err(native(args)))
}

fn native(args: *const H5VL_optional_args_t) -> Error {
    // SAFETY: null, or arguments that HDF5 passes.
    let operation = unsafe { args.as_ref() }.map_or(-1, |args| args.op_type);
    Error::unsupported(format!("operation {operation} is supported for native HDF5 files only; this file is a container of Arrow files"))
}
