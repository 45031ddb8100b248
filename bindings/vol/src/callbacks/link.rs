//! Links.

use std::ffi::c_void;

use super::copy::copy_link;
use super::group::link_at;
use super::iterate;
use super::location::{Located, by_index, by_name, locate, walking};
use crate::ffi::*;
use crate::guard;
use crate::handle::{Handle, give_text, sweep, text};
use crate::host::Host;
use crate::plist;
use hyperslab_arrow_container::container::Place;
use hyperslab_arrow_container::error::{Error, Result, error};
use hyperslab_arrow_container::lock;
use hyperslab_arrow_container::model::{Link, Target};

/// The link at a location: its group, its name, and the link.
unsafe fn the_link(handle: &Handle, loc: *const H5VL_loc_params_t) -> Result<(Place, String, Link)> {
    // SAFETY: arguments that HDF5 passes; the type selects the member of the union.
    unsafe {
        let loc = loc.as_ref().ok_or_else(|| error!("HDF5 passed no location"))?;
        match loc.type_ {
            H5VL_OBJECT_BY_NAME => {
                let path = text(loc.loc_data.loc_by_name.name)?;
                let (place, name) = walking(handle.host, loc.loc_data.loc_by_name.lapl_id, |walk| walk.parent(&handle.place, path, None))?;
                let link = lock(&place.container.tree).links(place.object)?.get(name).cloned();
                Ok((place, name.to_owned(), link.ok_or_else(|| error!("link '{name}' not found (in '{path}')"))?))
            }
            H5VL_OBJECT_BY_IDX => {
                let (group, name, link) = by_index(handle, &loc.loc_data.loc_by_idx)?;
                Ok((group.place, name, link))
            }
            _ => Err(error!("a link must be identified by name or by index")),
        }
    }
}

/// The place and name of a new link.
unsafe fn new_name<'a>(handle: &Handle, loc: *const H5VL_loc_params_t) -> Result<(Located, &'a str)> {
    // SAFETY: arguments that HDF5 passes.
    unsafe {
        let loc = loc.as_ref().filter(|loc| loc.type_ == H5VL_OBJECT_BY_NAME).ok_or_else(|| error!("a link must be created by name"))?;
        Ok((Located { place: handle.place.clone(), path: handle.path.clone() }, text(loc.loc_data.loc_by_name.name)?))
    }
}

fn place_link(host: &'static Host, at: &Located, path: &str, lcpl: hid_t, target: impl FnOnce(&Place) -> Result<Target>) -> Result<()> {
    let (intermediate, utf8) = plist::link_creation(host, lcpl)?;
    let mut make = |place: &Place, name: &str| -> Result<()> {
        let mut tree = lock(&place.container.tree);
        let group = tree.add(hyperslab_arrow_container::model::Object::group(Vec::new(), false));
        tree.link(place.object, name, utf8, Target::Hard(group))
    };
    let (parent, name) = walking(host, 0, |walk| walk.parent(&at.place, path, if intermediate { Some(&mut make) } else { None }))?;
    parent.container.change()?;
    let target = target(&parent)?;
    lock(&parent.container.tree).link(parent.object, name, utf8, target)
}

pub(crate) unsafe extern "C" fn create<const S: usize>(
    args: *mut H5VL_link_create_args_t,
    obj: *mut c_void,
    loc: *const H5VL_loc_params_t,
    lcpl: hid_t,
    lapl: hid_t,
    _dxpl: hid_t,
    _req: *mut *mut c_void,
) -> herr_t {
    guard::status::<S>("link create", |host| {
        plist::check_list(host, lapl)?;
        // SAFETY: arguments that HDF5 passes; the operation selects the member of the union.
        unsafe {
            let args = args.as_ref().ok_or_else(|| error!("HDF5 passed no arguments"))?;
            match args.op_type {
                H5VL_LINK_CREATE_HARD => {
                    let hard = &args.args.hard;
                    // One of the two may be null (`H5L_SAME_LOC`): then it equals the other.
                    let handle = Handle::of(if obj.is_null() { hard.curr_obj } else { obj })?;
                    let current = Handle::of(if hard.curr_obj.is_null() { obj } else { hard.curr_obj })?;
                    let target = locate(current, &raw const hard.curr_loc_params)?;
                    let (at, path) = new_name(handle, loc)?;
                    link_at(host, &at, path, lcpl, |parent| {
                        if std::sync::Arc::ptr_eq(&parent.container, &target.place.container) {
                            Ok(target.place.object)
                        } else {
                            Err(error!("a hard link cannot lead into another file; make an external link"))
                        }
                    })?;
                    Ok(())
                }
                H5VL_LINK_CREATE_SOFT => {
                    let (at, path) = new_name(Handle::of(obj)?, loc)?;
                    let target = text(args.args.soft.target)?.to_owned();
                    place_link(host, &at, path, lcpl, |_| Ok(Target::Soft(target)))
                }
                H5VL_LINK_CREATE_UD => {
                    let user = &args.args.ud;
                    // A user-defined link is stored and reported, but HDF5 offers no way to follow it.
                    if (host.call.H5Lis_registered)(user.type_) <= 0 {
                        return Err(error!("the link class {} is not registered; register it first", user.type_));
                    }
                    let value = if user.buf.is_null() { Vec::new() } else { std::slice::from_raw_parts(user.buf.cast::<u8>(), user.buf_size).to_vec() };
                    let (at, path) = new_name(Handle::of(obj)?, loc)?;
                    place_link(host, &at, path, lcpl, |_| Ok(Target::User(user.type_, value)))
                }
                other => Err(Error::unsupported(format!("links of type {other} are not supported"))),
            }
        }
    })
}

unsafe fn copy_or_move<const S: usize>(
    source: *mut c_void,
    from: *const H5VL_loc_params_t,
    target: *mut c_void,
    to: *const H5VL_loc_params_t,
    lcpl: hid_t,
    lapl: hid_t,
    remove: bool,
) -> herr_t {
    guard::status::<S>(if remove { "link move" } else { "link copy" }, |host| {
        plist::check_list(host, lapl)?;
        // SAFETY: arguments that HDF5 passes.
        unsafe {
            let source = Handle::of(if source.is_null() { target } else { source })?;
            let target = if target.is_null() { source } else { Handle::of(target)? };
            let (place, name, link) = the_link(source, from)?;
            let (at, path) = new_name(target, to)?;
            place_link(host, &at, path, lcpl, |parent| copy_link(&place, parent, &link))?;
            if remove {
                place.container.change()?;
                let mut tree = lock(&place.container.tree);
                tree.unlink(place.object, &name)?;
            }
            Ok(())
        }
    })
}

pub(crate) unsafe extern "C" fn copy<const S: usize>(
    source: *mut c_void,
    from: *const H5VL_loc_params_t,
    target: *mut c_void,
    to: *const H5VL_loc_params_t,
    lcpl: hid_t,
    lapl: hid_t,
    _dxpl: hid_t,
    _req: *mut *mut c_void,
) -> herr_t {
    // SAFETY: arguments that HDF5 passes.
    unsafe { copy_or_move::<S>(source, from, target, to, lcpl, lapl, false) }
}

pub(crate) unsafe extern "C" fn move_<const S: usize>(
    source: *mut c_void,
    from: *const H5VL_loc_params_t,
    target: *mut c_void,
    to: *const H5VL_loc_params_t,
    lcpl: hid_t,
    lapl: hid_t,
    _dxpl: hid_t,
    _req: *mut *mut c_void,
) -> herr_t {
    // SAFETY: arguments that HDF5 passes.
    unsafe { copy_or_move::<S>(source, from, target, to, lcpl, lapl, true) }
}

pub(crate) unsafe extern "C" fn get<const S: usize>(
    obj: *mut c_void,
    loc: *const H5VL_loc_params_t,
    args: *mut H5VL_link_get_args_t,
    _dxpl: hid_t,
    _req: *mut *mut c_void,
) -> herr_t {
    guard::status::<S>("link get", |_| {
        // SAFETY: arguments that HDF5 passes; the operation selects the member of the union.
        unsafe {
            let (place, name, link) = the_link(Handle::of(obj)?, loc)?;
            let args = args.as_mut().ok_or_else(|| error!("HDF5 passed no arguments"))?;
            match args.op_type {
                H5VL_LINK_GET_INFO => {
                    if let Some(out) = args.args.get_info.linfo.as_mut() {
                        *out = iterate::link_info_in(&place, &link);
                    }
                }
                H5VL_LINK_GET_NAME => give_text(&name, args.args.get_name.name, args.args.get_name.name_size, args.args.get_name.name_len),
                H5VL_LINK_GET_VAL => {
                    let out = &args.args.get_val;
                    let value = match link.target {
                        Target::Hard(_) => return Err(error!("'{name}' is a hard link, which has no value")),
                        Target::Soft(path) => [path.as_bytes(), &[0]].concat(),
                        Target::User(_, value) => value,
                    };
                    if !out.buf.is_null() {
                        std::ptr::copy_nonoverlapping(value.as_ptr(), out.buf.cast(), value.len().min(out.buf_size));
                    }
                }
                other => return Err(Error::unsupported(format!("query {other} of a link is not supported"))),
            }
        }
        Ok(())
    })
}

pub(crate) unsafe extern "C" fn specific<const S: usize>(
    obj: *mut c_void,
    loc: *const H5VL_loc_params_t,
    args: *mut H5VL_link_specific_args_t,
    _dxpl: hid_t,
    _req: *mut *mut c_void,
) -> herr_t {
    guard::run::<S, herr_t>("link specific", -1, |host| {
        // SAFETY: arguments that HDF5 passes; the operation selects the member of the union.
        unsafe {
            let handle = Handle::of(obj)?;
            let args = args.as_mut().ok_or_else(|| error!("HDF5 passed no arguments"))?;
            match args.op_type {
                H5VL_LINK_DELETE => {
                    let (place, name, _) = the_link(handle, loc)?;
                    place.container.change()?;
                    lock(&place.container.tree).unlink(place.object, &name)?;
                    sweep(&place.container);
                }
                H5VL_LINK_EXISTS => {
                    let by = loc.as_ref().filter(|loc| loc.type_ == H5VL_OBJECT_BY_NAME).ok_or_else(|| error!("a link must be identified by name"))?;
                    let path = text(by.loc_data.loc_by_name.name)?;
                    let lapl = by.loc_data.loc_by_name.lapl_id;
                    *args.args.exists.exists = if hyperslab_arrow_container::model::path_names(path).next().is_none() {
                        by_name(handle, path, lapl).is_ok()
                    } else {
                        let (place, name) = walking(host, lapl, |walk| walk.parent(&handle.place, path, None))?;
                        lock(&place.container.tree).links(place.object)?.contains_key(name)
                    };
                }
                H5VL_LINK_ITER => return iterate::links(host, &locate(handle, loc)?, &mut args.args.iterate),
                other => return Err(Error::unsupported(format!("operation {other} on a link is not supported"))),
            }
        }
        Ok(0)
    })
}
