//! Files.

use std::ffi::{c_char, c_uint, c_void};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::{info, location::join};
use crate::datatype::decode_stored;
use crate::encoded::ListClass;
use crate::ffi::*;
use crate::guard;
use crate::handle::{Handle, What, give_text, open_in, text};
use crate::host::{Host, Owned, check};
use crate::plist;
use hyperslab_arrow_container::container::{Container, Create, Place};
use hyperslab_arrow_container::error::{Error, Result, error};
use hyperslab_arrow_container::model::{Object, ROOT};
use hyperslab_arrow_container::{container, lock};

const ACC_RDWR: c_uint = 1;
const ACC_TRUNC: c_uint = 2;
const ACC_EXCL: c_uint = 4;
const ACC_CREAT: c_uint = 16;
const ACC_SWMR: c_uint = 32 | 64;

fn give(host: &'static Host, container: Arc<Container>, name: &str, fapl: hid_t, writable: bool) -> Result<*mut c_void> {
    crate::legacy_api::redirect(host);
    // SAFETY: a valid ID of the host.
    let fapl =
        if fapl > 0 { Some(Owned::new(unsafe { (host.call.H5Pcopy)(fapl) }, host.call.H5Pclose, "the access property list cannot be copied")?) } else { None };
    let what = What::File { fapl, writable, name: name.to_owned(), primary: true };
    Ok(Handle::give(host, Place::new(container, ROOT), what, join("/", "")))
}

pub(crate) unsafe extern "C" fn create<const S: usize>(
    name: *const c_char,
    flags: c_uint,
    fcpl: hid_t,
    fapl: hid_t,
    _dxpl: hid_t,
    _req: *mut *mut c_void,
) -> *mut c_void {
    guard::object::<S>("file create", |host| {
        // SAFETY: a zero-terminated string from HDF5.
        let name = unsafe { text(name)? };
        plist::check_driver(host, fapl)?;
        let how = if flags & ACC_TRUNC != 0 { Create::Truncate } else { Create::New };
        let mut root = Object::group(plist::encode(host, fcpl), plist::tracks_links(host, fcpl));
        root.attributes_tracked = plist::tracks_attributes(host, fcpl);
        root.creation = Vec::new();
        let (creation, options) = (plist::encode(host, fcpl), info::of_plist(host, fapl));
        let container = match crate::mpi::ranks_of(host, fapl)? {
            Some(ranks) => Container::create_collective(Path::new(name), how, root, creation, options, ranks)?,
            None => Container::create(Path::new(name), how, root, creation, options)?,
        };
        give(host, container, name, fapl, true)
    })
}

pub(crate) unsafe extern "C" fn open<const S: usize>(name: *const c_char, flags: c_uint, fapl: hid_t, _dxpl: hid_t, _req: *mut *mut c_void) -> *mut c_void {
    guard::object::<S>("file open", |host| {
        // SAFETY: a zero-terminated string from HDF5.
        let name = unsafe { text(name)? };
        plist::check_driver(host, fapl)?;
        if flags & (ACC_TRUNC | ACC_EXCL | ACC_CREAT) != 0 {
            return Err(error!("H5Fopen was called with flags that create a file"));
        }
        if flags & ACC_SWMR != 0 {
            return Err(Error::unsupported("SWMR is not supported; open without it: readers see the last published state"));
        }
        let anchor = Handle::anchor(host);
        let writable = flags & ACC_RDWR != 0;
        let (options, decode) = (info::of_plist(host, fapl), |encoded: &[u8]| decode_stored(host, anchor, encoded));
        let ranks = if writable {
            crate::mpi::ranks_of(host, fapl)?
        } else {
            // Ranks that only read are independent, but share the cores.
            crate::mpi::detect_ranks(host, fapl)?;
            None
        };
        let container = match ranks {
            Some(ranks) => Container::open_collective(Path::new(name), options, &decode, ranks)?,
            None => Container::open(Path::new(name), writable, options, &decode)?,
        };
        give(host, container, name, fapl, writable)
    })
}

/// `H5F_OBJ_LOCAL`: only handles that come from this `H5Fopen`.
const LOCAL: c_uint = 0x20;

fn types_of(handle: &Handle) -> c_uint {
    match handle.what {
        What::File { primary: true, .. } => 1,
        // The file of a reference.
        What::File { .. } => 0,
        What::Dataset(_) => 2,
        What::Group => 4,
        What::Datatype(_) => 8,
        What::Attribute(_) => 16,
    }
}

/// A copy of the access property list that a file was opened with, or a new one.
fn access_list(host: &Host, handle: &Handle) -> Result<hid_t> {
    let copy = match &handle.what {
        // SAFETY: a valid ID of the host.
        What::File { fapl: Some(fapl), .. } => unsafe { (host.call.H5Pcopy)(fapl.id) },
        _ => {
            let class = host.global(c"H5P_CLS_FILE_ACCESS_ID_g").ok_or_else(|| error!("the HDF5 library does not export this class of property lists"))?;
            // SAFETY: a valid ID of the host.
            unsafe { (host.call.H5Pcreate)(class) }
        }
    };
    check_id(copy, "the access property list cannot be copied")
}

/// Number of a file's open handles of the given `types`.
fn open_handles(host: &Host, container: &Container, types: c_uint, opener: u64) -> usize {
    let matching = open_in(container).into_iter().filter(|(_, address)| {
        // SAFETY: the address is the address of an open handle.
        unsafe { Handle::of(*address as *const c_void) }
            .is_ok_and(|handle| types_of(handle) & types != 0 && handle.host.slot == host.slot && (types & LOCAL == 0 || handle.opener == opener))
    });
    matching.count()
}

/// The IDs of a file's open handles of the given `types`.
fn ids(host: &Host, container: &Container, types: c_uint, opener: u64, max: usize) -> Vec<hid_t> {
    let mut found = Vec::new();
    let mut kinds: Vec<(H5I_type_t, Vec<usize>)> = Vec::new();
    for (_, address) in open_in(container) {
        // SAFETY: the address is the address of an open handle.
        let Ok(handle) = (unsafe { Handle::of(address as *const c_void) }) else { continue };
        let kind = types_of(handle);
        if kind & types == 0 || handle.host.slot != host.slot || (types & LOCAL != 0 && handle.opener != opener) {
            continue;
        }
        let kind = match kind {
            1 => H5I_FILE,
            2 => H5I_DATASET,
            4 => H5I_GROUP,
            8 => H5I_DATATYPE,
            _ => H5I_ATTR,
        };
        match kinds.iter_mut().find(|(known, _)| *known == kind) {
            Some((_, all)) => all.push(address),
            None => kinds.push((kind, vec![address])),
        }
    }
    // HDF5 has no function from an object to its ID; but IDs are numbered consecutively, so try them from the newest.
    for (kind, mut wanted) in kinds {
        let tag = i64::from(kind) << 56;
        let newest = newest_number(host, tag);
        let mut number = newest;
        while !wanted.is_empty() && number >= 0 && found.len() < max {
            let id = tag | number;
            // SAFETY: H5Iis_valid accepts any number; H5VLobject a valid ID of a connector's object.
            let object = unsafe { if (host.call.H5Iis_valid)(id) > 0 { (host.call.H5VLobject)(id) as usize } else { 0 } };
            if let Some(at) = wanted.iter().position(|address| *address == object) {
                wanted.swap_remove(at);
                found.push(id);
            }
            number -= 1;
        }
    }
    found
}

fn newest_number(host: &Host, tag: i64) -> i64 {
    // IDs are assigned in order: the highest valid one is below the first long run of free numbers.
    let (mut last, mut number, mut free) = (-1i64, 0i64, 0);
    while free < 4096 {
        // SAFETY: H5Iis_valid accepts any number.
        if unsafe { (host.call.H5Iis_valid)(tag | number) } > 0 {
            last = number;
            free = 0;
        } else {
            free += 1;
        }
        number += 1;
    }
    last
}

pub(crate) unsafe extern "C" fn get<const S: usize>(obj: *mut c_void, args: *mut H5VL_file_get_args_t, _dxpl: hid_t, _req: *mut *mut c_void) -> herr_t {
    guard::status::<S>("file get", |host| {
        // SAFETY: arguments that HDF5 passes; the operation selects the member of the union.
        unsafe {
            let handle = Handle::of(obj)?;
            let container = &handle.place.container;
            let args = args.as_mut().ok_or_else(|| error!("HDF5 passed no arguments"))?;
            match args.op_type {
                H5VL_FILE_GET_CONT_INFO => {
                    let out = &mut *args.args.get_cont_info.info;
                    out.feature_flags = 0;
                    out.token_size = 8;
                    out.blob_id_size = 16;
                }
                H5VL_FILE_GET_FAPL => {
                    args.args.get_fapl.fapl_id = access_list(host, handle)?;
                }
                H5VL_FILE_GET_FCPL => {
                    let creation = lock(&container.tree).creation.clone();
                    args.args.get_fcpl.fcpl_id = plist::decode(host, &creation, ListClass::File)?.give();
                }
                H5VL_FILE_GET_FILENO => *args.args.get_fileno.fileno = container.number,
                H5VL_FILE_GET_INTENT => {
                    let writable = match &handle.what {
                        What::File { writable, .. } => *writable,
                        _ => container.writable.load(Ordering::Relaxed),
                    };
                    *args.args.get_intent.flags = if writable { ACC_RDWR } else { 0 };
                }
                H5VL_FILE_GET_NAME => {
                    let name = match &handle.what {
                        What::File { name, .. } => name.clone(),
                        _ => handle.file_name(),
                    };
                    let out = &args.args.get_name;
                    give_text(&name, out.buf, out.buf_size, out.file_name_len);
                }
                H5VL_FILE_GET_OBJ_COUNT => {
                    *args.args.get_obj_count.count = open_handles(host, container, args.args.get_obj_count.types, handle.opener);
                }
                H5VL_FILE_GET_OBJ_IDS => {
                    let out = &args.args.get_obj_ids;
                    let found = ids(host, container, out.types, handle.opener, out.max_objs);
                    for (place, id) in found.iter().enumerate() {
                        *out.oid_list.add(place) = *id;
                    }
                    *out.count = found.len();
                }
                other => return Err(Error::unsupported(format!("query {other} of a file is not supported"))),
            }
        }
        Ok(())
    })
}

fn check_id(id: hid_t, what: &str) -> Result<hid_t> {
    check(if id < 0 { -1 } else { 0 }, what).map(|_| id)
}

pub(crate) unsafe extern "C" fn specific<const S: usize>(
    obj: *mut c_void,
    args: *mut H5VL_file_specific_args_t,
    _dxpl: hid_t,
    _req: *mut *mut c_void,
) -> herr_t {
    guard::status::<S>("file specific", |host| {
        // SAFETY: arguments that HDF5 passes; the operation selects the member of the union.
        unsafe {
            let args = args.as_mut().ok_or_else(|| error!("HDF5 passed no arguments"))?;
            match args.op_type {
                H5VL_FILE_FLUSH => Handle::of(obj)?.place.container.publish()?,
                H5VL_FILE_REOPEN => {
                    let handle = Handle::of(obj)?;
                    let What::File { fapl, writable, name, .. } = &handle.what else { return Err(error!("the object is not a file")) };
                    let fapl = fapl.as_ref().map_or(0, |fapl| fapl.id);
                    *args.args.reopen.file = give(host, Arc::clone(&handle.place.container), name, fapl, *writable)?;
                }
                H5VL_FILE_IS_ACCESSIBLE => {
                    let found = container::is_accessible(Path::new(text(args.args.is_accessible.filename)?));
                    if found && host.would_mistake() {
                        return Err(error!("this HDF5 version would mistake the container for a native file; set HDF5_VOL_CONNECTOR=arrow"));
                    }
                    *args.args.is_accessible.accessible = found;
                }
                H5VL_FILE_DELETE => container::delete(Path::new(text(args.args.del.filename)?))?,
                H5VL_FILE_IS_EQUAL => {
                    let (one, other) = (Handle::of(obj)?, args.args.is_equal.obj2);
                    *args.args.is_equal.same_file = Handle::of(other).is_ok_and(|other| Arc::ptr_eq(&one.place.container, &other.place.container));
                }
                other => return Err(Error::unsupported(format!("operation {other} on a file is not supported"))),
            }
        }
        Ok(())
    })
}
