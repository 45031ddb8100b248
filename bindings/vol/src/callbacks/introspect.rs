//! The connector's version and capabilities.

use std::ffi::{c_int, c_uint, c_void};

use crate::ffi::*;
use crate::guard;

/// All capabilities except thread safety, asynchronous calls, native files, maps, mounts, and filters (values are stored
/// unfiltered so that they can be memory-mapped).
pub(crate) const CAPABILITIES: u64 = {
    let basic_and_more = 0x8 | 0x10 | 0x20 | 0x40 | 0x80 | 0x100 | 0x200 | 0x400 | 0x800 | 0x1000 | 0x8000 | 0x10000;
    let references = 0x20000 | 0x40000 | 0x80000 | 0x10_0000 | 0x20_0000;
    let stored_types_order_iterate_size_index_lists_flush = 0x40_0000 | 0x80_0000 | 0x100_0000 | 0x200_0000 | 0x400_0000 | 0x800_0000 | 0x1000_0000;
    let external_hard_soft_own = 0x2000_0000 | 0x4000_0000 | 0x8000_0000 | 0x1_0000_0000;
    let times_and_fill_values = 0x2_0000_0000 | 0x10_0000_0000;
    basic_and_more | references | stored_types_order_iterate_size_index_lists_flush | external_hard_soft_own | times_and_fill_values
};

pub(crate) unsafe extern "C" fn get_conn_cls<const S: usize>(_obj: *mut c_void, _level: H5VL_get_conn_lvl_t, class: *mut *const H5VL_class_t) -> herr_t {
    guard::status::<S>("introspect get_conn_cls", |host| {
        // SAFETY: a valid output pointer.
        unsafe { *class = crate::class::of(host.slot) };
        Ok(())
    })
}

pub(crate) unsafe extern "C" fn get_cap_flags<const S: usize>(_info: *const c_void, flags: *mut u64) -> herr_t {
    guard::status::<S>("introspect get_cap_flags", |_| {
        // SAFETY: a valid output pointer.
        unsafe { *flags = CAPABILITIES };
        Ok(())
    })
}

pub(crate) unsafe extern "C" fn opt_query<const S: usize>(_obj: *mut c_void, _class: H5VL_subclass_t, _operation: c_int, flags: *mut u64) -> herr_t {
    guard::status::<S>("introspect opt_query", |_| {
        // There are no optional operations.
        // SAFETY: a valid output pointer.
        unsafe { *flags = 0 };
        Ok(())
    })
}

pub(crate) const VERSION: c_uint = 1;
