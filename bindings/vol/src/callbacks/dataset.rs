//! Datasets.

use std::ffi::{c_char, c_void};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use super::group::{add, open_at, opened};
use super::iterate::registered;
use super::location::{Located, locate};
use crate::encoded::ListClass;
use crate::ffi::*;
use crate::guard;
use crate::handle::{Handle, What};
use crate::host::{Host, Owned, check};
use crate::{datatype, plist, transfer};
use hyperslab_arrow_container::container::{Container, Place};
use hyperslab_arrow_container::elements::Dataspace;
use hyperslab_arrow_container::error::{Error, Result, error};
use hyperslab_arrow_container::lock;
use hyperslab_arrow_container::model::{Attribute, AttributeValue, Body, Dataset, Extent, Object, StoredDatatype};
use hyperslab_arrow_container::table::Table;

/// The fill value of a dataset, in file form.
pub(crate) fn fill_of(host: &'static Host, container: &Arc<Container>, object: &Object, stored: &StoredDatatype) -> Result<Vec<u8>> {
    if let Some(fill) = &object.fill {
        return Ok(lock(fill).bytes.clone());
    }
    if object.creation.is_empty() {
        return Ok(Vec::new());
    }
    let list = plist::decode(host, &object.creation, ListClass::Dataset)?;
    let memory = datatype::decode(host, &stored.encoded)?;
    let place = Place::new(Arc::clone(container), hyperslab_arrow_container::model::ROOT);
    let raw = Handle::give(host, place, What::Group, String::new());
    let target = datatype::in_file(host, raw, memory.id);
    let fill = target.and_then(|target| plist::fill(host, list.id, memory.id, target.id));
    // SAFETY: the handle was made above, and the datatype in it is closed.
    unsafe { Handle::close_quietly(raw) };
    fill
}

pub(crate) unsafe extern "C" fn create<const S: usize>(
    obj: *mut c_void,
    loc: *const H5VL_loc_params_t,
    name: *const c_char,
    lcpl: hid_t,
    type_id: hid_t,
    space_id: hid_t,
    dcpl: hid_t,
    dapl: hid_t,
    _dxpl: hid_t,
    _req: *mut *mut c_void,
) -> *mut c_void {
    guard::object::<S>("dataset create", |host| {
        plist::check_list(host, dapl)?;
        // SAFETY: HDF5 passes our own handles, and zero-terminated strings.
        unsafe {
            let handle = Handle::of(obj)?;
            let at = locate(handle, loc)?;
            at.place.container.change()?;
            let stored = datatype::stored(host, handle.raw(), type_id)?;
            let space = transfer::dataspace_of(host, space_id)?;
            check_layout(host, dcpl, &space)?;
            let memory = datatype::decode(host, &stored.encoded)?;
            let target = datatype::in_file(host, handle.raw(), memory.id)?;
            let has_heap = stored.decoded.has_heap();
            let creation = plist::encode_of_dataset(host, dcpl, memory.id, has_heap)?;
            let fill = plist::fill(host, dcpl, memory.id, target.id)?;
            let kept = (has_heap && plist::has_fill(host, dcpl)).then(|| fill_to_keep(&stored, &fill));
            let table = Table::create(&stored.decoded, &space, &at.place.container.folder, at.place.container.ranks.get(), fill)?;
            let dataset = Arc::new(Dataset::new(stored, space, table));
            let mut object = Object::new(Body::Dataset(Arc::clone(&dataset)), creation);
            object.attributes_tracked = plist::tracks_attributes(host, dcpl);
            object.born = plist::born(host, dcpl);
            object.fill = kept;
            let made = add(host, &at, name, lcpl, object)?;
            if let Some(fill) = &lock(&made.place.container.tree).object(made.place.object)?.fill {
                lock(fill).object = made.place.object;
            }
            let raw = Handle::give(host, made.place, What::Dataset(dataset), made.path);
            keep_access(host, raw, dapl);
            Ok(raw)
        }
    })
}

/// A variable-length fill value to store with the object, because `H5Pencode2` would encode its memory address.
fn fill_to_keep(stored: &StoredDatatype, fill: &[u8]) -> Attribute {
    let mut bytes = fill.to_vec();
    bytes.resize(stored.decoded.bytes(), 0);
    Arc::new(Mutex::new(AttributeValue::new("", 0, stored.clone(), Dataspace::Scalar, bytes)))
}

/// Keeps a copy of an access property list, unless it is the default one.
unsafe fn keep_access(host: &'static Host, raw: *mut c_void, dapl: hid_t) {
    if dapl <= 0 || host.global(c"H5P_LST_DATASET_ACCESS_ID_g") == Some(dapl) {
        return;
    }
    // SAFETY: a handle that was just made, and a valid ID of the host.
    unsafe {
        if let (Ok(handle), Ok(copy)) =
            (Handle::of(raw), Owned::new((host.call.H5Pcopy)(dapl), host.call.H5Pclose, "the access property list cannot be copied"))
        {
            *lock(&handle.access) = Some(copy);
        }
    }
}

/// Checks a layout as native HDF5 does (only chunked datasets can grow), and refuses external files and virtual datasets.
fn check_layout(host: &Host, dcpl: hid_t, space: &Dataspace) -> Result<()> {
    // SAFETY: a valid ID of the host.
    let layout = if dcpl > 0 { unsafe { (host.call.H5Pget_layout)(dcpl) } } else { 1 };
    // SAFETY: a valid ID of the host.
    if dcpl > 0 && unsafe { (host.call.H5Pget_external_count)(dcpl) } > 0 {
        return Err(Error::unsupported("external raw data files (H5Pset_external) are not supported; a container stores its values itself"));
    }
    if layout == 3 {
        return Err(Error::unsupported("virtual datasets are not supported; write the values, or keep the virtual dataset in a native file"));
    }
    if let Dataspace::Simple { shape, max_shape } = space {
        if shape != max_shape && layout != 2 && max_shape.iter().zip(shape).any(|(max, now)| max > now) {
            return Err(error!("only chunked datasets can grow; set a chunk shape"));
        }
        if layout == 2 {
            let mut chunk = [0u64; 32];
            // SAFETY: space for HDF5's maximum number of dimensions.
            let ndims = unsafe { (host.call.H5Pget_chunk)(dcpl, 32, chunk.as_mut_ptr()) };
            if usize::try_from(ndims) != Ok(shape.len()) {
                return Err(error!("a chunk shape of {ndims} dimensions for a dataset of {}", shape.len()));
            }
            if chunk.iter().zip(max_shape).any(|(chunk, max)| *max != u64::MAX && chunk > max && *max > 0) {
                return Err(error!("the chunk shape exceeds the maximum shape of the dataset"));
            }
        }
    }
    Ok(())
}

pub(crate) unsafe extern "C" fn open<const S: usize>(
    obj: *mut c_void,
    loc: *const H5VL_loc_params_t,
    name: *const c_char,
    dapl: hid_t,
    _dxpl: hid_t,
    _req: *mut *mut c_void,
) -> *mut c_void {
    guard::object::<S>("dataset open", |host| {
        // SAFETY: as for `create`.
        unsafe {
            let raw = open_at(host, opened(Handle::of(obj)?, loc, name, dapl)?, Some(H5I_DATASET))?.0;
            keep_access(host, raw, dapl);
            Ok(raw)
        }
    })
}

pub(crate) unsafe extern "C" fn read<const S: usize>(
    count: usize,
    objs: *mut *mut c_void,
    mem_types: *mut hid_t,
    mem_spaces: *mut hid_t,
    file_spaces: *mut hid_t,
    dxpl: hid_t,
    bufs: *mut *mut c_void,
    _req: *mut *mut c_void,
) -> herr_t {
    guard::status::<S>("dataset read", |host| {
        for i in 0..count {
            // SAFETY: HDF5 passes `count` of each; a buffer holds what its datatype and dataspace say.
            unsafe {
                let handle = Handle::of(*objs.add(i))?;
                let io = transfer::Io { host, handle, mem_type: *mem_types.add(i), mem_space: *mem_spaces.add(i), file_space: *file_spaces.add(i), dxpl };
                io.read((*bufs.add(i)).cast())?;
            }
        }
        Ok(())
    })
}

pub(crate) unsafe extern "C" fn write<const S: usize>(
    count: usize,
    objs: *mut *mut c_void,
    mem_types: *mut hid_t,
    mem_spaces: *mut hid_t,
    file_spaces: *mut hid_t,
    dxpl: hid_t,
    bufs: *mut *const c_void,
    _req: *mut *mut c_void,
) -> herr_t {
    guard::status::<S>("dataset write", |host| {
        for i in 0..count {
            // SAFETY: as for `read`.
            unsafe {
                let handle = Handle::of(*objs.add(i))?;
                handle.place.container.change()?;
                let io = transfer::Io { host, handle, mem_type: *mem_types.add(i), mem_space: *mem_spaces.add(i), file_space: *file_spaces.add(i), dxpl };
                io.write((*bufs.add(i)).cast())?;
                handle.dataset()?.written.store(true, Ordering::Relaxed);
            }
        }
        Ok(())
    })
}

/// A datatype's ID for a program; the committed datatype if there is one.
pub(crate) fn give_type(host: &'static Host, handle: &Handle, stored: &StoredDatatype) -> Result<hid_t> {
    if let Some(object) = stored.committed {
        let container = Arc::clone(&handle.place.container);
        let path = lock(&container.tree).reachable().remove(&object);
        if lock(&container.tree).object(object).is_ok() {
            let at = Located { place: Place::new(container, object), path: path.unwrap_or_default() };
            return Ok(registered(host, &at)?.give());
        }
    }
    Ok(datatype::decode(host, &stored.encoded)?.give())
}

pub(crate) unsafe extern "C" fn get<const S: usize>(obj: *mut c_void, args: *mut H5VL_dataset_get_args_t, _dxpl: hid_t, _req: *mut *mut c_void) -> herr_t {
    guard::status::<S>("dataset get", |host| {
        // SAFETY: arguments that HDF5 passes; the operation selects the member of the union.
        unsafe {
            let handle = Handle::of(obj)?;
            let dataset = handle.dataset()?;
            let args = args.as_mut().ok_or_else(|| error!("HDF5 passed no arguments"))?;
            match args.op_type {
                H5VL_DATASET_GET_DAPL => {
                    let copy = lock(&handle.access).as_ref().map(|list| (host.call.H5Pcopy)(list.id));
                    args.args.get_dapl.dapl_id = match copy {
                        Some(copy) => Owned::new(copy, host.call.H5Pclose, "the access property list cannot be copied")?.give(),
                        None => plist::default_of(host, c"H5P_CLS_DATASET_ACCESS_ID_g")?.give(),
                    };
                }
                H5VL_DATASET_GET_DCPL => {
                    let (creation, fill) = {
                        let tree = lock(&handle.place.container.tree);
                        let object = tree.object(handle.place.object)?;
                        (object.creation.clone(), object.fill.as_ref().map(|fill| lock(fill).bytes.clone()))
                    };
                    let list = plist::decode(host, &creation, ListClass::Dataset)?;
                    if let Some(fill) = fill {
                        let memory = datatype::decode(host, &dataset.datatype.encoded)?;
                        let target = datatype::in_file(host, handle.raw(), memory.id)?;
                        plist::give_fill(host, &list, &memory, &target, &fill)?;
                    }
                    args.args.get_dcpl.dcpl_id = list.give();
                }
                H5VL_DATASET_GET_SPACE => args.args.get_space.space_id = transfer::give_dataspace(host, &lock(&dataset.extent).space)?,
                H5VL_DATASET_GET_SPACE_STATUS => {
                    *args.args.get_space_status.status = if is_allocated(host, handle)? { H5D_SPACE_STATUS_ALLOCATED } else { H5D_SPACE_STATUS_NOT_ALLOCATED };
                }
                H5VL_DATASET_GET_STORAGE_SIZE => {
                    let count = if is_allocated(host, handle)? { lock(&dataset.extent).space.count().unwrap_or(0) } else { 0 };
                    *args.args.get_storage_size.storage_size = count.saturating_mul(dataset.datatype.decoded.bytes() as u64);
                }
                H5VL_DATASET_GET_TYPE => args.args.get_type.type_id = give_type(host, handle, &dataset.datatype)?,
                other => return Err(Error::unsupported(format!("query {other} of a dataset is not supported"))),
            }
        }
        Ok(())
    })
}

/// Whether native HDF5 would have allocated space: a program has written values, or asked for space at once, as ranks always do.
fn is_allocated(host: &'static Host, handle: &Handle) -> Result<bool> {
    /// `H5D_ALLOC_TIME_EARLY`, which compact datasets have, too.
    const EARLY: i32 = 1;
    if handle.dataset()?.written.load(Ordering::Relaxed) || handle.place.container.ranks.get().is_some() {
        return Ok(true);
    }
    let creation = lock(&handle.place.container.tree).object(handle.place.object)?.creation.clone();
    let list = plist::decode(host, &creation, ListClass::Dataset)?;
    let mut time = 0;
    // SAFETY: a valid ID of the host, and a valid output pointer.
    check(unsafe { (host.call.H5Pget_alloc_time)(list.id, &raw mut time) }, "the time of allocation cannot be read")?;
    Ok(time == EARLY)
}

fn set_extent(host: &'static Host, handle: &Handle, size: &[u64]) -> Result<()> {
    let dataset = handle.dataset()?;
    let container = &handle.place.container;
    container.change()?;
    if lock(&dataset.extent).table.as_ref().is_none_or(|table| !table.knows_fill()) {
        let object = lock(&container.tree).object(handle.place.object)?.clone();
        let fill = fill_of(host, container, &object, &dataset.datatype)?;
        dataset.with_table(&container.folder, container.ranks.get(), || Ok(fill), |_, _| Ok(()))?;
    }
    let mut extent = lock(&dataset.extent);
    let Dataspace::Simple { shape, max_shape } = extent.space.clone() else {
        return Err(error!("a dataset with a scalar or null dataspace cannot be resized"));
    };
    if let Some((wanted, max)) = size.iter().zip(&max_shape).find(|(wanted, max)| wanted > max) {
        return Err(error!("the extent {wanted} exceeds the dataset's maximum of {max}"));
    }
    if size == shape {
        return Ok(());
    }
    let next = Dataspace::Simple { shape: size.to_vec(), max_shape };
    let Extent { space, table, .. } = &mut *extent;
    table.as_mut().ok_or_else(|| error!("the dataset has no values"))?.resize(space, &next)?;
    *space = next;
    Ok(())
}

/// Whether a dataset was created with chunks.
fn is_chunked(host: &'static Host, handle: &Handle) -> Result<bool> {
    /// `H5D_CHUNKED`.
    const CHUNKED: i32 = 2;
    if let Some(known) = handle.is_chunked.get() {
        return Ok(*known);
    }
    let creation = lock(&handle.place.container.tree).object(handle.place.object)?.creation.clone();
    let list = plist::decode(host, &creation, ListClass::Dataset)?;
    // SAFETY: a valid ID of the host.
    let found = unsafe { (host.call.H5Pget_layout)(list.id) } == CHUNKED;
    Ok(*handle.is_chunked.get_or_init(|| found))
}

pub(crate) unsafe extern "C" fn specific<const S: usize>(
    obj: *mut c_void,
    args: *mut H5VL_dataset_specific_args_t,
    _dxpl: hid_t,
    _req: *mut *mut c_void,
) -> herr_t {
    guard::status::<S>("dataset specific", |host| {
        // SAFETY: arguments that HDF5 passes; the operation selects the member of the union.
        unsafe {
            let handle = Handle::of(obj)?;
            let args = args.as_ref().ok_or_else(|| error!("HDF5 passed no arguments"))?;
            match args.op_type {
                H5VL_DATASET_SET_EXTENT => {
                    let ndims = lock(&handle.dataset()?.extent).space.shape().len();
                    if !is_chunked(host, handle)? {
                        return Err(error!("only chunked datasets can be resized"));
                    }
                    set_extent(host, handle, std::slice::from_raw_parts(args.args.set_extent.size, ndims))
                }
                H5VL_DATASET_FLUSH => handle.place.container.publish(),
                H5VL_DATASET_REFRESH => Ok(()),
                other => Err(Error::unsupported(format!("operation {other} on a dataset is not supported"))),
            }
        }
    })
}
