//! Property lists: stored encoded (`H5Pencode2`), queried for single properties.

use crate::encoded::{ListClass, check_properties};
use crate::ffi::*;
use crate::host::{Host, Owned, check};
use hyperslab_arrow_container::error::{Error, Result, error};
use hyperslab_arrow_container::model::{Body, Object};

/// `H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED`.
const TRACKED_AND_INDEXED: u32 = 3;

/// `H5F_ACC_DEFAULT`.
const EXTERNAL_AS_PARENT: u32 = 0xffff;
/// `H5FD_FEAT_DEFAULT_VFD_COMPATIBLE`.
const LIKE_DEFAULT: std::ffi::c_ulong = 0x8000;
/// `H5FD_FEAT_ALLOW_FILE_IMAGE`, which identifies the core driver.
const ALLOWS_IMAGE: std::ffi::c_ulong = 0x400;
/// `H5D_FILL_TIME_NEVER`.
const FILL_NEVER: i32 = 1;

/// Checks that an ID is a property list or the default.
pub(crate) fn check_list(host: &Host, id: hid_t) -> Result<()> {
    // SAFETY: H5Iis_valid accepts any number.
    if id == 0 || unsafe { (host.call.H5Iget_type)(id) == H5I_GENPROP_LST } { Ok(()) } else { Err(error!("an ID is not a property list")) }
}

/// Encodes a property list; the default one is empty.
pub(crate) fn encode(host: &Host, plist: hid_t) -> Vec<u8> {
    if plist <= 0 {
        return Vec::new();
    }
    let mut size = 0;
    // SAFETY: a null buffer queries the size; then the buffer has that size.
    unsafe {
        if (host.call.H5Pencode2)(plist, std::ptr::null_mut(), &raw mut size, 0) < 0 {
            return Vec::new();
        }
        let mut bytes = vec![0u8; size];
        if (host.call.H5Pencode2)(plist, bytes.as_mut_ptr().cast(), &raw mut size, 0) < 0 {
            return Vec::new();
        }
        bytes.truncate(size);
        bytes
    }
}

/// Whether a program set a fill value.
pub(crate) fn has_fill(host: &Host, plist: hid_t) -> bool {
    let mut defined = 0;
    // SAFETY: a valid ID of the host, and a valid output pointer.
    plist > 0 && unsafe { (host.call.H5Pfill_value_defined)(plist, &raw mut defined) } >= 0 && defined == H5D_FILL_VALUE_USER_DEFINED
}

/// As [`encode`], for a dataset creation property list. A variable-length fill value is removed, because it would be encoded
/// as a memory address. Any other fill value is converted to the dataset's `datatype`, because a program may have set it with
/// a variable-length one.
pub(crate) fn encode_of_dataset(host: &Host, plist: hid_t, datatype: hid_t, has_heap: bool) -> Result<Vec<u8>> {
    if !has_fill(host, plist) {
        return Ok(encode(host, plist));
    }
    // SAFETY: valid IDs of the host; the buffer has space for an element.
    unsafe {
        let copy = Owned::new((host.call.H5Pcopy)(plist), host.call.H5Pclose, "the property list cannot be copied")?;
        let mut value = vec![0u8; (host.call.H5Tget_size)(datatype)];
        if !has_heap {
            check((host.call.H5Pget_fill_value)(plist, datatype, value.as_mut_ptr().cast()), "the fill value does not fit the datatype")?;
        }
        let value = if has_heap { std::ptr::null() } else { value.as_ptr() };
        check((host.call.H5Pset_fill_value)(copy.id, datatype, value.cast()), "the fill value cannot be stored")?;
        Ok(encode(host, copy.id))
    }
}

/// Sets a variable-length fill value in a property list. `value` is an element of the datatype `target`.
pub(crate) fn give_fill(host: &Host, list: &Owned, memory: &Owned, target: &Owned, value: &[u8]) -> Result<()> {
    // SAFETY: valid IDs of the host; both buffers have space for an element in either form.
    unsafe {
        let max = (host.call.H5Tget_size)(memory.id).max((host.call.H5Tget_size)(target.id)).max(value.len());
        let (mut element, mut background) = (value.to_vec(), vec![0u8; max]);
        element.resize(max, 0);
        check(
            (host.call.H5Tconvert)(target.id, memory.id, 1, element.as_mut_ptr().cast(), background.as_mut_ptr().cast(), 0),
            "the fill value cannot be converted",
        )?;
        let set = check((host.call.H5Pset_fill_value)(list.id, memory.id, element.as_ptr().cast()), "the fill value cannot be set in the property list");
        let scalar = Owned::new((host.call.H5Screate)(H5S_SCALAR), host.call.H5Sclose, "the dataspace cannot be created")?;
        check((host.call.H5Treclaim)(memory.id, scalar.id, 0, element.as_mut_ptr().cast()), "the memory of the fill value cannot be freed")?;
        set.map(|_| ())
    }
}

/// The default property list of a class, such as `H5P_CLS_GROUP_CREATE_ID_g`.
pub(crate) fn default_of(host: &Host, class: &'static std::ffi::CStr) -> Result<Owned> {
    let class = host.global(class).ok_or_else(|| error!("the HDF5 library does not export this class of property lists"))?;
    // SAFETY: a class is a valid ID of the host.
    Owned::new(unsafe { (host.call.H5Pcreate)(class) }, host.call.H5Pclose, "the property list cannot be created")
}

/// Decodes a property list; no bytes mean the default list of the class.
pub(crate) fn decode(host: &Host, bytes: &[u8], class: ListClass) -> Result<Owned> {
    if bytes.is_empty() {
        return default_of(host, class.global());
    }
    check_properties(bytes, class)?;
    // SAFETY: the bytes outlive the call, and HDF5 reads no more of them than were checked.
    let id = unsafe { (host.call.H5Pdecode)(bytes.as_ptr().cast()) };
    Owned::new(id, host.call.H5Pclose, "the property list cannot be decoded")
}

/// Whether to create missing intermediate groups, and whether the name of the link is UTF-8.
pub(crate) fn link_creation(host: &Host, plist: hid_t) -> Result<(bool, bool)> {
    check_list(host, plist)?;
    if plist == 0 {
        return Ok((false, false));
    }
    let (mut create, mut cset) = (0, 0);
    // SAFETY: both are valid output pointers.
    unsafe {
        (host.call.H5Pget_create_intermediate_group)(plist, &raw mut create);
        (host.call.H5Pget_char_encoding)(plist, &raw mut cset);
    }
    Ok((create > 0, cset == 1))
}

/// Whether the name of an attribute is UTF-8.
pub(crate) fn utf8(host: &Host, plist: hid_t) -> bool {
    let mut cset = 0;
    // SAFETY: a valid output pointer.
    plist > 0 && unsafe { (host.call.H5Pget_char_encoding)(plist, &raw mut cset) } >= 0 && cset == 1
}

/// Refuses file drivers that do not store a file at its path: the program would look for its bytes elsewhere.
pub(crate) fn check_driver(host: &Host, fapl: hid_t) -> Result<()> {
    if fapl <= 0 {
        return Ok(());
    }
    let (mut flags, mut increment, mut on_disk) = (0, 0, true);
    // SAFETY: valid IDs of the host, and valid output pointers.
    unsafe {
        let driver = (host.call.H5Pget_driver)(fapl);
        if driver <= 0 || (host.call.H5FDdriver_query)(driver, &raw mut flags) < 0 {
            return Ok(());
        }
        if flags & ALLOWS_IMAGE != 0 {
            check((host.call.H5Pget_fapl_core)(fapl, &raw mut increment, &raw mut on_disk), "the file driver cannot be queried")?;
        } else if flags & LIKE_DEFAULT == 0 {
            return Err(Error::unsupported(
                "file drivers that store a file in several files or in an object of the program are not supported; a container is stored at its path",
            ));
        }
    }
    if on_disk {
        Ok(())
    } else {
        Err(Error::unsupported("files only in memory (the core driver without a backing store) are not supported; a container is stored on disk"))
    }
}

/// Whether to open the targets of external links for writing; `None`: as the file that has the link.
pub(crate) fn opens_external(host: &Host, plist: hid_t) -> Option<bool> {
    let mut flags = EXTERNAL_AS_PARENT;
    if plist > 0 {
        // SAFETY: a valid output pointer.
        unsafe { (host.call.H5Pget_elink_acc_flags)(plist, &raw mut flags) };
    }
    (flags != EXTERNAL_AS_PARENT).then_some(flags & 1 != 0)
}

/// Maximum number of soft links to follow.
pub(crate) fn links_left(host: &Host, plist: hid_t) -> usize {
    let mut count = 16;
    if plist > 0 {
        // SAFETY: a valid output pointer.
        unsafe { (host.call.H5Pget_nlinks)(plist, &raw mut count) };
    }
    count
}

/// Whether the creation order of a group's links is tracked.
pub(crate) fn tracks_links(host: &Host, plist: hid_t) -> bool {
    let mut flags = 0;
    // SAFETY: a valid output pointer.
    plist > 0 && unsafe { (host.call.H5Pget_link_creation_order)(plist, &raw mut flags) } >= 0 && flags & 1 != 0
}

/// Whether the creation order of attributes is tracked.
pub(crate) fn tracks_attributes(host: &Host, plist: hid_t) -> bool {
    let mut flags = 0;
    // SAFETY: a valid output pointer.
    plist > 0 && unsafe { (host.call.H5Pget_attr_creation_order)(plist, &raw mut flags) } >= 0 && flags & 1 != 0
}

/// The creation property list of a group. The root group has none of its own, because it is created with the file's list, so
/// creation-order tracking is set from the object.
pub(crate) fn of_group(host: &Host, object: &Object) -> Result<Owned> {
    let list = decode(host, &object.creation, ListClass::Group)?;
    if object.creation.is_empty() {
        let tracked = matches!(object.body, Body::Group { tracked: true, .. });
        // SAFETY: a valid ID of the host.
        unsafe {
            if tracked {
                check((host.call.H5Pset_link_creation_order)(list.id, TRACKED_AND_INDEXED), "the creation order of links cannot be set in the property list")?;
            }
            if object.attributes_tracked {
                check(
                    (host.call.H5Pset_attr_creation_order)(list.id, TRACKED_AND_INDEXED),
                    "the creation order of attributes cannot be set in the property list",
                )?;
            }
        }
    }
    Ok(list)
}

/// The creation time of a new object, in seconds since 1970; 0 if times are not tracked.
pub(crate) fn born(host: &Host, plist: hid_t) -> i64 {
    let mut track = false;
    // SAFETY: a valid output pointer.
    let known = plist > 0 && unsafe { (host.call.H5Pget_obj_track_times)(plist, &raw mut track) } >= 0;
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |time| time.as_secs() as i64);
    if known && track { now } else { 0 }
}

/// The fill value as an element of the datatype `target`; empty: zeros.
pub(crate) fn fill(host: &Host, creation: hid_t, memory: hid_t, target: hid_t) -> Result<Vec<u8>> {
    let mut time = 0;
    if !has_fill(host, creation) {
        return Ok(Vec::new());
    }
    // SAFETY: valid output pointers; the buffer has space for an element in either form.
    unsafe {
        if (host.call.H5Pget_fill_time)(creation, &raw mut time) >= 0 && time == FILL_NEVER {
            return Ok(Vec::new());
        }
        let (small, large) = ((host.call.H5Tget_size)(memory), (host.call.H5Tget_size)(target));
        let mut bytes = vec![0u8; small.max(large)];
        check((host.call.H5Pget_fill_value)(creation, memory, bytes.as_mut_ptr().cast()), "the fill value does not fit the datatype")?;
        let mut background = vec![0u8; large];
        check((host.call.H5Tconvert)(memory, target, 1, bytes.as_mut_ptr().cast(), background.as_mut_ptr().cast(), 0), "the fill value cannot be converted")?;
        bytes.truncate(large);
        Ok(bytes)
    }
}
