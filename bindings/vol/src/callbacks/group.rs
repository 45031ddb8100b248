//! Groups.

use std::ffi::{c_char, c_void};

use super::location::{Located, by_name, join, locate, walking};
use crate::ffi::*;
use crate::guard;
use crate::handle::{Handle, What, text, what_of};
use crate::host::Host;
use crate::plist;
use hyperslab_arrow_container::container::Place;
use hyperslab_arrow_container::error::{Error, Result, error};
use hyperslab_arrow_container::lock;
use hyperslab_arrow_container::model::{Body, Object, Target};

/// Adds an object at a path; without a name, it gets no link.
pub(crate) unsafe fn add(host: &'static Host, at: &Located, name: *const c_char, lcpl: hid_t, object: Object) -> Result<Located> {
    at.place.container.change()?;
    if name.is_null() {
        let mut tree = lock(&at.place.container.tree);
        let id = tree.add(object);
        tree.suspect(id);
        return Ok(Located { place: Place::new(at.place.container.clone(), id), path: String::new() });
    }
    // SAFETY: a zero-terminated string from HDF5.
    let path = unsafe { text(name)? };
    let place = link_at(host, at, path, lcpl, |place| Ok(lock(&place.container.tree).add(object)))?;
    Ok(Located { place, path: join(&at.path, path) })
}

/// Creates a hard link at a path relative to `at`. `target` provides the object, after all checks that the link can be made.
pub(crate) fn link_at(host: &'static Host, at: &Located, path: &str, lcpl: hid_t, target: impl FnOnce(&Place) -> Result<u64>) -> Result<Place> {
    let (intermediate, utf8) = plist::link_creation(host, lcpl)?;
    let mut make = |place: &Place, name: &str| -> Result<()> {
        let mut tree = lock(&place.container.tree);
        let group = tree.add(Object::group(Vec::new(), false));
        tree.link(place.object, name, utf8, Target::Hard(group))
    };
    let (parent, name) = walking(host, 0, |walk| walk.parent(&at.place, path, if intermediate { Some(&mut make) } else { None }))?;
    if lock(&parent.container.tree).links(parent.object)?.contains_key(name) {
        return Err(error!("the link '{name}' already exists (in '{path}')"));
    }
    parent.container.change()?;
    let object = target(&parent)?;
    lock(&parent.container.tree).link(parent.object, name, utf8, Target::Hard(object))?;
    Ok(Place::new(parent.container, object))
}

/// Opens a handle for an object, which must be of the type `wanted` if that is given.
pub(crate) fn open_at(host: &'static Host, at: Located, wanted: Option<H5I_type_t>) -> Result<(*mut c_void, H5I_type_t)> {
    let (what, kind) = what_of(&lock(&at.place.container.tree).object(at.place.object)?.body);
    if wanted.is_some_and(|wanted| wanted != kind) {
        let word = |kind| match kind {
            H5I_GROUP => "group",
            H5I_DATASET => "dataset",
            _ => "datatype",
        };
        return Err(error!("'{}' is a {}, not a {}", at.path, word(kind), word(wanted.unwrap_or(kind))));
    }
    Ok((Handle::give(host, at.place, what, at.path), kind))
}

pub(crate) unsafe extern "C" fn create<const S: usize>(
    obj: *mut c_void,
    loc: *const H5VL_loc_params_t,
    name: *const c_char,
    lcpl: hid_t,
    gcpl: hid_t,
    gapl: hid_t,
    _dxpl: hid_t,
    _req: *mut *mut c_void,
) -> *mut c_void {
    guard::object::<S>("group create", |host| {
        plist::check_list(host, gapl)?;
        // SAFETY: HDF5 passes our own handles, and zero-terminated strings.
        unsafe {
            let handle = Handle::of(obj)?;
            let at = locate(handle, loc)?;
            let mut object = Object::group(plist::encode(host, gcpl), plist::tracks_links(host, gcpl));
            object.attributes_tracked = plist::tracks_attributes(host, gcpl);
            object.born = plist::born(host, gcpl);
            let made = add(host, &at, name, lcpl, object)?;
            Ok(Handle::give(host, made.place, What::Group, made.path))
        }
    })
}

pub(crate) unsafe extern "C" fn open<const S: usize>(
    obj: *mut c_void,
    loc: *const H5VL_loc_params_t,
    name: *const c_char,
    gapl: hid_t,
    _dxpl: hid_t,
    _req: *mut *mut c_void,
) -> *mut c_void {
    guard::object::<S>("group open", |host| {
        // SAFETY: as for `create`.
        unsafe {
            let handle = Handle::of(obj)?;
            let at = opened(handle, loc, name, gapl)?;
            Ok(open_at(host, at, Some(H5I_GROUP))?.0)
        }
    })
}

/// Resolves the object of an open call: a name relative to a location.
pub(crate) unsafe fn opened(handle: &Handle, loc: *const H5VL_loc_params_t, name: *const c_char, lapl: hid_t) -> Result<Located> {
    // SAFETY: arguments that HDF5 passes.
    unsafe {
        plist::check_list(handle.host, lapl)?;
        let base = locate(handle, loc)?;
        if name.is_null() {
            return Ok(base);
        }
        let name = text(name)?;
        if base.place.object == handle.place.object {
            return by_name(handle, name, lapl);
        }
        let place = walking(handle.host, lapl, |walk| walk.resolve(&base.place, name))?;
        Ok(Located { place, path: join(&base.path, name) })
    }
}

pub(crate) unsafe extern "C" fn get<const S: usize>(obj: *mut c_void, args: *mut H5VL_group_get_args_t, _dxpl: hid_t, _req: *mut *mut c_void) -> herr_t {
    guard::status::<S>("group get", |host| {
        // SAFETY: arguments that HDF5 passes; the operation selects the member of the union.
        unsafe {
            let handle = Handle::of(obj)?;
            let args = args.as_mut().ok_or_else(|| error!("HDF5 passed no arguments"))?;
            match args.op_type {
                H5VL_GROUP_GET_GCPL => {
                    let object = lock(&handle.place.container.tree).object(handle.place.object)?.clone();
                    args.args.get_gcpl.gcpl_id = plist::of_group(host, &object)?.give();
                }
                H5VL_GROUP_GET_INFO => {
                    let at = locate(handle, &raw const args.args.get_info.loc_params)?;
                    let tree = lock(&at.place.container.tree);
                    let Body::Group { links, next_order, tracked } = &tree.object(at.place.object)?.body else {
                        return Err(error!("'{}' is not a group", at.path));
                    };
                    let info = &mut *args.args.get_info.ginfo;
                    info.storage_type = H5G_STORAGE_TYPE_COMPACT;
                    info.nlinks = links.len() as u64;
                    info.max_corder = if *tracked { *next_order } else { 0 };
                    info.mounted = false;
                }
                other => return Err(Error::unsupported(format!("query {other} of a group is not supported"))),
            }
        }
        Ok(())
    })
}

pub(crate) unsafe extern "C" fn specific<const S: usize>(
    obj: *mut c_void,
    args: *mut H5VL_group_specific_args_t,
    _dxpl: hid_t,
    _req: *mut *mut c_void,
) -> herr_t {
    guard::status::<S>("group specific", |_| {
        // SAFETY: arguments that HDF5 passes.
        unsafe {
            let handle = Handle::of(obj)?;
            match (*args).op_type {
                H5VL_GROUP_FLUSH => handle.place.container.publish(),
                H5VL_GROUP_REFRESH => Ok(()),
                H5VL_GROUP_MOUNT | H5VL_GROUP_UNMOUNT => Err(Error::unsupported("files cannot be mounted; use an external link")),
                other => Err(Error::unsupported(format!("operation {other} on a group is not supported"))),
            }
        }
    })
}

pub(crate) unsafe extern "C" fn close<const S: usize>(obj: *mut c_void, _dxpl: hid_t, _req: *mut *mut c_void) -> herr_t {
    // SAFETY: HDF5 closes an object once.
    guard::status::<S>("close", |_| unsafe { Handle::close(obj) })
}
