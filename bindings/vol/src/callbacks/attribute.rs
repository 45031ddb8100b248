//! Attributes, whose values are in memory, in file form.

use std::ffi::{c_char, c_void};
use std::sync::{Arc, Mutex};

use super::iterate;
use super::location::{Located, locate};
use crate::datatype;
use crate::ffi::*;
use crate::guard;
use crate::handle::{Handle, What, give_text, text};
use crate::host::Host;
use crate::{plist, transfer};
use hyperslab_arrow_container::error::{Error, Result, error};
use hyperslab_arrow_container::lock;
use hyperslab_arrow_container::model::AttributeValue;

fn open_named(host: &'static Host, at: &Located, name: &str) -> Result<*mut c_void> {
    let tree = lock(&at.place.container.tree);
    let attribute = tree.object(at.place.object)?.attributes.get(name).cloned().ok_or_else(|| error!("attribute '{name}' not found (of '{}')", at.path))?;
    drop(tree);
    Ok(Handle::give(host, at.place.clone(), What::Attribute(attribute), at.path.clone()))
}

pub(crate) unsafe extern "C" fn create<const S: usize>(
    obj: *mut c_void,
    loc: *const H5VL_loc_params_t,
    name: *const c_char,
    type_id: hid_t,
    space_id: hid_t,
    acpl: hid_t,
    aapl: hid_t,
    _dxpl: hid_t,
    _req: *mut *mut c_void,
) -> *mut c_void {
    guard::object::<S>("attribute create", |host| {
        plist::check_list(host, acpl)?;
        plist::check_list(host, aapl)?;
        // SAFETY: HDF5 passes our own handles, and zero-terminated strings.
        unsafe {
            let handle = Handle::of(obj)?;
            let at = locate(handle, loc)?;
            let name = text(name)?;
            at.place.container.change()?;
            let stored = datatype::stored(host, handle.raw(), type_id)?;
            let space = transfer::dataspace_of(host, space_id)?;
            let count = space.count().and_then(|count| usize::try_from(count).ok()).ok_or_else(|| error!("too many elements for memory"))?;
            let bytes = count
                .checked_mul(stored.decoded.bytes())
                .filter(|bytes| *bytes < 1 << 40)
                .ok_or_else(|| error!("an attribute of {count} elements is too large"))?;
            let mut tree = lock(&at.place.container.tree);
            let object = tree.object_mut(at.place.object)?;
            if object.attributes.contains_key(name) {
                return Err(error!("the attribute '{name}' already exists (of '{}')", at.path));
            }
            let mut value = AttributeValue::new(name, at.place.object, stored, space, vec![0; bytes]);
            (value.order, value.utf8) = (object.next_attribute, plist::utf8(host, acpl));
            let attribute = Arc::new(Mutex::new(value));
            object.next_attribute += 1;
            object.attributes.insert(name.to_owned(), Arc::clone(&attribute));
            drop(tree);
            Ok(Handle::give(host, at.place, What::Attribute(attribute), at.path))
        }
    })
}

pub(crate) unsafe extern "C" fn open<const S: usize>(
    obj: *mut c_void,
    loc: *const H5VL_loc_params_t,
    name: *const c_char,
    aapl: hid_t,
    _dxpl: hid_t,
    _req: *mut *mut c_void,
) -> *mut c_void {
    guard::object::<S>("attribute open", |host| {
        plist::check_list(host, aapl)?;
        // SAFETY: as for `create`.
        unsafe {
            let handle = Handle::of(obj)?;
            let params = loc.as_ref().ok_or_else(|| error!("HDF5 passed no location"))?;
            if !name.is_null() {
                return open_named(host, &locate(handle, loc)?, text(name)?);
            }
            let index = &params.loc_data.loc_by_idx;
            let at = super::location::by_name(handle, text(index.name)?, index.lapl_id)?;
            open_named(host, &at, &nth(&at, index)?)
        }
    })
}

fn nth(at: &Located, index: &H5VL_loc_by_idx_t) -> Result<String> {
    let names = iterate::attribute_names(&at.place, index.idx_type, index.order)?;
    let count = names.len();
    names
        .into_iter()
        .nth(usize::try_from(index.n).unwrap_or(usize::MAX))
        .ok_or_else(|| error!("attribute index {} is out of range: there are {count}", index.n))
}

pub(crate) unsafe extern "C" fn read<const S: usize>(obj: *mut c_void, mem_type: hid_t, buf: *mut c_void, dxpl: hid_t, _req: *mut *mut c_void) -> herr_t {
    guard::status::<S>("attribute read", |host| {
        // SAFETY: arguments that HDF5 passes; `buf` has space for the attribute's elements.
        unsafe { transfer::read_attribute(host, Handle::of(obj)?, mem_type, buf, dxpl) }
    })
}

pub(crate) unsafe extern "C" fn write<const S: usize>(obj: *mut c_void, mem_type: hid_t, buf: *const c_void, dxpl: hid_t, _req: *mut *mut c_void) -> herr_t {
    guard::status::<S>("attribute write", |host| {
        // SAFETY: arguments that HDF5 passes; `buf` has the attribute's elements.
        unsafe {
            let handle = Handle::of(obj)?;
            handle.place.container.change()?;
            transfer::write_attribute(host, handle, mem_type, buf, dxpl)
        }
    })
}

pub(crate) unsafe extern "C" fn get<const S: usize>(obj: *mut c_void, args: *mut H5VL_attr_get_args_t, _dxpl: hid_t, _req: *mut *mut c_void) -> herr_t {
    guard::status::<S>("attribute get", |host| {
        // SAFETY: arguments that HDF5 passes; the operation selects the member of the union.
        unsafe {
            let handle = Handle::of(obj)?;
            let args = args.as_mut().ok_or_else(|| error!("HDF5 passed no arguments"))?;
            match args.op_type {
                H5VL_ATTR_GET_ACPL => {
                    let list = plist::default_of(host, c"H5P_CLS_ATTRIBUTE_CREATE_ID_g")?;
                    if lock(handle.attribute()?).utf8 {
                        (host.call.H5Pset_char_encoding)(list.id, 1);
                    }
                    args.args.get_acpl.acpl_id = list.give();
                }
                H5VL_ATTR_GET_INFO => {
                    let asked = &args.args.get_info;
                    let (at, name) = named(handle, &asked.loc_params, asked.attr_name)?;
                    *asked.ainfo = iterate::attribute_info(&at.place, &name)?;
                }
                H5VL_ATTR_GET_NAME => {
                    let asked = &args.args.get_name;
                    let (_, name) = named(handle, &asked.loc_params, std::ptr::null())?;
                    give_text(&name, asked.buf, asked.buf_size, asked.attr_name_len);
                }
                H5VL_ATTR_GET_SPACE => args.args.get_space.space_id = transfer::give_dataspace(host, &lock(handle.attribute()?).space)?,
                H5VL_ATTR_GET_STORAGE_SIZE => *args.args.get_storage_size.data_size = lock(handle.attribute()?).bytes.len() as u64,
                H5VL_ATTR_GET_TYPE => {
                    let stored = lock(handle.attribute()?).datatype.clone();
                    args.args.get_type.type_id = super::dataset::give_type(host, handle, &stored)?;
                }
                other => return Err(Error::unsupported(format!("query {other} of an attribute is not supported"))),
            }
        }
        Ok(())
    })
}

/// The attribute that a query refers to: the open one, one by name, or one by index.
unsafe fn named(handle: &Handle, loc: &H5VL_loc_params_t, name: *const c_char) -> Result<(Located, String)> {
    // SAFETY: arguments that HDF5 passes; the type selects the member of the union.
    unsafe {
        if let What::Attribute(attribute) = &handle.what
            && loc.type_ == H5VL_OBJECT_BY_SELF
        {
            let at = Located { place: handle.place.clone(), path: handle.path.clone() };
            return Ok((at, lock(attribute).name.clone()));
        }
        if loc.type_ == H5VL_OBJECT_BY_IDX {
            let index = &loc.loc_data.loc_by_idx;
            let at = super::location::by_name(handle, text(index.name)?, index.lapl_id)?;
            let name = nth(&at, index)?;
            return Ok((at, name));
        }
        Ok((locate(handle, loc)?, text(name)?.to_owned()))
    }
}

fn delete(at: &Located, name: &str) -> Result<()> {
    at.place.container.change()?;
    let removed = lock(&at.place.container.tree).object_mut(at.place.object)?.attributes.remove(name);
    removed.map(|_| ()).ok_or_else(|| error!("attribute '{name}' not found (of '{}')", at.path))
}

pub(crate) unsafe extern "C" fn specific<const S: usize>(
    obj: *mut c_void,
    loc: *const H5VL_loc_params_t,
    args: *mut H5VL_attr_specific_args_t,
    _dxpl: hid_t,
    _req: *mut *mut c_void,
) -> herr_t {
    guard::run::<S, herr_t>("attribute specific", -1, |host| {
        // SAFETY: arguments that HDF5 passes; the operation selects the member of the union.
        unsafe {
            let at = locate(Handle::of(obj)?, loc)?;
            let args = args.as_mut().ok_or_else(|| error!("HDF5 passed no arguments"))?;
            match args.op_type {
                H5VL_ATTR_DELETE => delete(&at, text(args.args.del.name)?)?,
                H5VL_ATTR_DELETE_BY_IDX => {
                    let asked = &args.args.delete_by_idx;
                    let names = iterate::attribute_names(&at.place, asked.idx_type, asked.order)?;
                    let name = names
                        .get(usize::try_from(asked.n).unwrap_or(usize::MAX))
                        .ok_or_else(|| error!("attribute index {} is out of range: there are {}", asked.n, names.len()))?;
                    delete(&at, name)?;
                }
                H5VL_ATTR_EXISTS => {
                    let name = text(args.args.exists.name)?;
                    *args.args.exists.exists = lock(&at.place.container.tree).object(at.place.object)?.attributes.contains_key(name);
                }
                H5VL_ATTR_ITER => return iterate::attributes(host, &at, &mut args.args.iterate),
                H5VL_ATTR_RENAME => {
                    let (old, new) = (text(args.args.rename.old_name)?, text(args.args.rename.new_name)?);
                    at.place.container.change()?;
                    let mut tree = lock(&at.place.container.tree);
                    let attributes = &mut tree.object_mut(at.place.object)?.attributes;
                    if attributes.contains_key(new) && old != new {
                        return Err(error!("the attribute '{new}' already exists (of '{}')", at.path));
                    }
                    let attribute = attributes.remove(old).ok_or_else(|| error!("attribute '{old}' not found (of '{}')", at.path))?;
                    new.clone_into(&mut lock(&attribute).name);
                    attributes.insert(new.to_owned(), attribute);
                }
                other => return Err(Error::unsupported(format!("operation {other} on an attribute is not supported"))),
            }
        }
        Ok(0)
    })
}
