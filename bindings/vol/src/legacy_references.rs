//! References of HDF5 before 1.12: eight bytes for an object, or twelve with a selection. HDF5 supports them in native files
//! only, so calls about this connector's objects are redirected to this module, in the same way as by `legacy_api`.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::Arc;

use crate::callbacks::location::{by_name, token_of};
use crate::ffi::*;
use crate::guard;
use crate::handle::{Handle, give_text, text};
use crate::host::{Host, check};
use crate::legacy_api::{is_ours, original_address};
use hyperslab_arrow_container::error::{Result, error};
use hyperslab_arrow_container::lock;
use hyperslab_arrow_container::model::{Body, ObjectId, Region};

/// `H5R_DATASET_REGION1`; `H5R_OBJECT1` is 0.
const REGION: c_int = 1;

pub(crate) const NAMES: &[&CStr] =
    &[c"H5Rcreate", c"H5Rdereference1", c"H5Rdereference2", c"H5Rget_obj_type1", c"H5Rget_obj_type2", c"H5Rget_region", c"H5Rget_name"];

type CreateCall = unsafe extern "C" fn(*mut c_void, hid_t, *const c_char, c_int, hid_t) -> herr_t;
type Dereference1Call = unsafe extern "C" fn(hid_t, c_int, *const c_void) -> hid_t;
type Dereference2Call = unsafe extern "C" fn(hid_t, hid_t, c_int, *const c_void) -> hid_t;
type Type1Call = unsafe extern "C" fn(hid_t, c_int, *const c_void) -> c_int;
type Type2Call = unsafe extern "C" fn(hid_t, c_int, *const c_void, *mut c_int) -> herr_t;
type RegionCall = unsafe extern "C" fn(hid_t, c_int, *const c_void) -> hid_t;
type NameCall = unsafe extern "C" fn(hid_t, c_int, *const c_void, *mut c_char, usize) -> isize;

/// Our functions for a slot, in the order of [`NAMES`].
pub(crate) fn ours<const S: usize>() -> Vec<usize> {
    vec![
        create::<S> as *const () as usize,
        dereference1::<S> as *const () as usize,
        dereference2::<S> as *const () as usize,
        type1::<S> as *const () as usize,
        type2::<S> as *const () as usize,
        region::<S> as *const () as usize,
        name::<S> as *const () as usize,
    ]
}

/// Forwards a call to the original function if its object is not ours.
macro_rules! pass_on {
    ($slot:ident, $id:ident, $number:literal, $call:ty, $failed:expr, ($($argument:expr),*)) => {
        if !Host::of($slot).is_ok_and(|host| is_ours(host, $id)) {
            let Some(old) = NAMES.get($number).and_then(|name| original_address($slot, name)) else { return $failed };
            // SAFETY: the address belongs to the function of this name, which has this signature.
            return unsafe { std::mem::transmute::<usize, $call>(old)($($argument),*) };
        }
    };
}

fn handle_of(host: &Host, id: hid_t) -> Result<&'static Handle> {
    // SAFETY: the ID is ours, as the caller has checked; the object outlives the call.
    unsafe { Handle::of((host.call.H5VLobject)(id)) }
}

/// The object that a reference points to, and the number of its selection.
///
/// # Safety
/// `reference` must be null or a reference of this type.
unsafe fn parts(handle: &Handle, kind: c_int, reference: *const c_void) -> Result<(ObjectId, u32)> {
    if reference.is_null() || !(0..=REGION).contains(&kind) {
        return Err(error!("the reference is null, or its type {kind} is unknown"));
    }
    // SAFETY: a reference has eight bytes, or twelve with a selection.
    let (object, number) =
        unsafe { (reference.cast::<u64>().read_unaligned(), if kind == REGION { reference.byte_add(8).cast::<u32>().read_unaligned() } else { 0 }) };
    if object == 0 {
        return Err(error!("the reference is empty"));
    }
    lock(&handle.place.container.tree).object(object).map_err(|_| error!("the reference is dangling: its object was deleted"))?;
    Ok((object, number))
}

unsafe extern "C" fn create<const S: usize>(reference: *mut c_void, id: hid_t, path: *const c_char, kind: c_int, space: hid_t) -> herr_t {
    pass_on!(S, id, 0, CreateCall, -1, (reference, id, path, kind, space));
    guard::status::<S>("H5Rcreate", |host| {
        let handle = handle_of(host, id)?;
        if reference.is_null() || !(0..=REGION).contains(&kind) {
            return Err(error!("the output pointer is null, or the reference type {kind} is unknown"));
        }
        // SAFETY: a zero-terminated string from the program; space for eight bytes, or twelve with a selection.
        unsafe {
            let at = by_name(handle, text(path)?, 0)?;
            if kind == REGION {
                let mut tree = lock(&at.place.container.tree);
                if !matches!(tree.object(at.place.object)?.body, Body::Dataset(_)) {
                    return Err(error!("'{}' is not a dataset, so there is nothing to select", at.path));
                }
                let number = tree.add_region(Region::new(encode(host, space)?));
                drop(tree);
                at.place.container.change()?;
                reference.byte_add(8).cast::<u32>().write_unaligned(number);
            }
            reference.cast::<u64>().write_unaligned(at.place.object);
        }
        Ok(())
    })
}

fn encode(host: &Host, space: hid_t) -> Result<Vec<u8>> {
    let mut bytes = 0;
    // SAFETY: a null buffer queries the size; then the buffer has that size.
    unsafe {
        check((host.call.H5Sencode2)(space, std::ptr::null_mut(), &raw mut bytes, 0), "the selection cannot be encoded")?;
        let mut out = vec![0u8; bytes];
        check((host.call.H5Sencode2)(space, out.as_mut_ptr().cast(), &raw mut bytes, 0), "the selection cannot be encoded")?;
        out.truncate(bytes);
        Ok(out)
    }
}

unsafe fn open<const S: usize>(id: hid_t, kind: c_int, reference: *const c_void) -> hid_t {
    guard::run::<S, hid_t>("H5Rdereference", -1, |host| {
        // SAFETY: the program's reference; the function has this signature since HDF5 1.12.
        unsafe {
            let (object, _) = parts(handle_of(host, id)?, kind, reference)?;
            let call = host.address(c"H5Oopen_by_token").ok_or_else(|| error!("this HDF5 library does not have the function H5Oopen_by_token"))?;
            let call: unsafe extern "C" fn(hid_t, H5O_token_t) -> hid_t = std::mem::transmute(call);
            Ok(call(id, token_of(object)))
        }
    })
}

unsafe extern "C" fn dereference1<const S: usize>(id: hid_t, kind: c_int, reference: *const c_void) -> hid_t {
    pass_on!(S, id, 1, Dereference1Call, -1, (id, kind, reference));
    // SAFETY: the program's reference.
    unsafe { open::<S>(id, kind, reference) }
}

unsafe extern "C" fn dereference2<const S: usize>(id: hid_t, oapl: hid_t, kind: c_int, reference: *const c_void) -> hid_t {
    pass_on!(S, id, 2, Dereference2Call, -1, (id, oapl, kind, reference));
    // SAFETY: the program's reference.
    unsafe { open::<S>(id, kind, reference) }
}

/// The object's type as `H5O_type_t`, whose values `H5G_obj_t` shares.
unsafe fn type_of<const S: usize>(id: hid_t, kind: c_int, reference: *const c_void) -> c_int {
    guard::run::<S, c_int>("H5Rget_obj_type", -1, |host| {
        let handle = handle_of(host, id)?;
        // SAFETY: the program's reference.
        let (object, _) = unsafe { parts(handle, kind, reference)? };
        Ok(match lock(&handle.place.container.tree).object(object)?.body {
            Body::Group { .. } => H5O_TYPE_GROUP,
            Body::Dataset(_) => H5O_TYPE_DATASET,
            Body::Datatype(_) => H5O_TYPE_NAMED_DATATYPE,
        })
    })
}

unsafe extern "C" fn type1<const S: usize>(id: hid_t, kind: c_int, reference: *const c_void) -> c_int {
    pass_on!(S, id, 3, Type1Call, -1, (id, kind, reference));
    // SAFETY: the program's reference.
    unsafe { type_of::<S>(id, kind, reference) }
}

unsafe extern "C" fn type2<const S: usize>(id: hid_t, kind: c_int, reference: *const c_void, out: *mut c_int) -> herr_t {
    pass_on!(S, id, 4, Type2Call, -1, (id, kind, reference, out));
    // SAFETY: the program's reference, and null or a valid output pointer.
    unsafe {
        let found = type_of::<S>(id, kind, reference);
        if found >= 0 && !out.is_null() {
            *out = found;
        }
        found.min(0)
    }
}

unsafe extern "C" fn region<const S: usize>(id: hid_t, kind: c_int, reference: *const c_void) -> hid_t {
    pass_on!(S, id, 5, RegionCall, -1, (id, kind, reference));
    guard::run::<S, hid_t>("H5Rget_region", -1, |host| {
        let handle = handle_of(host, id)?;
        // SAFETY: the program's reference; the bytes come from H5Sencode2.
        unsafe {
            let (_, number) = parts(handle, kind, reference)?;
            let container = Arc::clone(&handle.place.container);
            let selection = lock(&container.tree).region(number).map(|region| region.selection.clone());
            let selection = selection.ok_or_else(|| error!("the reference is dangling: its selection is not in this file"))?;
            Ok((host.call.H5Sdecode)(selection.as_ptr().cast()))
        }
    })
}

unsafe extern "C" fn name<const S: usize>(id: hid_t, kind: c_int, reference: *const c_void, out: *mut c_char, size: usize) -> isize {
    pass_on!(S, id, 6, NameCall, -1, (id, kind, reference, out, size));
    guard::run::<S, isize>("H5Rget_name", -1, |host| {
        let handle = handle_of(host, id)?;
        // SAFETY: the program's reference, and null or space for `size` bytes.
        unsafe {
            let (object, _) = parts(handle, kind, reference)?;
            let path = lock(&handle.place.container.tree).reachable().remove(&object).unwrap_or_default();
            give_text(&path, out, size, std::ptr::null_mut());
            Ok(isize::try_from(path.len()).unwrap_or(isize::MAX))
        }
    })
}
