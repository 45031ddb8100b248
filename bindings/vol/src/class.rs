//! The connector classes: tables of callbacks, one per slot.

use std::ffi::c_void;
use std::ptr;

use crate::callbacks::{attribute, blob, dataset, datatype, file, group, info, introspect, link, object, token};
use crate::ffi::*;
use crate::host::SLOTS;
use hyperslab_arrow_container::container::Options;

/// The version of `H5VL_class_t`.
const CLASS_VERSION: u32 = 3;
/// The connector's class value. Values from 256 on are registered with The HDF Group, or for testing like this one.
const VALUE: H5VL_class_value_t = 511;

unsafe extern "C" fn initialize(_vipl: hid_t) -> herr_t {
    0
}

unsafe extern "C" fn terminate() -> herr_t {
    0
}

const fn class<const S: usize>() -> H5VL_class_t {
    H5VL_class_t {
        version: CLASS_VERSION,
        value: VALUE,
        name: c"arrow".as_ptr(),
        conn_version: introspect::VERSION,
        cap_flags: introspect::CAPABILITIES,
        initialize: Some(initialize),
        terminate: Some(terminate),
        info_cls: H5VL_info_class_t {
            size: size_of::<Options>(),
            copy: Some(info::copy::<S>),
            cmp: Some(info::cmp::<S>),
            free: Some(info::free::<S>),
            to_str: Some(info::to_str::<S>),
            from_str: Some(info::from_str::<S>),
        },
        wrap_cls: H5VL_wrap_class_t { get_object: None, get_wrap_ctx: None, wrap_object: None, unwrap_object: None, free_wrap_ctx: None },
        attr_cls: H5VL_attr_class_t {
            create: Some(attribute::create::<S>),
            open: Some(attribute::open::<S>),
            read: Some(attribute::read::<S>),
            write: Some(attribute::write::<S>),
            get: Some(attribute::get::<S>),
            specific: Some(attribute::specific::<S>),
            optional: Some(object::optional_plain::<S>),
            close: Some(group::close::<S>),
        },
        dataset_cls: H5VL_dataset_class_t {
            create: Some(dataset::create::<S>),
            open: Some(dataset::open::<S>),
            read: Some(dataset::read::<S>),
            write: Some(dataset::write::<S>),
            get: Some(dataset::get::<S>),
            specific: Some(dataset::specific::<S>),
            optional: Some(object::optional_plain::<S>),
            close: Some(group::close::<S>),
        },
        datatype_cls: H5VL_datatype_class_t {
            commit: Some(datatype::commit::<S>),
            open: Some(datatype::open::<S>),
            get: Some(datatype::get::<S>),
            specific: Some(datatype::specific::<S>),
            optional: Some(object::optional_plain::<S>),
            close: Some(group::close::<S>),
        },
        file_cls: H5VL_file_class_t {
            create: Some(file::create::<S>),
            open: Some(file::open::<S>),
            get: Some(file::get::<S>),
            specific: Some(file::specific::<S>),
            optional: Some(object::optional_plain::<S>),
            close: Some(group::close::<S>),
        },
        group_cls: H5VL_group_class_t {
            create: Some(group::create::<S>),
            open: Some(group::open::<S>),
            get: Some(group::get::<S>),
            specific: Some(group::specific::<S>),
            optional: Some(object::optional_plain::<S>),
            close: Some(group::close::<S>),
        },
        link_cls: H5VL_link_class_t {
            create: Some(link::create::<S>),
            copy: Some(link::copy::<S>),
            move_: Some(link::move_::<S>),
            get: Some(link::get::<S>),
            specific: Some(link::specific::<S>),
            optional: Some(object::optional::<S>),
        },
        object_cls: H5VL_object_class_t {
            open: Some(object::open::<S>),
            copy: Some(object::copy::<S>),
            get: Some(object::get::<S>),
            specific: Some(object::specific::<S>),
            optional: Some(object::comments::<S>),
        },
        introspect_cls: H5VL_introspect_class_t {
            get_conn_cls: Some(introspect::get_conn_cls::<S>),
            get_cap_flags: Some(introspect::get_cap_flags::<S>),
            opt_query: Some(introspect::opt_query::<S>),
        },
        request_cls: H5VL_request_class_t { wait: None, notify: None, cancel: None, specific: None, optional: None, free: None },
        blob_cls: H5VL_blob_class_t { put: Some(blob::put::<S>), get: Some(blob::get::<S>), specific: Some(blob::specific::<S>), optional: None },
        token_cls: H5VL_token_class_t { cmp: Some(token::cmp::<S>), to_str: Some(token::to_str::<S>), from_str: Some(token::from_str::<S>) },
        optional: Some(object::optional_plain::<S>),
    }
}

struct Classes([H5VL_class_t; SLOTS]);

// SAFETY: the tables hold addresses of functions and of a constant string, and never change.
unsafe impl Sync for Classes {}

static CLASSES: Classes = Classes([class::<0>(), class::<1>(), class::<2>(), class::<3>()]);

/// The class of a slot; null if the slot does not exist.
pub(crate) fn of(slot: usize) -> *const H5VL_class_t {
    CLASSES.0.get(slot).map_or(ptr::null(), ptr::from_ref)
}

/// Entry point of HDF5's plug-in loader: the type of this plug-in.
#[unsafe(no_mangle)]
pub extern "C" fn H5PLget_plugin_type() -> H5PL_type_t {
    H5PL_TYPE_VOL
}

/// Entry point of HDF5's plug-in loader: the class for the calling library; null if that is not found.
#[unsafe(no_mangle)]
pub extern "C" fn H5PLget_plugin_info() -> *const c_void {
    crate::host::stay_loaded();
    crate::host::Host::calling().map_or(ptr::null(), |host| {
        crate::legacy_api::redirect(host);
        of(host.slot).cast()
    })
}
