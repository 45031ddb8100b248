//! The declarations of HDF5 1.14's `H5VLconnector.h` that a connector meets, made by bindgen 0.73.2 from the real
//! headers and trimmed to what is used; the layouts are the same in 2.x. The constants that are named `_`
//! hold sizes and offsets to C's at every compilation. No function is declared here: see `functions`.

#![expect(non_camel_case_types, dead_code, reason = "the names are those of C")]
#![expect(clippy::identity_op, reason = "made by bindgen")]

use std::ffi::{c_char, c_int, c_long, c_uint, c_ulong, c_void};
use std::mem::{align_of, offset_of, size_of};

pub type __time_t = c_long;
pub type time_t = __time_t;
pub type herr_t = c_int;
pub type hbool_t = bool;
pub type htri_t = c_int;
pub type hsize_t = u64;
pub type hssize_t = i64;
pub const H5_ITER_UNKNOWN: H5_iter_order_t = -1;
pub const H5_ITER_INC: H5_iter_order_t = 0;
pub const H5_ITER_DEC: H5_iter_order_t = 1;
pub const H5_ITER_NATIVE: H5_iter_order_t = 2;
pub const H5_ITER_N: H5_iter_order_t = 3;
pub type H5_iter_order_t = c_int;
pub const H5_INDEX_UNKNOWN: H5_index_t = -1;
pub const H5_INDEX_NAME: H5_index_t = 0;
pub const H5_INDEX_CRT_ORDER: H5_index_t = 1;
pub const H5_INDEX_N: H5_index_t = 2;
pub type H5_index_t = c_int;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct H5O_token_t {
    pub __data: [u8; 16usize],
}
const _: () = {
    ["Size of H5O_token_t"][size_of::<H5O_token_t>() - 16usize];
    ["Alignment of H5O_token_t"][align_of::<H5O_token_t>() - 1usize];
    ["Offset of field: H5O_token_t::__data"][offset_of!(H5O_token_t, __data) - 0usize];
};
pub const H5I_UNINIT: H5I_type_t = -2;
pub const H5I_BADID: H5I_type_t = -1;
pub const H5I_FILE: H5I_type_t = 1;
pub const H5I_GROUP: H5I_type_t = 2;
pub const H5I_DATATYPE: H5I_type_t = 3;
pub const H5I_DATASPACE: H5I_type_t = 4;
pub const H5I_DATASET: H5I_type_t = 5;
pub const H5I_MAP: H5I_type_t = 6;
pub const H5I_ATTR: H5I_type_t = 7;
pub const H5I_VFL: H5I_type_t = 8;
pub const H5I_VOL: H5I_type_t = 9;
pub const H5I_GENPROP_CLS: H5I_type_t = 10;
pub const H5I_GENPROP_LST: H5I_type_t = 11;
pub const H5I_ERROR_CLASS: H5I_type_t = 12;
pub const H5I_ERROR_MSG: H5I_type_t = 13;
pub const H5I_ERROR_STACK: H5I_type_t = 14;
pub const H5I_SPACE_SEL_ITER: H5I_type_t = 15;
pub const H5I_EVENTSET: H5I_type_t = 16;
pub const H5I_NTYPES: H5I_type_t = 17;
pub type H5I_type_t = c_int;
pub type hid_t = i64;
pub const H5O_TYPE_UNKNOWN: H5O_type_t = -1;
pub const H5O_TYPE_GROUP: H5O_type_t = 0;
pub const H5O_TYPE_DATASET: H5O_type_t = 1;
pub const H5O_TYPE_NAMED_DATATYPE: H5O_type_t = 2;
pub const H5O_TYPE_MAP: H5O_type_t = 3;
pub const H5O_TYPE_NTYPES: H5O_type_t = 4;
pub type H5O_type_t = c_int;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct H5O_info2_t {
    pub fileno: c_ulong,
    pub token: H5O_token_t,
    pub type_: H5O_type_t,
    pub rc: c_uint,
    pub atime: time_t,
    pub mtime: time_t,
    pub ctime: time_t,
    pub btime: time_t,
    pub num_attrs: hsize_t,
}
const _: () = {
    ["Size of H5O_info2_t"][size_of::<H5O_info2_t>() - 72usize];
    ["Alignment of H5O_info2_t"][align_of::<H5O_info2_t>() - 8usize];
    ["Offset of field: H5O_info2_t::fileno"][offset_of!(H5O_info2_t, fileno) - 0usize];
    ["Offset of field: H5O_info2_t::token"][offset_of!(H5O_info2_t, token) - 8usize];
    ["Offset of field: H5O_info2_t::type_"][offset_of!(H5O_info2_t, type_) - 24usize];
    ["Offset of field: H5O_info2_t::rc"][offset_of!(H5O_info2_t, rc) - 28usize];
    ["Offset of field: H5O_info2_t::atime"][offset_of!(H5O_info2_t, atime) - 32usize];
    ["Offset of field: H5O_info2_t::mtime"][offset_of!(H5O_info2_t, mtime) - 40usize];
    ["Offset of field: H5O_info2_t::ctime"][offset_of!(H5O_info2_t, ctime) - 48usize];
    ["Offset of field: H5O_info2_t::btime"][offset_of!(H5O_info2_t, btime) - 56usize];
    ["Offset of field: H5O_info2_t::num_attrs"]
        [offset_of!(H5O_info2_t, num_attrs) - 64usize];
};
pub type H5O_msg_crt_idx_t = u32;
pub type H5O_iterate2_t = Option<
    unsafe extern "C" fn(
        obj: hid_t,
        name: *const c_char,
        info: *const H5O_info2_t,
        op_data: *mut c_void,
    ) -> herr_t,
>;
pub const H5T_NO_CLASS: H5T_class_t = -1;
pub const H5T_INTEGER: H5T_class_t = 0;
pub const H5T_FLOAT: H5T_class_t = 1;
pub const H5T_TIME: H5T_class_t = 2;
pub const H5T_STRING: H5T_class_t = 3;
pub const H5T_BITFIELD: H5T_class_t = 4;
pub const H5T_OPAQUE: H5T_class_t = 5;
pub const H5T_COMPOUND: H5T_class_t = 6;
pub const H5T_REFERENCE: H5T_class_t = 7;
pub const H5T_ENUM: H5T_class_t = 8;
pub const H5T_VLEN: H5T_class_t = 9;
pub const H5T_ARRAY: H5T_class_t = 10;
pub const H5T_NCLASSES: H5T_class_t = 11;
pub type H5T_class_t = c_int;
pub const H5T_ORDER_ERROR: H5T_order_t = -1;
pub const H5T_ORDER_LE: H5T_order_t = 0;
pub const H5T_ORDER_BE: H5T_order_t = 1;
pub const H5T_ORDER_VAX: H5T_order_t = 2;
pub const H5T_ORDER_MIXED: H5T_order_t = 3;
pub const H5T_ORDER_NONE: H5T_order_t = 4;
pub type H5T_order_t = c_int;
pub const H5T_SGN_ERROR: H5T_sign_t = -1;
pub const H5T_SGN_NONE: H5T_sign_t = 0;
pub const H5T_SGN_2: H5T_sign_t = 1;
pub const H5T_NSGN: H5T_sign_t = 2;
pub type H5T_sign_t = c_int;
pub const H5T_CSET_ERROR: H5T_cset_t = -1;
pub const H5T_CSET_ASCII: H5T_cset_t = 0;
pub const H5T_CSET_UTF8: H5T_cset_t = 1;
pub const H5T_CSET_RESERVED_2: H5T_cset_t = 2;
pub const H5T_CSET_RESERVED_3: H5T_cset_t = 3;
pub const H5T_CSET_RESERVED_4: H5T_cset_t = 4;
pub const H5T_CSET_RESERVED_5: H5T_cset_t = 5;
pub const H5T_CSET_RESERVED_6: H5T_cset_t = 6;
pub const H5T_CSET_RESERVED_7: H5T_cset_t = 7;
pub const H5T_CSET_RESERVED_8: H5T_cset_t = 8;
pub const H5T_CSET_RESERVED_9: H5T_cset_t = 9;
pub const H5T_CSET_RESERVED_10: H5T_cset_t = 10;
pub const H5T_CSET_RESERVED_11: H5T_cset_t = 11;
pub const H5T_CSET_RESERVED_12: H5T_cset_t = 12;
pub const H5T_CSET_RESERVED_13: H5T_cset_t = 13;
pub const H5T_CSET_RESERVED_14: H5T_cset_t = 14;
pub const H5T_CSET_RESERVED_15: H5T_cset_t = 15;
pub type H5T_cset_t = c_int;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct H5A_info_t {
    pub corder_valid: hbool_t,
    pub corder: H5O_msg_crt_idx_t,
    pub cset: H5T_cset_t,
    pub data_size: hsize_t,
}
const _: () = {
    ["Size of H5A_info_t"][size_of::<H5A_info_t>() - 24usize];
    ["Alignment of H5A_info_t"][align_of::<H5A_info_t>() - 8usize];
    ["Offset of field: H5A_info_t::corder_valid"]
        [offset_of!(H5A_info_t, corder_valid) - 0usize];
    ["Offset of field: H5A_info_t::corder"][offset_of!(H5A_info_t, corder) - 4usize];
    ["Offset of field: H5A_info_t::cset"][offset_of!(H5A_info_t, cset) - 8usize];
    ["Offset of field: H5A_info_t::data_size"]
        [offset_of!(H5A_info_t, data_size) - 16usize];
};
pub type H5A_operator2_t = Option<
    unsafe extern "C" fn(
        location_id: hid_t,
        attr_name: *const c_char,
        ainfo: *const H5A_info_t,
        op_data: *mut c_void,
    ) -> herr_t,
>;
pub const H5D_LAYOUT_ERROR: H5D_layout_t = -1;
pub const H5D_COMPACT: H5D_layout_t = 0;
pub const H5D_CONTIGUOUS: H5D_layout_t = 1;
pub const H5D_CHUNKED: H5D_layout_t = 2;
pub const H5D_VIRTUAL: H5D_layout_t = 3;
pub const H5D_NLAYOUTS: H5D_layout_t = 4;
pub type H5D_layout_t = c_int;
pub const H5D_SPACE_STATUS_ERROR: H5D_space_status_t = -1;
pub const H5D_SPACE_STATUS_NOT_ALLOCATED: H5D_space_status_t = 0;
pub const H5D_SPACE_STATUS_PART_ALLOCATED: H5D_space_status_t = 1;
pub const H5D_SPACE_STATUS_ALLOCATED: H5D_space_status_t = 2;
pub type H5D_space_status_t = c_int;
pub const H5D_FILL_VALUE_ERROR: H5D_fill_value_t = -1;
pub const H5D_FILL_VALUE_UNDEFINED: H5D_fill_value_t = 0;
pub const H5D_FILL_VALUE_DEFAULT: H5D_fill_value_t = 1;
pub const H5D_FILL_VALUE_USER_DEFINED: H5D_fill_value_t = 2;
pub type H5D_fill_value_t = c_int;
pub const H5F_SCOPE_LOCAL: H5F_scope_t = 0;
pub const H5F_SCOPE_GLOBAL: H5F_scope_t = 1;
pub type H5F_scope_t = c_uint;
pub const H5L_TYPE_ERROR: H5L_type_t = -1;
pub const H5L_TYPE_HARD: H5L_type_t = 0;
pub const H5L_TYPE_SOFT: H5L_type_t = 1;
pub const H5L_TYPE_EXTERNAL: H5L_type_t = 64;
pub const H5L_TYPE_MAX: H5L_type_t = 255;
pub type H5L_type_t = c_int;
#[repr(C)]
#[derive(Copy, Clone)]
pub struct H5L_info2_t {
    pub type_: H5L_type_t,
    pub corder_valid: hbool_t,
    pub corder: i64,
    pub cset: H5T_cset_t,
    pub u: H5L_info2_t__bindgen_ty_1,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub union H5L_info2_t__bindgen_ty_1 {
    pub token: H5O_token_t,
    pub val_size: usize,
}
const _: () = {
    ["Size of H5L_info2_t__bindgen_ty_1"]
        [size_of::<H5L_info2_t__bindgen_ty_1>() - 16usize];
    ["Alignment of H5L_info2_t__bindgen_ty_1"]
        [align_of::<H5L_info2_t__bindgen_ty_1>() - 8usize];
    ["Offset of field: H5L_info2_t__bindgen_ty_1::token"]
        [offset_of!(H5L_info2_t__bindgen_ty_1, token) - 0usize];
    ["Offset of field: H5L_info2_t__bindgen_ty_1::val_size"]
        [offset_of!(H5L_info2_t__bindgen_ty_1, val_size) - 0usize];
};
const _: () = {
    ["Size of H5L_info2_t"][size_of::<H5L_info2_t>() - 40usize];
    ["Alignment of H5L_info2_t"][align_of::<H5L_info2_t>() - 8usize];
    ["Offset of field: H5L_info2_t::type_"][offset_of!(H5L_info2_t, type_) - 0usize];
    ["Offset of field: H5L_info2_t::corder_valid"]
        [offset_of!(H5L_info2_t, corder_valid) - 4usize];
    ["Offset of field: H5L_info2_t::corder"][offset_of!(H5L_info2_t, corder) - 8usize];
    ["Offset of field: H5L_info2_t::cset"][offset_of!(H5L_info2_t, cset) - 16usize];
    ["Offset of field: H5L_info2_t::u"][offset_of!(H5L_info2_t, u) - 24usize];
};
pub type H5L_iterate2_t = Option<
    unsafe extern "C" fn(
        group: hid_t,
        name: *const c_char,
        info: *const H5L_info2_t,
        op_data: *mut c_void,
    ) -> herr_t,
>;
pub const H5G_STORAGE_TYPE_UNKNOWN: H5G_storage_type_t = -1;
pub const H5G_STORAGE_TYPE_SYMBOL_TABLE: H5G_storage_type_t = 0;
pub const H5G_STORAGE_TYPE_COMPACT: H5G_storage_type_t = 1;
pub const H5G_STORAGE_TYPE_DENSE: H5G_storage_type_t = 2;
pub type H5G_storage_type_t = c_int;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct H5G_info_t {
    pub storage_type: H5G_storage_type_t,
    pub nlinks: hsize_t,
    pub max_corder: i64,
    pub mounted: hbool_t,
}
const _: () = {
    ["Size of H5G_info_t"][size_of::<H5G_info_t>() - 32usize];
    ["Alignment of H5G_info_t"][align_of::<H5G_info_t>() - 8usize];
    ["Offset of field: H5G_info_t::storage_type"]
        [offset_of!(H5G_info_t, storage_type) - 0usize];
    ["Offset of field: H5G_info_t::nlinks"][offset_of!(H5G_info_t, nlinks) - 8usize];
    ["Offset of field: H5G_info_t::max_corder"]
        [offset_of!(H5G_info_t, max_corder) - 16usize];
    ["Offset of field: H5G_info_t::mounted"][offset_of!(H5G_info_t, mounted) - 24usize];
};
pub type H5VL_class_value_t = c_int;
pub const H5VL_SUBCLS_NONE: H5VL_subclass_t = 0;
pub const H5VL_SUBCLS_INFO: H5VL_subclass_t = 1;
pub const H5VL_SUBCLS_WRAP: H5VL_subclass_t = 2;
pub const H5VL_SUBCLS_ATTR: H5VL_subclass_t = 3;
pub const H5VL_SUBCLS_DATASET: H5VL_subclass_t = 4;
pub const H5VL_SUBCLS_DATATYPE: H5VL_subclass_t = 5;
pub const H5VL_SUBCLS_FILE: H5VL_subclass_t = 6;
pub const H5VL_SUBCLS_GROUP: H5VL_subclass_t = 7;
pub const H5VL_SUBCLS_LINK: H5VL_subclass_t = 8;
pub const H5VL_SUBCLS_OBJECT: H5VL_subclass_t = 9;
pub const H5VL_SUBCLS_REQUEST: H5VL_subclass_t = 10;
pub const H5VL_SUBCLS_BLOB: H5VL_subclass_t = 11;
pub const H5VL_SUBCLS_TOKEN: H5VL_subclass_t = 12;
pub type H5VL_subclass_t = c_uint;
pub const H5VL_OBJECT_BY_SELF: H5VL_loc_type_t = 0;
pub const H5VL_OBJECT_BY_NAME: H5VL_loc_type_t = 1;
pub const H5VL_OBJECT_BY_IDX: H5VL_loc_type_t = 2;
pub const H5VL_OBJECT_BY_TOKEN: H5VL_loc_type_t = 3;
pub type H5VL_loc_type_t = c_uint;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct H5VL_loc_by_name {
    pub name: *const c_char,
    pub lapl_id: hid_t,
}
const _: () = {
    ["Size of H5VL_loc_by_name"][size_of::<H5VL_loc_by_name>() - 16usize];
    ["Alignment of H5VL_loc_by_name"][align_of::<H5VL_loc_by_name>() - 8usize];
    ["Offset of field: H5VL_loc_by_name::name"]
        [offset_of!(H5VL_loc_by_name, name) - 0usize];
    ["Offset of field: H5VL_loc_by_name::lapl_id"]
        [offset_of!(H5VL_loc_by_name, lapl_id) - 8usize];
};
pub type H5VL_loc_by_name_t = H5VL_loc_by_name;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct H5VL_loc_by_idx {
    pub name: *const c_char,
    pub idx_type: H5_index_t,
    pub order: H5_iter_order_t,
    pub n: hsize_t,
    pub lapl_id: hid_t,
}
const _: () = {
    ["Size of H5VL_loc_by_idx"][size_of::<H5VL_loc_by_idx>() - 32usize];
    ["Alignment of H5VL_loc_by_idx"][align_of::<H5VL_loc_by_idx>() - 8usize];
    ["Offset of field: H5VL_loc_by_idx::name"]
        [offset_of!(H5VL_loc_by_idx, name) - 0usize];
    ["Offset of field: H5VL_loc_by_idx::idx_type"]
        [offset_of!(H5VL_loc_by_idx, idx_type) - 8usize];
    ["Offset of field: H5VL_loc_by_idx::order"]
        [offset_of!(H5VL_loc_by_idx, order) - 12usize];
    ["Offset of field: H5VL_loc_by_idx::n"][offset_of!(H5VL_loc_by_idx, n) - 16usize];
    ["Offset of field: H5VL_loc_by_idx::lapl_id"]
        [offset_of!(H5VL_loc_by_idx, lapl_id) - 24usize];
};
pub type H5VL_loc_by_idx_t = H5VL_loc_by_idx;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct H5VL_loc_by_token {
    pub token: *mut H5O_token_t,
}
const _: () = {
    ["Size of H5VL_loc_by_token"][size_of::<H5VL_loc_by_token>() - 8usize];
    ["Alignment of H5VL_loc_by_token"][align_of::<H5VL_loc_by_token>() - 8usize];
    ["Offset of field: H5VL_loc_by_token::token"]
        [offset_of!(H5VL_loc_by_token, token) - 0usize];
};
pub type H5VL_loc_by_token_t = H5VL_loc_by_token;
#[repr(C)]
#[derive(Copy, Clone)]
pub struct H5VL_loc_params_t {
    pub obj_type: H5I_type_t,
    pub type_: H5VL_loc_type_t,
    pub loc_data: H5VL_loc_params_t__bindgen_ty_1,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub union H5VL_loc_params_t__bindgen_ty_1 {
    pub loc_by_token: H5VL_loc_by_token_t,
    pub loc_by_name: H5VL_loc_by_name_t,
    pub loc_by_idx: H5VL_loc_by_idx_t,
}
const _: () = {
    ["Size of H5VL_loc_params_t__bindgen_ty_1"]
        [size_of::<H5VL_loc_params_t__bindgen_ty_1>() - 32usize];
    ["Alignment of H5VL_loc_params_t__bindgen_ty_1"]
        [align_of::<H5VL_loc_params_t__bindgen_ty_1>() - 8usize];
    ["Offset of field: H5VL_loc_params_t__bindgen_ty_1::loc_by_token"]
        [offset_of!(H5VL_loc_params_t__bindgen_ty_1, loc_by_token) - 0usize];
    ["Offset of field: H5VL_loc_params_t__bindgen_ty_1::loc_by_name"]
        [offset_of!(H5VL_loc_params_t__bindgen_ty_1, loc_by_name) - 0usize];
    ["Offset of field: H5VL_loc_params_t__bindgen_ty_1::loc_by_idx"]
        [offset_of!(H5VL_loc_params_t__bindgen_ty_1, loc_by_idx) - 0usize];
};
const _: () = {
    ["Size of H5VL_loc_params_t"][size_of::<H5VL_loc_params_t>() - 40usize];
    ["Alignment of H5VL_loc_params_t"][align_of::<H5VL_loc_params_t>() - 8usize];
    ["Offset of field: H5VL_loc_params_t::obj_type"]
        [offset_of!(H5VL_loc_params_t, obj_type) - 0usize];
    ["Offset of field: H5VL_loc_params_t::type_"]
        [offset_of!(H5VL_loc_params_t, type_) - 4usize];
    ["Offset of field: H5VL_loc_params_t::loc_data"]
        [offset_of!(H5VL_loc_params_t, loc_data) - 8usize];
};
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct H5VL_optional_args_t {
    pub op_type: c_int,
    pub args: *mut c_void,
}
const _: () = {
    ["Size of H5VL_optional_args_t"][size_of::<H5VL_optional_args_t>() - 16usize];
    ["Alignment of H5VL_optional_args_t"][align_of::<H5VL_optional_args_t>() - 8usize];
    ["Offset of field: H5VL_optional_args_t::op_type"]
        [offset_of!(H5VL_optional_args_t, op_type) - 0usize];
    ["Offset of field: H5VL_optional_args_t::args"]
        [offset_of!(H5VL_optional_args_t, args) - 8usize];
};
pub const H5VL_ATTR_GET_ACPL: H5VL_attr_get_t = 0;
pub const H5VL_ATTR_GET_INFO: H5VL_attr_get_t = 1;
pub const H5VL_ATTR_GET_NAME: H5VL_attr_get_t = 2;
pub const H5VL_ATTR_GET_SPACE: H5VL_attr_get_t = 3;
pub const H5VL_ATTR_GET_STORAGE_SIZE: H5VL_attr_get_t = 4;
pub const H5VL_ATTR_GET_TYPE: H5VL_attr_get_t = 5;
pub type H5VL_attr_get_t = c_uint;
#[repr(C)]
#[derive(Copy, Clone)]
pub struct H5VL_attr_get_name_args_t {
    pub loc_params: H5VL_loc_params_t,
    pub buf_size: usize,
    pub buf: *mut c_char,
    pub attr_name_len: *mut usize,
}
const _: () = {
    ["Size of H5VL_attr_get_name_args_t"]
        [size_of::<H5VL_attr_get_name_args_t>() - 64usize];
    ["Alignment of H5VL_attr_get_name_args_t"]
        [align_of::<H5VL_attr_get_name_args_t>() - 8usize];
    ["Offset of field: H5VL_attr_get_name_args_t::loc_params"]
        [offset_of!(H5VL_attr_get_name_args_t, loc_params) - 0usize];
    ["Offset of field: H5VL_attr_get_name_args_t::buf_size"]
        [offset_of!(H5VL_attr_get_name_args_t, buf_size) - 40usize];
    ["Offset of field: H5VL_attr_get_name_args_t::buf"]
        [offset_of!(H5VL_attr_get_name_args_t, buf) - 48usize];
    ["Offset of field: H5VL_attr_get_name_args_t::attr_name_len"]
        [offset_of!(H5VL_attr_get_name_args_t, attr_name_len) - 56usize];
};
#[repr(C)]
#[derive(Copy, Clone)]
pub struct H5VL_attr_get_info_args_t {
    pub loc_params: H5VL_loc_params_t,
    pub attr_name: *const c_char,
    pub ainfo: *mut H5A_info_t,
}
const _: () = {
    ["Size of H5VL_attr_get_info_args_t"]
        [size_of::<H5VL_attr_get_info_args_t>() - 56usize];
    ["Alignment of H5VL_attr_get_info_args_t"]
        [align_of::<H5VL_attr_get_info_args_t>() - 8usize];
    ["Offset of field: H5VL_attr_get_info_args_t::loc_params"]
        [offset_of!(H5VL_attr_get_info_args_t, loc_params) - 0usize];
    ["Offset of field: H5VL_attr_get_info_args_t::attr_name"]
        [offset_of!(H5VL_attr_get_info_args_t, attr_name) - 40usize];
    ["Offset of field: H5VL_attr_get_info_args_t::ainfo"]
        [offset_of!(H5VL_attr_get_info_args_t, ainfo) - 48usize];
};
#[repr(C)]
#[derive(Copy, Clone)]
pub struct H5VL_attr_get_args_t {
    pub op_type: H5VL_attr_get_t,
    pub args: H5VL_attr_get_args_t__bindgen_ty_1,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub union H5VL_attr_get_args_t__bindgen_ty_1 {
    pub get_acpl: H5VL_attr_get_args_t__bindgen_ty_1__bindgen_ty_1,
    pub get_info: H5VL_attr_get_info_args_t,
    pub get_name: H5VL_attr_get_name_args_t,
    pub get_space: H5VL_attr_get_args_t__bindgen_ty_1__bindgen_ty_2,
    pub get_storage_size: H5VL_attr_get_args_t__bindgen_ty_1__bindgen_ty_3,
    pub get_type: H5VL_attr_get_args_t__bindgen_ty_1__bindgen_ty_4,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct H5VL_attr_get_args_t__bindgen_ty_1__bindgen_ty_1 {
    pub acpl_id: hid_t,
}
const _: () = {
    ["Size of H5VL_attr_get_args_t__bindgen_ty_1__bindgen_ty_1"]
        [size_of::<H5VL_attr_get_args_t__bindgen_ty_1__bindgen_ty_1>() - 8usize];
    ["Alignment of H5VL_attr_get_args_t__bindgen_ty_1__bindgen_ty_1"]
        [align_of::<H5VL_attr_get_args_t__bindgen_ty_1__bindgen_ty_1>() - 8usize];
    ["Offset of field: H5VL_attr_get_args_t__bindgen_ty_1__bindgen_ty_1::acpl_id"][offset_of!(
        H5VL_attr_get_args_t__bindgen_ty_1__bindgen_ty_1,
        acpl_id
    ) - 0usize];
};
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct H5VL_attr_get_args_t__bindgen_ty_1__bindgen_ty_2 {
    pub space_id: hid_t,
}
const _: () = {
    ["Size of H5VL_attr_get_args_t__bindgen_ty_1__bindgen_ty_2"]
        [size_of::<H5VL_attr_get_args_t__bindgen_ty_1__bindgen_ty_2>() - 8usize];
    ["Alignment of H5VL_attr_get_args_t__bindgen_ty_1__bindgen_ty_2"]
        [align_of::<H5VL_attr_get_args_t__bindgen_ty_1__bindgen_ty_2>() - 8usize];
    ["Offset of field: H5VL_attr_get_args_t__bindgen_ty_1__bindgen_ty_2::space_id"][offset_of!(
        H5VL_attr_get_args_t__bindgen_ty_1__bindgen_ty_2,
        space_id
    ) - 0usize];
};
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct H5VL_attr_get_args_t__bindgen_ty_1__bindgen_ty_3 {
    pub data_size: *mut hsize_t,
}
const _: () = {
    ["Size of H5VL_attr_get_args_t__bindgen_ty_1__bindgen_ty_3"]
        [size_of::<H5VL_attr_get_args_t__bindgen_ty_1__bindgen_ty_3>() - 8usize];
    ["Alignment of H5VL_attr_get_args_t__bindgen_ty_1__bindgen_ty_3"]
        [align_of::<H5VL_attr_get_args_t__bindgen_ty_1__bindgen_ty_3>() - 8usize];
    ["Offset of field: H5VL_attr_get_args_t__bindgen_ty_1__bindgen_ty_3::data_size"][offset_of!(
        H5VL_attr_get_args_t__bindgen_ty_1__bindgen_ty_3,
        data_size
    ) - 0usize];
};
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct H5VL_attr_get_args_t__bindgen_ty_1__bindgen_ty_4 {
    pub type_id: hid_t,
}
const _: () = {
    ["Size of H5VL_attr_get_args_t__bindgen_ty_1__bindgen_ty_4"]
        [size_of::<H5VL_attr_get_args_t__bindgen_ty_1__bindgen_ty_4>() - 8usize];
    ["Alignment of H5VL_attr_get_args_t__bindgen_ty_1__bindgen_ty_4"]
        [align_of::<H5VL_attr_get_args_t__bindgen_ty_1__bindgen_ty_4>() - 8usize];
    ["Offset of field: H5VL_attr_get_args_t__bindgen_ty_1__bindgen_ty_4::type_id"][offset_of!(
        H5VL_attr_get_args_t__bindgen_ty_1__bindgen_ty_4,
        type_id
    ) - 0usize];
};
const _: () = {
    ["Size of H5VL_attr_get_args_t__bindgen_ty_1"]
        [size_of::<H5VL_attr_get_args_t__bindgen_ty_1>() - 64usize];
    ["Alignment of H5VL_attr_get_args_t__bindgen_ty_1"]
        [align_of::<H5VL_attr_get_args_t__bindgen_ty_1>() - 8usize];
    ["Offset of field: H5VL_attr_get_args_t__bindgen_ty_1::get_acpl"]
        [offset_of!(H5VL_attr_get_args_t__bindgen_ty_1, get_acpl) - 0usize];
    ["Offset of field: H5VL_attr_get_args_t__bindgen_ty_1::get_info"]
        [offset_of!(H5VL_attr_get_args_t__bindgen_ty_1, get_info) - 0usize];
    ["Offset of field: H5VL_attr_get_args_t__bindgen_ty_1::get_name"]
        [offset_of!(H5VL_attr_get_args_t__bindgen_ty_1, get_name) - 0usize];
    ["Offset of field: H5VL_attr_get_args_t__bindgen_ty_1::get_space"]
        [offset_of!(H5VL_attr_get_args_t__bindgen_ty_1, get_space) - 0usize];
    ["Offset of field: H5VL_attr_get_args_t__bindgen_ty_1::get_storage_size"]
        [offset_of!(H5VL_attr_get_args_t__bindgen_ty_1, get_storage_size) - 0usize];
    ["Offset of field: H5VL_attr_get_args_t__bindgen_ty_1::get_type"]
        [offset_of!(H5VL_attr_get_args_t__bindgen_ty_1, get_type) - 0usize];
};
const _: () = {
    ["Size of H5VL_attr_get_args_t"][size_of::<H5VL_attr_get_args_t>() - 72usize];
    ["Alignment of H5VL_attr_get_args_t"][align_of::<H5VL_attr_get_args_t>() - 8usize];
    ["Offset of field: H5VL_attr_get_args_t::op_type"]
        [offset_of!(H5VL_attr_get_args_t, op_type) - 0usize];
    ["Offset of field: H5VL_attr_get_args_t::args"]
        [offset_of!(H5VL_attr_get_args_t, args) - 8usize];
};
pub const H5VL_ATTR_DELETE: H5VL_attr_specific_t = 0;
pub const H5VL_ATTR_DELETE_BY_IDX: H5VL_attr_specific_t = 1;
pub const H5VL_ATTR_EXISTS: H5VL_attr_specific_t = 2;
pub const H5VL_ATTR_ITER: H5VL_attr_specific_t = 3;
pub const H5VL_ATTR_RENAME: H5VL_attr_specific_t = 4;
pub type H5VL_attr_specific_t = c_uint;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct H5VL_attr_iterate_args_t {
    pub idx_type: H5_index_t,
    pub order: H5_iter_order_t,
    pub idx: *mut hsize_t,
    pub op: H5A_operator2_t,
    pub op_data: *mut c_void,
}
const _: () = {
    ["Size of H5VL_attr_iterate_args_t"]
        [size_of::<H5VL_attr_iterate_args_t>() - 32usize];
    ["Alignment of H5VL_attr_iterate_args_t"]
        [align_of::<H5VL_attr_iterate_args_t>() - 8usize];
    ["Offset of field: H5VL_attr_iterate_args_t::idx_type"]
        [offset_of!(H5VL_attr_iterate_args_t, idx_type) - 0usize];
    ["Offset of field: H5VL_attr_iterate_args_t::order"]
        [offset_of!(H5VL_attr_iterate_args_t, order) - 4usize];
    ["Offset of field: H5VL_attr_iterate_args_t::idx"]
        [offset_of!(H5VL_attr_iterate_args_t, idx) - 8usize];
    ["Offset of field: H5VL_attr_iterate_args_t::op"]
        [offset_of!(H5VL_attr_iterate_args_t, op) - 16usize];
    ["Offset of field: H5VL_attr_iterate_args_t::op_data"]
        [offset_of!(H5VL_attr_iterate_args_t, op_data) - 24usize];
};
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct H5VL_attr_delete_by_idx_args_t {
    pub idx_type: H5_index_t,
    pub order: H5_iter_order_t,
    pub n: hsize_t,
}
const _: () = {
    ["Size of H5VL_attr_delete_by_idx_args_t"]
        [size_of::<H5VL_attr_delete_by_idx_args_t>() - 16usize];
    ["Alignment of H5VL_attr_delete_by_idx_args_t"]
        [align_of::<H5VL_attr_delete_by_idx_args_t>() - 8usize];
    ["Offset of field: H5VL_attr_delete_by_idx_args_t::idx_type"]
        [offset_of!(H5VL_attr_delete_by_idx_args_t, idx_type) - 0usize];
    ["Offset of field: H5VL_attr_delete_by_idx_args_t::order"]
        [offset_of!(H5VL_attr_delete_by_idx_args_t, order) - 4usize];
    ["Offset of field: H5VL_attr_delete_by_idx_args_t::n"]
        [offset_of!(H5VL_attr_delete_by_idx_args_t, n) - 8usize];
};
#[repr(C)]
#[derive(Copy, Clone)]
pub struct H5VL_attr_specific_args_t {
    pub op_type: H5VL_attr_specific_t,
    pub args: H5VL_attr_specific_args_t__bindgen_ty_1,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub union H5VL_attr_specific_args_t__bindgen_ty_1 {
    pub del: H5VL_attr_specific_args_t__bindgen_ty_1__bindgen_ty_1,
    pub delete_by_idx: H5VL_attr_delete_by_idx_args_t,
    pub exists: H5VL_attr_specific_args_t__bindgen_ty_1__bindgen_ty_2,
    pub iterate: H5VL_attr_iterate_args_t,
    pub rename: H5VL_attr_specific_args_t__bindgen_ty_1__bindgen_ty_3,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct H5VL_attr_specific_args_t__bindgen_ty_1__bindgen_ty_1 {
    pub name: *const c_char,
}
const _: () = {
    ["Size of H5VL_attr_specific_args_t__bindgen_ty_1__bindgen_ty_1"]
        [size_of::<H5VL_attr_specific_args_t__bindgen_ty_1__bindgen_ty_1>() - 8usize];
    ["Alignment of H5VL_attr_specific_args_t__bindgen_ty_1__bindgen_ty_1"]
        [align_of::<H5VL_attr_specific_args_t__bindgen_ty_1__bindgen_ty_1>() - 8usize];
    ["Offset of field: H5VL_attr_specific_args_t__bindgen_ty_1__bindgen_ty_1::name"][offset_of!(
        H5VL_attr_specific_args_t__bindgen_ty_1__bindgen_ty_1,
        name
    ) - 0usize];
};
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct H5VL_attr_specific_args_t__bindgen_ty_1__bindgen_ty_2 {
    pub name: *const c_char,
    pub exists: *mut hbool_t,
}
const _: () = {
    ["Size of H5VL_attr_specific_args_t__bindgen_ty_1__bindgen_ty_2"]
        [size_of::<H5VL_attr_specific_args_t__bindgen_ty_1__bindgen_ty_2>() - 16usize];
    ["Alignment of H5VL_attr_specific_args_t__bindgen_ty_1__bindgen_ty_2"]
        [align_of::<H5VL_attr_specific_args_t__bindgen_ty_1__bindgen_ty_2>() - 8usize];
    ["Offset of field: H5VL_attr_specific_args_t__bindgen_ty_1__bindgen_ty_2::name"][offset_of!(
        H5VL_attr_specific_args_t__bindgen_ty_1__bindgen_ty_2,
        name
    ) - 0usize];
    ["Offset of field: H5VL_attr_specific_args_t__bindgen_ty_1__bindgen_ty_2::exists"][offset_of!(
        H5VL_attr_specific_args_t__bindgen_ty_1__bindgen_ty_2,
        exists
    ) - 8usize];
};
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct H5VL_attr_specific_args_t__bindgen_ty_1__bindgen_ty_3 {
    pub old_name: *const c_char,
    pub new_name: *const c_char,
}
const _: () = {
    ["Size of H5VL_attr_specific_args_t__bindgen_ty_1__bindgen_ty_3"]
        [size_of::<H5VL_attr_specific_args_t__bindgen_ty_1__bindgen_ty_3>() - 16usize];
    ["Alignment of H5VL_attr_specific_args_t__bindgen_ty_1__bindgen_ty_3"]
        [align_of::<H5VL_attr_specific_args_t__bindgen_ty_1__bindgen_ty_3>() - 8usize];
    ["Offset of field: H5VL_attr_specific_args_t__bindgen_ty_1__bindgen_ty_3::old_name"][offset_of!(
        H5VL_attr_specific_args_t__bindgen_ty_1__bindgen_ty_3,
        old_name
    )
        - 0usize];
    ["Offset of field: H5VL_attr_specific_args_t__bindgen_ty_1__bindgen_ty_3::new_name"][offset_of!(
        H5VL_attr_specific_args_t__bindgen_ty_1__bindgen_ty_3,
        new_name
    )
        - 8usize];
};
const _: () = {
    ["Size of H5VL_attr_specific_args_t__bindgen_ty_1"]
        [size_of::<H5VL_attr_specific_args_t__bindgen_ty_1>() - 32usize];
    ["Alignment of H5VL_attr_specific_args_t__bindgen_ty_1"]
        [align_of::<H5VL_attr_specific_args_t__bindgen_ty_1>() - 8usize];
    ["Offset of field: H5VL_attr_specific_args_t__bindgen_ty_1::del"]
        [offset_of!(H5VL_attr_specific_args_t__bindgen_ty_1, del) - 0usize];
    ["Offset of field: H5VL_attr_specific_args_t__bindgen_ty_1::delete_by_idx"]
        [offset_of!(H5VL_attr_specific_args_t__bindgen_ty_1, delete_by_idx) - 0usize];
    ["Offset of field: H5VL_attr_specific_args_t__bindgen_ty_1::exists"]
        [offset_of!(H5VL_attr_specific_args_t__bindgen_ty_1, exists) - 0usize];
    ["Offset of field: H5VL_attr_specific_args_t__bindgen_ty_1::iterate"]
        [offset_of!(H5VL_attr_specific_args_t__bindgen_ty_1, iterate) - 0usize];
    ["Offset of field: H5VL_attr_specific_args_t__bindgen_ty_1::rename"]
        [offset_of!(H5VL_attr_specific_args_t__bindgen_ty_1, rename) - 0usize];
};
const _: () = {
    ["Size of H5VL_attr_specific_args_t"]
        [size_of::<H5VL_attr_specific_args_t>() - 40usize];
    ["Alignment of H5VL_attr_specific_args_t"]
        [align_of::<H5VL_attr_specific_args_t>() - 8usize];
    ["Offset of field: H5VL_attr_specific_args_t::op_type"]
        [offset_of!(H5VL_attr_specific_args_t, op_type) - 0usize];
    ["Offset of field: H5VL_attr_specific_args_t::args"]
        [offset_of!(H5VL_attr_specific_args_t, args) - 8usize];
};
pub const H5VL_DATASET_GET_DAPL: H5VL_dataset_get_t = 0;
pub const H5VL_DATASET_GET_DCPL: H5VL_dataset_get_t = 1;
pub const H5VL_DATASET_GET_SPACE: H5VL_dataset_get_t = 2;
pub const H5VL_DATASET_GET_SPACE_STATUS: H5VL_dataset_get_t = 3;
pub const H5VL_DATASET_GET_STORAGE_SIZE: H5VL_dataset_get_t = 4;
pub const H5VL_DATASET_GET_TYPE: H5VL_dataset_get_t = 5;
pub type H5VL_dataset_get_t = c_uint;
#[repr(C)]
#[derive(Copy, Clone)]
pub struct H5VL_dataset_get_args_t {
    pub op_type: H5VL_dataset_get_t,
    pub args: H5VL_dataset_get_args_t__bindgen_ty_1,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub union H5VL_dataset_get_args_t__bindgen_ty_1 {
    pub get_dapl: H5VL_dataset_get_args_t__bindgen_ty_1__bindgen_ty_1,
    pub get_dcpl: H5VL_dataset_get_args_t__bindgen_ty_1__bindgen_ty_2,
    pub get_space: H5VL_dataset_get_args_t__bindgen_ty_1__bindgen_ty_3,
    pub get_space_status: H5VL_dataset_get_args_t__bindgen_ty_1__bindgen_ty_4,
    pub get_storage_size: H5VL_dataset_get_args_t__bindgen_ty_1__bindgen_ty_5,
    pub get_type: H5VL_dataset_get_args_t__bindgen_ty_1__bindgen_ty_6,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct H5VL_dataset_get_args_t__bindgen_ty_1__bindgen_ty_1 {
    pub dapl_id: hid_t,
}
const _: () = {
    ["Size of H5VL_dataset_get_args_t__bindgen_ty_1__bindgen_ty_1"]
        [size_of::<H5VL_dataset_get_args_t__bindgen_ty_1__bindgen_ty_1>() - 8usize];
    ["Alignment of H5VL_dataset_get_args_t__bindgen_ty_1__bindgen_ty_1"]
        [align_of::<H5VL_dataset_get_args_t__bindgen_ty_1__bindgen_ty_1>() - 8usize];
    ["Offset of field: H5VL_dataset_get_args_t__bindgen_ty_1__bindgen_ty_1::dapl_id"][offset_of!(
        H5VL_dataset_get_args_t__bindgen_ty_1__bindgen_ty_1,
        dapl_id
    ) - 0usize];
};
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct H5VL_dataset_get_args_t__bindgen_ty_1__bindgen_ty_2 {
    pub dcpl_id: hid_t,
}
const _: () = {
    ["Size of H5VL_dataset_get_args_t__bindgen_ty_1__bindgen_ty_2"]
        [size_of::<H5VL_dataset_get_args_t__bindgen_ty_1__bindgen_ty_2>() - 8usize];
    ["Alignment of H5VL_dataset_get_args_t__bindgen_ty_1__bindgen_ty_2"]
        [align_of::<H5VL_dataset_get_args_t__bindgen_ty_1__bindgen_ty_2>() - 8usize];
    ["Offset of field: H5VL_dataset_get_args_t__bindgen_ty_1__bindgen_ty_2::dcpl_id"][offset_of!(
        H5VL_dataset_get_args_t__bindgen_ty_1__bindgen_ty_2,
        dcpl_id
    ) - 0usize];
};
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct H5VL_dataset_get_args_t__bindgen_ty_1__bindgen_ty_3 {
    pub space_id: hid_t,
}
const _: () = {
    ["Size of H5VL_dataset_get_args_t__bindgen_ty_1__bindgen_ty_3"]
        [size_of::<H5VL_dataset_get_args_t__bindgen_ty_1__bindgen_ty_3>() - 8usize];
    ["Alignment of H5VL_dataset_get_args_t__bindgen_ty_1__bindgen_ty_3"]
        [align_of::<H5VL_dataset_get_args_t__bindgen_ty_1__bindgen_ty_3>() - 8usize];
    ["Offset of field: H5VL_dataset_get_args_t__bindgen_ty_1__bindgen_ty_3::space_id"][offset_of!(
        H5VL_dataset_get_args_t__bindgen_ty_1__bindgen_ty_3,
        space_id
    ) - 0usize];
};
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct H5VL_dataset_get_args_t__bindgen_ty_1__bindgen_ty_4 {
    pub status: *mut H5D_space_status_t,
}
const _: () = {
    ["Size of H5VL_dataset_get_args_t__bindgen_ty_1__bindgen_ty_4"]
        [size_of::<H5VL_dataset_get_args_t__bindgen_ty_1__bindgen_ty_4>() - 8usize];
    ["Alignment of H5VL_dataset_get_args_t__bindgen_ty_1__bindgen_ty_4"]
        [align_of::<H5VL_dataset_get_args_t__bindgen_ty_1__bindgen_ty_4>() - 8usize];
    ["Offset of field: H5VL_dataset_get_args_t__bindgen_ty_1__bindgen_ty_4::status"][offset_of!(
        H5VL_dataset_get_args_t__bindgen_ty_1__bindgen_ty_4,
        status
    ) - 0usize];
};
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct H5VL_dataset_get_args_t__bindgen_ty_1__bindgen_ty_5 {
    pub storage_size: *mut hsize_t,
}
const _: () = {
    ["Size of H5VL_dataset_get_args_t__bindgen_ty_1__bindgen_ty_5"]
        [size_of::<H5VL_dataset_get_args_t__bindgen_ty_1__bindgen_ty_5>() - 8usize];
    ["Alignment of H5VL_dataset_get_args_t__bindgen_ty_1__bindgen_ty_5"]
        [align_of::<H5VL_dataset_get_args_t__bindgen_ty_1__bindgen_ty_5>() - 8usize];
    ["Offset of field: H5VL_dataset_get_args_t__bindgen_ty_1__bindgen_ty_5::storage_size"][offset_of!(
        H5VL_dataset_get_args_t__bindgen_ty_1__bindgen_ty_5,
        storage_size
    )
        - 0usize];
};
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct H5VL_dataset_get_args_t__bindgen_ty_1__bindgen_ty_6 {
    pub type_id: hid_t,
}
const _: () = {
    ["Size of H5VL_dataset_get_args_t__bindgen_ty_1__bindgen_ty_6"]
        [size_of::<H5VL_dataset_get_args_t__bindgen_ty_1__bindgen_ty_6>() - 8usize];
    ["Alignment of H5VL_dataset_get_args_t__bindgen_ty_1__bindgen_ty_6"]
        [align_of::<H5VL_dataset_get_args_t__bindgen_ty_1__bindgen_ty_6>() - 8usize];
    ["Offset of field: H5VL_dataset_get_args_t__bindgen_ty_1__bindgen_ty_6::type_id"][offset_of!(
        H5VL_dataset_get_args_t__bindgen_ty_1__bindgen_ty_6,
        type_id
    ) - 0usize];
};
const _: () = {
    ["Size of H5VL_dataset_get_args_t__bindgen_ty_1"]
        [size_of::<H5VL_dataset_get_args_t__bindgen_ty_1>() - 8usize];
    ["Alignment of H5VL_dataset_get_args_t__bindgen_ty_1"]
        [align_of::<H5VL_dataset_get_args_t__bindgen_ty_1>() - 8usize];
    ["Offset of field: H5VL_dataset_get_args_t__bindgen_ty_1::get_dapl"]
        [offset_of!(H5VL_dataset_get_args_t__bindgen_ty_1, get_dapl) - 0usize];
    ["Offset of field: H5VL_dataset_get_args_t__bindgen_ty_1::get_dcpl"]
        [offset_of!(H5VL_dataset_get_args_t__bindgen_ty_1, get_dcpl) - 0usize];
    ["Offset of field: H5VL_dataset_get_args_t__bindgen_ty_1::get_space"]
        [offset_of!(H5VL_dataset_get_args_t__bindgen_ty_1, get_space) - 0usize];
    ["Offset of field: H5VL_dataset_get_args_t__bindgen_ty_1::get_space_status"]
        [offset_of!(H5VL_dataset_get_args_t__bindgen_ty_1, get_space_status) - 0usize];
    ["Offset of field: H5VL_dataset_get_args_t__bindgen_ty_1::get_storage_size"]
        [offset_of!(H5VL_dataset_get_args_t__bindgen_ty_1, get_storage_size) - 0usize];
    ["Offset of field: H5VL_dataset_get_args_t__bindgen_ty_1::get_type"]
        [offset_of!(H5VL_dataset_get_args_t__bindgen_ty_1, get_type) - 0usize];
};
const _: () = {
    ["Size of H5VL_dataset_get_args_t"][size_of::<H5VL_dataset_get_args_t>() - 16usize];
    ["Alignment of H5VL_dataset_get_args_t"]
        [align_of::<H5VL_dataset_get_args_t>() - 8usize];
    ["Offset of field: H5VL_dataset_get_args_t::op_type"]
        [offset_of!(H5VL_dataset_get_args_t, op_type) - 0usize];
    ["Offset of field: H5VL_dataset_get_args_t::args"]
        [offset_of!(H5VL_dataset_get_args_t, args) - 8usize];
};
pub const H5VL_DATASET_SET_EXTENT: H5VL_dataset_specific_t = 0;
pub const H5VL_DATASET_FLUSH: H5VL_dataset_specific_t = 1;
pub const H5VL_DATASET_REFRESH: H5VL_dataset_specific_t = 2;
pub type H5VL_dataset_specific_t = c_uint;
#[repr(C)]
#[derive(Copy, Clone)]
pub struct H5VL_dataset_specific_args_t {
    pub op_type: H5VL_dataset_specific_t,
    pub args: H5VL_dataset_specific_args_t__bindgen_ty_1,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub union H5VL_dataset_specific_args_t__bindgen_ty_1 {
    pub set_extent: H5VL_dataset_specific_args_t__bindgen_ty_1__bindgen_ty_1,
    pub flush: H5VL_dataset_specific_args_t__bindgen_ty_1__bindgen_ty_2,
    pub refresh: H5VL_dataset_specific_args_t__bindgen_ty_1__bindgen_ty_3,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct H5VL_dataset_specific_args_t__bindgen_ty_1__bindgen_ty_1 {
    pub size: *const hsize_t,
}
const _: () = {
    ["Size of H5VL_dataset_specific_args_t__bindgen_ty_1__bindgen_ty_1"][size_of::<
        H5VL_dataset_specific_args_t__bindgen_ty_1__bindgen_ty_1,
    >() - 8usize];
    ["Alignment of H5VL_dataset_specific_args_t__bindgen_ty_1__bindgen_ty_1"][align_of::<
        H5VL_dataset_specific_args_t__bindgen_ty_1__bindgen_ty_1,
    >() - 8usize];
    ["Offset of field: H5VL_dataset_specific_args_t__bindgen_ty_1__bindgen_ty_1::size"][offset_of!(
        H5VL_dataset_specific_args_t__bindgen_ty_1__bindgen_ty_1,
        size
    ) - 0usize];
};
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct H5VL_dataset_specific_args_t__bindgen_ty_1__bindgen_ty_2 {
    pub dset_id: hid_t,
}
const _: () = {
    ["Size of H5VL_dataset_specific_args_t__bindgen_ty_1__bindgen_ty_2"][size_of::<
        H5VL_dataset_specific_args_t__bindgen_ty_1__bindgen_ty_2,
    >() - 8usize];
    ["Alignment of H5VL_dataset_specific_args_t__bindgen_ty_1__bindgen_ty_2"][align_of::<
        H5VL_dataset_specific_args_t__bindgen_ty_1__bindgen_ty_2,
    >() - 8usize];
    ["Offset of field: H5VL_dataset_specific_args_t__bindgen_ty_1__bindgen_ty_2::dset_id"][offset_of!(
        H5VL_dataset_specific_args_t__bindgen_ty_1__bindgen_ty_2,
        dset_id
    )
        - 0usize];
};
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct H5VL_dataset_specific_args_t__bindgen_ty_1__bindgen_ty_3 {
    pub dset_id: hid_t,
}
const _: () = {
    ["Size of H5VL_dataset_specific_args_t__bindgen_ty_1__bindgen_ty_3"][size_of::<
        H5VL_dataset_specific_args_t__bindgen_ty_1__bindgen_ty_3,
    >() - 8usize];
    ["Alignment of H5VL_dataset_specific_args_t__bindgen_ty_1__bindgen_ty_3"][align_of::<
        H5VL_dataset_specific_args_t__bindgen_ty_1__bindgen_ty_3,
    >() - 8usize];
    ["Offset of field: H5VL_dataset_specific_args_t__bindgen_ty_1__bindgen_ty_3::dset_id"][offset_of!(
        H5VL_dataset_specific_args_t__bindgen_ty_1__bindgen_ty_3,
        dset_id
    )
        - 0usize];
};
const _: () = {
    ["Size of H5VL_dataset_specific_args_t__bindgen_ty_1"]
        [size_of::<H5VL_dataset_specific_args_t__bindgen_ty_1>() - 8usize];
    ["Alignment of H5VL_dataset_specific_args_t__bindgen_ty_1"]
        [align_of::<H5VL_dataset_specific_args_t__bindgen_ty_1>() - 8usize];
    ["Offset of field: H5VL_dataset_specific_args_t__bindgen_ty_1::set_extent"]
        [offset_of!(H5VL_dataset_specific_args_t__bindgen_ty_1, set_extent) - 0usize];
    ["Offset of field: H5VL_dataset_specific_args_t__bindgen_ty_1::flush"]
        [offset_of!(H5VL_dataset_specific_args_t__bindgen_ty_1, flush) - 0usize];
    ["Offset of field: H5VL_dataset_specific_args_t__bindgen_ty_1::refresh"]
        [offset_of!(H5VL_dataset_specific_args_t__bindgen_ty_1, refresh) - 0usize];
};
const _: () = {
    ["Size of H5VL_dataset_specific_args_t"]
        [size_of::<H5VL_dataset_specific_args_t>() - 16usize];
    ["Alignment of H5VL_dataset_specific_args_t"]
        [align_of::<H5VL_dataset_specific_args_t>() - 8usize];
    ["Offset of field: H5VL_dataset_specific_args_t::op_type"]
        [offset_of!(H5VL_dataset_specific_args_t, op_type) - 0usize];
    ["Offset of field: H5VL_dataset_specific_args_t::args"]
        [offset_of!(H5VL_dataset_specific_args_t, args) - 8usize];
};
pub const H5VL_DATATYPE_GET_BINARY_SIZE: H5VL_datatype_get_t = 0;
pub const H5VL_DATATYPE_GET_BINARY: H5VL_datatype_get_t = 1;
pub const H5VL_DATATYPE_GET_TCPL: H5VL_datatype_get_t = 2;
pub type H5VL_datatype_get_t = c_uint;
#[repr(C)]
#[derive(Copy, Clone)]
pub struct H5VL_datatype_get_args_t {
    pub op_type: H5VL_datatype_get_t,
    pub args: H5VL_datatype_get_args_t__bindgen_ty_1,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub union H5VL_datatype_get_args_t__bindgen_ty_1 {
    pub get_binary_size: H5VL_datatype_get_args_t__bindgen_ty_1__bindgen_ty_1,
    pub get_binary: H5VL_datatype_get_args_t__bindgen_ty_1__bindgen_ty_2,
    pub get_tcpl: H5VL_datatype_get_args_t__bindgen_ty_1__bindgen_ty_3,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct H5VL_datatype_get_args_t__bindgen_ty_1__bindgen_ty_1 {
    pub size: *mut usize,
}
const _: () = {
    ["Size of H5VL_datatype_get_args_t__bindgen_ty_1__bindgen_ty_1"]
        [size_of::<H5VL_datatype_get_args_t__bindgen_ty_1__bindgen_ty_1>() - 8usize];
    ["Alignment of H5VL_datatype_get_args_t__bindgen_ty_1__bindgen_ty_1"]
        [align_of::<H5VL_datatype_get_args_t__bindgen_ty_1__bindgen_ty_1>() - 8usize];
    ["Offset of field: H5VL_datatype_get_args_t__bindgen_ty_1__bindgen_ty_1::size"][offset_of!(
        H5VL_datatype_get_args_t__bindgen_ty_1__bindgen_ty_1,
        size
    ) - 0usize];
};
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct H5VL_datatype_get_args_t__bindgen_ty_1__bindgen_ty_2 {
    pub buf: *mut c_void,
    pub buf_size: usize,
}
const _: () = {
    ["Size of H5VL_datatype_get_args_t__bindgen_ty_1__bindgen_ty_2"]
        [size_of::<H5VL_datatype_get_args_t__bindgen_ty_1__bindgen_ty_2>() - 16usize];
    ["Alignment of H5VL_datatype_get_args_t__bindgen_ty_1__bindgen_ty_2"]
        [align_of::<H5VL_datatype_get_args_t__bindgen_ty_1__bindgen_ty_2>() - 8usize];
    ["Offset of field: H5VL_datatype_get_args_t__bindgen_ty_1__bindgen_ty_2::buf"][offset_of!(
        H5VL_datatype_get_args_t__bindgen_ty_1__bindgen_ty_2,
        buf
    ) - 0usize];
    ["Offset of field: H5VL_datatype_get_args_t__bindgen_ty_1__bindgen_ty_2::buf_size"][offset_of!(
        H5VL_datatype_get_args_t__bindgen_ty_1__bindgen_ty_2,
        buf_size
    ) - 8usize];
};
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct H5VL_datatype_get_args_t__bindgen_ty_1__bindgen_ty_3 {
    pub tcpl_id: hid_t,
}
const _: () = {
    ["Size of H5VL_datatype_get_args_t__bindgen_ty_1__bindgen_ty_3"]
        [size_of::<H5VL_datatype_get_args_t__bindgen_ty_1__bindgen_ty_3>() - 8usize];
    ["Alignment of H5VL_datatype_get_args_t__bindgen_ty_1__bindgen_ty_3"]
        [align_of::<H5VL_datatype_get_args_t__bindgen_ty_1__bindgen_ty_3>() - 8usize];
    ["Offset of field: H5VL_datatype_get_args_t__bindgen_ty_1__bindgen_ty_3::tcpl_id"][offset_of!(
        H5VL_datatype_get_args_t__bindgen_ty_1__bindgen_ty_3,
        tcpl_id
    ) - 0usize];
};
const _: () = {
    ["Size of H5VL_datatype_get_args_t__bindgen_ty_1"]
        [size_of::<H5VL_datatype_get_args_t__bindgen_ty_1>() - 16usize];
    ["Alignment of H5VL_datatype_get_args_t__bindgen_ty_1"]
        [align_of::<H5VL_datatype_get_args_t__bindgen_ty_1>() - 8usize];
    ["Offset of field: H5VL_datatype_get_args_t__bindgen_ty_1::get_binary_size"]
        [offset_of!(H5VL_datatype_get_args_t__bindgen_ty_1, get_binary_size) - 0usize];
    ["Offset of field: H5VL_datatype_get_args_t__bindgen_ty_1::get_binary"]
        [offset_of!(H5VL_datatype_get_args_t__bindgen_ty_1, get_binary) - 0usize];
    ["Offset of field: H5VL_datatype_get_args_t__bindgen_ty_1::get_tcpl"]
        [offset_of!(H5VL_datatype_get_args_t__bindgen_ty_1, get_tcpl) - 0usize];
};
const _: () = {
    ["Size of H5VL_datatype_get_args_t"]
        [size_of::<H5VL_datatype_get_args_t>() - 24usize];
    ["Alignment of H5VL_datatype_get_args_t"]
        [align_of::<H5VL_datatype_get_args_t>() - 8usize];
    ["Offset of field: H5VL_datatype_get_args_t::op_type"]
        [offset_of!(H5VL_datatype_get_args_t, op_type) - 0usize];
    ["Offset of field: H5VL_datatype_get_args_t::args"]
        [offset_of!(H5VL_datatype_get_args_t, args) - 8usize];
};
pub const H5VL_DATATYPE_FLUSH: H5VL_datatype_specific_t = 0;
pub const H5VL_DATATYPE_REFRESH: H5VL_datatype_specific_t = 1;
pub type H5VL_datatype_specific_t = c_uint;
#[repr(C)]
#[derive(Copy, Clone)]
pub struct H5VL_datatype_specific_args_t {
    pub op_type: H5VL_datatype_specific_t,
    pub args: H5VL_datatype_specific_args_t__bindgen_ty_1,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub union H5VL_datatype_specific_args_t__bindgen_ty_1 {
    pub flush: H5VL_datatype_specific_args_t__bindgen_ty_1__bindgen_ty_1,
    pub refresh: H5VL_datatype_specific_args_t__bindgen_ty_1__bindgen_ty_2,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct H5VL_datatype_specific_args_t__bindgen_ty_1__bindgen_ty_1 {
    pub type_id: hid_t,
}
const _: () = {
    ["Size of H5VL_datatype_specific_args_t__bindgen_ty_1__bindgen_ty_1"][size_of::<
        H5VL_datatype_specific_args_t__bindgen_ty_1__bindgen_ty_1,
    >() - 8usize];
    ["Alignment of H5VL_datatype_specific_args_t__bindgen_ty_1__bindgen_ty_1"][align_of::<
        H5VL_datatype_specific_args_t__bindgen_ty_1__bindgen_ty_1,
    >() - 8usize];
    ["Offset of field: H5VL_datatype_specific_args_t__bindgen_ty_1__bindgen_ty_1::type_id"][offset_of!(
        H5VL_datatype_specific_args_t__bindgen_ty_1__bindgen_ty_1,
        type_id
    )
        - 0usize];
};
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct H5VL_datatype_specific_args_t__bindgen_ty_1__bindgen_ty_2 {
    pub type_id: hid_t,
}
const _: () = {
    ["Size of H5VL_datatype_specific_args_t__bindgen_ty_1__bindgen_ty_2"][size_of::<
        H5VL_datatype_specific_args_t__bindgen_ty_1__bindgen_ty_2,
    >() - 8usize];
    ["Alignment of H5VL_datatype_specific_args_t__bindgen_ty_1__bindgen_ty_2"][align_of::<
        H5VL_datatype_specific_args_t__bindgen_ty_1__bindgen_ty_2,
    >() - 8usize];
    ["Offset of field: H5VL_datatype_specific_args_t__bindgen_ty_1__bindgen_ty_2::type_id"][offset_of!(
        H5VL_datatype_specific_args_t__bindgen_ty_1__bindgen_ty_2,
        type_id
    )
        - 0usize];
};
const _: () = {
    ["Size of H5VL_datatype_specific_args_t__bindgen_ty_1"]
        [size_of::<H5VL_datatype_specific_args_t__bindgen_ty_1>() - 8usize];
    ["Alignment of H5VL_datatype_specific_args_t__bindgen_ty_1"]
        [align_of::<H5VL_datatype_specific_args_t__bindgen_ty_1>() - 8usize];
    ["Offset of field: H5VL_datatype_specific_args_t__bindgen_ty_1::flush"]
        [offset_of!(H5VL_datatype_specific_args_t__bindgen_ty_1, flush) - 0usize];
    ["Offset of field: H5VL_datatype_specific_args_t__bindgen_ty_1::refresh"]
        [offset_of!(H5VL_datatype_specific_args_t__bindgen_ty_1, refresh) - 0usize];
};
const _: () = {
    ["Size of H5VL_datatype_specific_args_t"]
        [size_of::<H5VL_datatype_specific_args_t>() - 16usize];
    ["Alignment of H5VL_datatype_specific_args_t"]
        [align_of::<H5VL_datatype_specific_args_t>() - 8usize];
    ["Offset of field: H5VL_datatype_specific_args_t::op_type"]
        [offset_of!(H5VL_datatype_specific_args_t, op_type) - 0usize];
    ["Offset of field: H5VL_datatype_specific_args_t::args"]
        [offset_of!(H5VL_datatype_specific_args_t, args) - 8usize];
};
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct H5VL_file_cont_info_t {
    pub version: c_uint,
    pub feature_flags: u64,
    pub token_size: usize,
    pub blob_id_size: usize,
}
const _: () = {
    ["Size of H5VL_file_cont_info_t"][size_of::<H5VL_file_cont_info_t>() - 32usize];
    ["Alignment of H5VL_file_cont_info_t"]
        [align_of::<H5VL_file_cont_info_t>() - 8usize];
    ["Offset of field: H5VL_file_cont_info_t::version"]
        [offset_of!(H5VL_file_cont_info_t, version) - 0usize];
    ["Offset of field: H5VL_file_cont_info_t::feature_flags"]
        [offset_of!(H5VL_file_cont_info_t, feature_flags) - 8usize];
    ["Offset of field: H5VL_file_cont_info_t::token_size"]
        [offset_of!(H5VL_file_cont_info_t, token_size) - 16usize];
    ["Offset of field: H5VL_file_cont_info_t::blob_id_size"]
        [offset_of!(H5VL_file_cont_info_t, blob_id_size) - 24usize];
};
pub const H5VL_FILE_GET_CONT_INFO: H5VL_file_get_t = 0;
pub const H5VL_FILE_GET_FAPL: H5VL_file_get_t = 1;
pub const H5VL_FILE_GET_FCPL: H5VL_file_get_t = 2;
pub const H5VL_FILE_GET_FILENO: H5VL_file_get_t = 3;
pub const H5VL_FILE_GET_INTENT: H5VL_file_get_t = 4;
pub const H5VL_FILE_GET_NAME: H5VL_file_get_t = 5;
pub const H5VL_FILE_GET_OBJ_COUNT: H5VL_file_get_t = 6;
pub const H5VL_FILE_GET_OBJ_IDS: H5VL_file_get_t = 7;
pub type H5VL_file_get_t = c_uint;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct H5VL_file_get_name_args_t {
    pub type_: H5I_type_t,
    pub buf_size: usize,
    pub buf: *mut c_char,
    pub file_name_len: *mut usize,
}
const _: () = {
    ["Size of H5VL_file_get_name_args_t"]
        [size_of::<H5VL_file_get_name_args_t>() - 32usize];
    ["Alignment of H5VL_file_get_name_args_t"]
        [align_of::<H5VL_file_get_name_args_t>() - 8usize];
    ["Offset of field: H5VL_file_get_name_args_t::type_"]
        [offset_of!(H5VL_file_get_name_args_t, type_) - 0usize];
    ["Offset of field: H5VL_file_get_name_args_t::buf_size"]
        [offset_of!(H5VL_file_get_name_args_t, buf_size) - 8usize];
    ["Offset of field: H5VL_file_get_name_args_t::buf"]
        [offset_of!(H5VL_file_get_name_args_t, buf) - 16usize];
    ["Offset of field: H5VL_file_get_name_args_t::file_name_len"]
        [offset_of!(H5VL_file_get_name_args_t, file_name_len) - 24usize];
};
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct H5VL_file_get_obj_ids_args_t {
    pub types: c_uint,
    pub max_objs: usize,
    pub oid_list: *mut hid_t,
    pub count: *mut usize,
}
const _: () = {
    ["Size of H5VL_file_get_obj_ids_args_t"]
        [size_of::<H5VL_file_get_obj_ids_args_t>() - 32usize];
    ["Alignment of H5VL_file_get_obj_ids_args_t"]
        [align_of::<H5VL_file_get_obj_ids_args_t>() - 8usize];
    ["Offset of field: H5VL_file_get_obj_ids_args_t::types"]
        [offset_of!(H5VL_file_get_obj_ids_args_t, types) - 0usize];
    ["Offset of field: H5VL_file_get_obj_ids_args_t::max_objs"]
        [offset_of!(H5VL_file_get_obj_ids_args_t, max_objs) - 8usize];
    ["Offset of field: H5VL_file_get_obj_ids_args_t::oid_list"]
        [offset_of!(H5VL_file_get_obj_ids_args_t, oid_list) - 16usize];
    ["Offset of field: H5VL_file_get_obj_ids_args_t::count"]
        [offset_of!(H5VL_file_get_obj_ids_args_t, count) - 24usize];
};
#[repr(C)]
#[derive(Copy, Clone)]
pub struct H5VL_file_get_args_t {
    pub op_type: H5VL_file_get_t,
    pub args: H5VL_file_get_args_t__bindgen_ty_1,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub union H5VL_file_get_args_t__bindgen_ty_1 {
    pub get_cont_info: H5VL_file_get_args_t__bindgen_ty_1__bindgen_ty_1,
    pub get_fapl: H5VL_file_get_args_t__bindgen_ty_1__bindgen_ty_2,
    pub get_fcpl: H5VL_file_get_args_t__bindgen_ty_1__bindgen_ty_3,
    pub get_fileno: H5VL_file_get_args_t__bindgen_ty_1__bindgen_ty_4,
    pub get_intent: H5VL_file_get_args_t__bindgen_ty_1__bindgen_ty_5,
    pub get_name: H5VL_file_get_name_args_t,
    pub get_obj_count: H5VL_file_get_args_t__bindgen_ty_1__bindgen_ty_6,
    pub get_obj_ids: H5VL_file_get_obj_ids_args_t,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct H5VL_file_get_args_t__bindgen_ty_1__bindgen_ty_1 {
    pub info: *mut H5VL_file_cont_info_t,
}
const _: () = {
    ["Size of H5VL_file_get_args_t__bindgen_ty_1__bindgen_ty_1"]
        [size_of::<H5VL_file_get_args_t__bindgen_ty_1__bindgen_ty_1>() - 8usize];
    ["Alignment of H5VL_file_get_args_t__bindgen_ty_1__bindgen_ty_1"]
        [align_of::<H5VL_file_get_args_t__bindgen_ty_1__bindgen_ty_1>() - 8usize];
    ["Offset of field: H5VL_file_get_args_t__bindgen_ty_1__bindgen_ty_1::info"]
        [offset_of!(H5VL_file_get_args_t__bindgen_ty_1__bindgen_ty_1, info) - 0usize];
};
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct H5VL_file_get_args_t__bindgen_ty_1__bindgen_ty_2 {
    pub fapl_id: hid_t,
}
const _: () = {
    ["Size of H5VL_file_get_args_t__bindgen_ty_1__bindgen_ty_2"]
        [size_of::<H5VL_file_get_args_t__bindgen_ty_1__bindgen_ty_2>() - 8usize];
    ["Alignment of H5VL_file_get_args_t__bindgen_ty_1__bindgen_ty_2"]
        [align_of::<H5VL_file_get_args_t__bindgen_ty_1__bindgen_ty_2>() - 8usize];
    ["Offset of field: H5VL_file_get_args_t__bindgen_ty_1__bindgen_ty_2::fapl_id"][offset_of!(
        H5VL_file_get_args_t__bindgen_ty_1__bindgen_ty_2,
        fapl_id
    ) - 0usize];
};
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct H5VL_file_get_args_t__bindgen_ty_1__bindgen_ty_3 {
    pub fcpl_id: hid_t,
}
const _: () = {
    ["Size of H5VL_file_get_args_t__bindgen_ty_1__bindgen_ty_3"]
        [size_of::<H5VL_file_get_args_t__bindgen_ty_1__bindgen_ty_3>() - 8usize];
    ["Alignment of H5VL_file_get_args_t__bindgen_ty_1__bindgen_ty_3"]
        [align_of::<H5VL_file_get_args_t__bindgen_ty_1__bindgen_ty_3>() - 8usize];
    ["Offset of field: H5VL_file_get_args_t__bindgen_ty_1__bindgen_ty_3::fcpl_id"][offset_of!(
        H5VL_file_get_args_t__bindgen_ty_1__bindgen_ty_3,
        fcpl_id
    ) - 0usize];
};
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct H5VL_file_get_args_t__bindgen_ty_1__bindgen_ty_4 {
    pub fileno: *mut c_ulong,
}
const _: () = {
    ["Size of H5VL_file_get_args_t__bindgen_ty_1__bindgen_ty_4"]
        [size_of::<H5VL_file_get_args_t__bindgen_ty_1__bindgen_ty_4>() - 8usize];
    ["Alignment of H5VL_file_get_args_t__bindgen_ty_1__bindgen_ty_4"]
        [align_of::<H5VL_file_get_args_t__bindgen_ty_1__bindgen_ty_4>() - 8usize];
    ["Offset of field: H5VL_file_get_args_t__bindgen_ty_1__bindgen_ty_4::fileno"]
        [offset_of!(H5VL_file_get_args_t__bindgen_ty_1__bindgen_ty_4, fileno) - 0usize];
};
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct H5VL_file_get_args_t__bindgen_ty_1__bindgen_ty_5 {
    pub flags: *mut c_uint,
}
const _: () = {
    ["Size of H5VL_file_get_args_t__bindgen_ty_1__bindgen_ty_5"]
        [size_of::<H5VL_file_get_args_t__bindgen_ty_1__bindgen_ty_5>() - 8usize];
    ["Alignment of H5VL_file_get_args_t__bindgen_ty_1__bindgen_ty_5"]
        [align_of::<H5VL_file_get_args_t__bindgen_ty_1__bindgen_ty_5>() - 8usize];
    ["Offset of field: H5VL_file_get_args_t__bindgen_ty_1__bindgen_ty_5::flags"]
        [offset_of!(H5VL_file_get_args_t__bindgen_ty_1__bindgen_ty_5, flags) - 0usize];
};
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct H5VL_file_get_args_t__bindgen_ty_1__bindgen_ty_6 {
    pub types: c_uint,
    pub count: *mut usize,
}
const _: () = {
    ["Size of H5VL_file_get_args_t__bindgen_ty_1__bindgen_ty_6"]
        [size_of::<H5VL_file_get_args_t__bindgen_ty_1__bindgen_ty_6>() - 16usize];
    ["Alignment of H5VL_file_get_args_t__bindgen_ty_1__bindgen_ty_6"]
        [align_of::<H5VL_file_get_args_t__bindgen_ty_1__bindgen_ty_6>() - 8usize];
    ["Offset of field: H5VL_file_get_args_t__bindgen_ty_1__bindgen_ty_6::types"]
        [offset_of!(H5VL_file_get_args_t__bindgen_ty_1__bindgen_ty_6, types) - 0usize];
    ["Offset of field: H5VL_file_get_args_t__bindgen_ty_1__bindgen_ty_6::count"]
        [offset_of!(H5VL_file_get_args_t__bindgen_ty_1__bindgen_ty_6, count) - 8usize];
};
const _: () = {
    ["Size of H5VL_file_get_args_t__bindgen_ty_1"]
        [size_of::<H5VL_file_get_args_t__bindgen_ty_1>() - 32usize];
    ["Alignment of H5VL_file_get_args_t__bindgen_ty_1"]
        [align_of::<H5VL_file_get_args_t__bindgen_ty_1>() - 8usize];
    ["Offset of field: H5VL_file_get_args_t__bindgen_ty_1::get_cont_info"]
        [offset_of!(H5VL_file_get_args_t__bindgen_ty_1, get_cont_info) - 0usize];
    ["Offset of field: H5VL_file_get_args_t__bindgen_ty_1::get_fapl"]
        [offset_of!(H5VL_file_get_args_t__bindgen_ty_1, get_fapl) - 0usize];
    ["Offset of field: H5VL_file_get_args_t__bindgen_ty_1::get_fcpl"]
        [offset_of!(H5VL_file_get_args_t__bindgen_ty_1, get_fcpl) - 0usize];
    ["Offset of field: H5VL_file_get_args_t__bindgen_ty_1::get_fileno"]
        [offset_of!(H5VL_file_get_args_t__bindgen_ty_1, get_fileno) - 0usize];
    ["Offset of field: H5VL_file_get_args_t__bindgen_ty_1::get_intent"]
        [offset_of!(H5VL_file_get_args_t__bindgen_ty_1, get_intent) - 0usize];
    ["Offset of field: H5VL_file_get_args_t__bindgen_ty_1::get_name"]
        [offset_of!(H5VL_file_get_args_t__bindgen_ty_1, get_name) - 0usize];
    ["Offset of field: H5VL_file_get_args_t__bindgen_ty_1::get_obj_count"]
        [offset_of!(H5VL_file_get_args_t__bindgen_ty_1, get_obj_count) - 0usize];
    ["Offset of field: H5VL_file_get_args_t__bindgen_ty_1::get_obj_ids"]
        [offset_of!(H5VL_file_get_args_t__bindgen_ty_1, get_obj_ids) - 0usize];
};
const _: () = {
    ["Size of H5VL_file_get_args_t"][size_of::<H5VL_file_get_args_t>() - 40usize];
    ["Alignment of H5VL_file_get_args_t"][align_of::<H5VL_file_get_args_t>() - 8usize];
    ["Offset of field: H5VL_file_get_args_t::op_type"]
        [offset_of!(H5VL_file_get_args_t, op_type) - 0usize];
    ["Offset of field: H5VL_file_get_args_t::args"]
        [offset_of!(H5VL_file_get_args_t, args) - 8usize];
};
pub const H5VL_FILE_FLUSH: H5VL_file_specific_t = 0;
pub const H5VL_FILE_REOPEN: H5VL_file_specific_t = 1;
pub const H5VL_FILE_IS_ACCESSIBLE: H5VL_file_specific_t = 2;
pub const H5VL_FILE_DELETE: H5VL_file_specific_t = 3;
pub const H5VL_FILE_IS_EQUAL: H5VL_file_specific_t = 4;
pub type H5VL_file_specific_t = c_uint;
#[repr(C)]
#[derive(Copy, Clone)]
pub struct H5VL_file_specific_args_t {
    pub op_type: H5VL_file_specific_t,
    pub args: H5VL_file_specific_args_t__bindgen_ty_1,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub union H5VL_file_specific_args_t__bindgen_ty_1 {
    pub flush: H5VL_file_specific_args_t__bindgen_ty_1__bindgen_ty_1,
    pub reopen: H5VL_file_specific_args_t__bindgen_ty_1__bindgen_ty_2,
    pub is_accessible: H5VL_file_specific_args_t__bindgen_ty_1__bindgen_ty_3,
    pub del: H5VL_file_specific_args_t__bindgen_ty_1__bindgen_ty_4,
    pub is_equal: H5VL_file_specific_args_t__bindgen_ty_1__bindgen_ty_5,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct H5VL_file_specific_args_t__bindgen_ty_1__bindgen_ty_1 {
    pub obj_type: H5I_type_t,
    pub scope: H5F_scope_t,
}
const _: () = {
    ["Size of H5VL_file_specific_args_t__bindgen_ty_1__bindgen_ty_1"]
        [size_of::<H5VL_file_specific_args_t__bindgen_ty_1__bindgen_ty_1>() - 8usize];
    ["Alignment of H5VL_file_specific_args_t__bindgen_ty_1__bindgen_ty_1"]
        [align_of::<H5VL_file_specific_args_t__bindgen_ty_1__bindgen_ty_1>() - 4usize];
    ["Offset of field: H5VL_file_specific_args_t__bindgen_ty_1__bindgen_ty_1::obj_type"][offset_of!(
        H5VL_file_specific_args_t__bindgen_ty_1__bindgen_ty_1,
        obj_type
    )
        - 0usize];
    ["Offset of field: H5VL_file_specific_args_t__bindgen_ty_1__bindgen_ty_1::scope"][offset_of!(
        H5VL_file_specific_args_t__bindgen_ty_1__bindgen_ty_1,
        scope
    ) - 4usize];
};
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct H5VL_file_specific_args_t__bindgen_ty_1__bindgen_ty_2 {
    pub file: *mut *mut c_void,
}
const _: () = {
    ["Size of H5VL_file_specific_args_t__bindgen_ty_1__bindgen_ty_2"]
        [size_of::<H5VL_file_specific_args_t__bindgen_ty_1__bindgen_ty_2>() - 8usize];
    ["Alignment of H5VL_file_specific_args_t__bindgen_ty_1__bindgen_ty_2"]
        [align_of::<H5VL_file_specific_args_t__bindgen_ty_1__bindgen_ty_2>() - 8usize];
    ["Offset of field: H5VL_file_specific_args_t__bindgen_ty_1__bindgen_ty_2::file"][offset_of!(
        H5VL_file_specific_args_t__bindgen_ty_1__bindgen_ty_2,
        file
    ) - 0usize];
};
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct H5VL_file_specific_args_t__bindgen_ty_1__bindgen_ty_3 {
    pub filename: *const c_char,
    pub fapl_id: hid_t,
    pub accessible: *mut hbool_t,
}
const _: () = {
    ["Size of H5VL_file_specific_args_t__bindgen_ty_1__bindgen_ty_3"]
        [size_of::<H5VL_file_specific_args_t__bindgen_ty_1__bindgen_ty_3>() - 24usize];
    ["Alignment of H5VL_file_specific_args_t__bindgen_ty_1__bindgen_ty_3"]
        [align_of::<H5VL_file_specific_args_t__bindgen_ty_1__bindgen_ty_3>() - 8usize];
    ["Offset of field: H5VL_file_specific_args_t__bindgen_ty_1__bindgen_ty_3::filename"][offset_of!(
        H5VL_file_specific_args_t__bindgen_ty_1__bindgen_ty_3,
        filename
    )
        - 0usize];
    ["Offset of field: H5VL_file_specific_args_t__bindgen_ty_1__bindgen_ty_3::fapl_id"][offset_of!(
        H5VL_file_specific_args_t__bindgen_ty_1__bindgen_ty_3,
        fapl_id
    ) - 8usize];
    ["Offset of field: H5VL_file_specific_args_t__bindgen_ty_1__bindgen_ty_3::accessible"][offset_of!(
        H5VL_file_specific_args_t__bindgen_ty_1__bindgen_ty_3,
        accessible
    )
        - 16usize];
};
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct H5VL_file_specific_args_t__bindgen_ty_1__bindgen_ty_4 {
    pub filename: *const c_char,
    pub fapl_id: hid_t,
}
const _: () = {
    ["Size of H5VL_file_specific_args_t__bindgen_ty_1__bindgen_ty_4"]
        [size_of::<H5VL_file_specific_args_t__bindgen_ty_1__bindgen_ty_4>() - 16usize];
    ["Alignment of H5VL_file_specific_args_t__bindgen_ty_1__bindgen_ty_4"]
        [align_of::<H5VL_file_specific_args_t__bindgen_ty_1__bindgen_ty_4>() - 8usize];
    ["Offset of field: H5VL_file_specific_args_t__bindgen_ty_1__bindgen_ty_4::filename"][offset_of!(
        H5VL_file_specific_args_t__bindgen_ty_1__bindgen_ty_4,
        filename
    )
        - 0usize];
    ["Offset of field: H5VL_file_specific_args_t__bindgen_ty_1__bindgen_ty_4::fapl_id"][offset_of!(
        H5VL_file_specific_args_t__bindgen_ty_1__bindgen_ty_4,
        fapl_id
    ) - 8usize];
};
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct H5VL_file_specific_args_t__bindgen_ty_1__bindgen_ty_5 {
    pub obj2: *mut c_void,
    pub same_file: *mut hbool_t,
}
const _: () = {
    ["Size of H5VL_file_specific_args_t__bindgen_ty_1__bindgen_ty_5"]
        [size_of::<H5VL_file_specific_args_t__bindgen_ty_1__bindgen_ty_5>() - 16usize];
    ["Alignment of H5VL_file_specific_args_t__bindgen_ty_1__bindgen_ty_5"]
        [align_of::<H5VL_file_specific_args_t__bindgen_ty_1__bindgen_ty_5>() - 8usize];
    ["Offset of field: H5VL_file_specific_args_t__bindgen_ty_1__bindgen_ty_5::obj2"][offset_of!(
        H5VL_file_specific_args_t__bindgen_ty_1__bindgen_ty_5,
        obj2
    ) - 0usize];
    ["Offset of field: H5VL_file_specific_args_t__bindgen_ty_1__bindgen_ty_5::same_file"][offset_of!(
        H5VL_file_specific_args_t__bindgen_ty_1__bindgen_ty_5,
        same_file
    )
        - 8usize];
};
const _: () = {
    ["Size of H5VL_file_specific_args_t__bindgen_ty_1"]
        [size_of::<H5VL_file_specific_args_t__bindgen_ty_1>() - 24usize];
    ["Alignment of H5VL_file_specific_args_t__bindgen_ty_1"]
        [align_of::<H5VL_file_specific_args_t__bindgen_ty_1>() - 8usize];
    ["Offset of field: H5VL_file_specific_args_t__bindgen_ty_1::flush"]
        [offset_of!(H5VL_file_specific_args_t__bindgen_ty_1, flush) - 0usize];
    ["Offset of field: H5VL_file_specific_args_t__bindgen_ty_1::reopen"]
        [offset_of!(H5VL_file_specific_args_t__bindgen_ty_1, reopen) - 0usize];
    ["Offset of field: H5VL_file_specific_args_t__bindgen_ty_1::is_accessible"]
        [offset_of!(H5VL_file_specific_args_t__bindgen_ty_1, is_accessible) - 0usize];
    ["Offset of field: H5VL_file_specific_args_t__bindgen_ty_1::del"]
        [offset_of!(H5VL_file_specific_args_t__bindgen_ty_1, del) - 0usize];
    ["Offset of field: H5VL_file_specific_args_t__bindgen_ty_1::is_equal"]
        [offset_of!(H5VL_file_specific_args_t__bindgen_ty_1, is_equal) - 0usize];
};
const _: () = {
    ["Size of H5VL_file_specific_args_t"]
        [size_of::<H5VL_file_specific_args_t>() - 32usize];
    ["Alignment of H5VL_file_specific_args_t"]
        [align_of::<H5VL_file_specific_args_t>() - 8usize];
    ["Offset of field: H5VL_file_specific_args_t::op_type"]
        [offset_of!(H5VL_file_specific_args_t, op_type) - 0usize];
    ["Offset of field: H5VL_file_specific_args_t::args"]
        [offset_of!(H5VL_file_specific_args_t, args) - 8usize];
};
pub const H5VL_GROUP_GET_GCPL: H5VL_group_get_t = 0;
pub const H5VL_GROUP_GET_INFO: H5VL_group_get_t = 1;
pub type H5VL_group_get_t = c_uint;
#[repr(C)]
#[derive(Copy, Clone)]
pub struct H5VL_group_get_info_args_t {
    pub loc_params: H5VL_loc_params_t,
    pub ginfo: *mut H5G_info_t,
}
const _: () = {
    ["Size of H5VL_group_get_info_args_t"]
        [size_of::<H5VL_group_get_info_args_t>() - 48usize];
    ["Alignment of H5VL_group_get_info_args_t"]
        [align_of::<H5VL_group_get_info_args_t>() - 8usize];
    ["Offset of field: H5VL_group_get_info_args_t::loc_params"]
        [offset_of!(H5VL_group_get_info_args_t, loc_params) - 0usize];
    ["Offset of field: H5VL_group_get_info_args_t::ginfo"]
        [offset_of!(H5VL_group_get_info_args_t, ginfo) - 40usize];
};
#[repr(C)]
#[derive(Copy, Clone)]
pub struct H5VL_group_get_args_t {
    pub op_type: H5VL_group_get_t,
    pub args: H5VL_group_get_args_t__bindgen_ty_1,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub union H5VL_group_get_args_t__bindgen_ty_1 {
    pub get_gcpl: H5VL_group_get_args_t__bindgen_ty_1__bindgen_ty_1,
    pub get_info: H5VL_group_get_info_args_t,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct H5VL_group_get_args_t__bindgen_ty_1__bindgen_ty_1 {
    pub gcpl_id: hid_t,
}
const _: () = {
    ["Size of H5VL_group_get_args_t__bindgen_ty_1__bindgen_ty_1"]
        [size_of::<H5VL_group_get_args_t__bindgen_ty_1__bindgen_ty_1>() - 8usize];
    ["Alignment of H5VL_group_get_args_t__bindgen_ty_1__bindgen_ty_1"]
        [align_of::<H5VL_group_get_args_t__bindgen_ty_1__bindgen_ty_1>() - 8usize];
    ["Offset of field: H5VL_group_get_args_t__bindgen_ty_1__bindgen_ty_1::gcpl_id"][offset_of!(
        H5VL_group_get_args_t__bindgen_ty_1__bindgen_ty_1,
        gcpl_id
    ) - 0usize];
};
const _: () = {
    ["Size of H5VL_group_get_args_t__bindgen_ty_1"]
        [size_of::<H5VL_group_get_args_t__bindgen_ty_1>() - 48usize];
    ["Alignment of H5VL_group_get_args_t__bindgen_ty_1"]
        [align_of::<H5VL_group_get_args_t__bindgen_ty_1>() - 8usize];
    ["Offset of field: H5VL_group_get_args_t__bindgen_ty_1::get_gcpl"]
        [offset_of!(H5VL_group_get_args_t__bindgen_ty_1, get_gcpl) - 0usize];
    ["Offset of field: H5VL_group_get_args_t__bindgen_ty_1::get_info"]
        [offset_of!(H5VL_group_get_args_t__bindgen_ty_1, get_info) - 0usize];
};
const _: () = {
    ["Size of H5VL_group_get_args_t"][size_of::<H5VL_group_get_args_t>() - 56usize];
    ["Alignment of H5VL_group_get_args_t"]
        [align_of::<H5VL_group_get_args_t>() - 8usize];
    ["Offset of field: H5VL_group_get_args_t::op_type"]
        [offset_of!(H5VL_group_get_args_t, op_type) - 0usize];
    ["Offset of field: H5VL_group_get_args_t::args"]
        [offset_of!(H5VL_group_get_args_t, args) - 8usize];
};
pub const H5VL_GROUP_MOUNT: H5VL_group_specific_t = 0;
pub const H5VL_GROUP_UNMOUNT: H5VL_group_specific_t = 1;
pub const H5VL_GROUP_FLUSH: H5VL_group_specific_t = 2;
pub const H5VL_GROUP_REFRESH: H5VL_group_specific_t = 3;
pub type H5VL_group_specific_t = c_uint;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct H5VL_group_spec_mount_args_t {
    pub name: *const c_char,
    pub child_file: *mut c_void,
    pub fmpl_id: hid_t,
}
const _: () = {
    ["Size of H5VL_group_spec_mount_args_t"]
        [size_of::<H5VL_group_spec_mount_args_t>() - 24usize];
    ["Alignment of H5VL_group_spec_mount_args_t"]
        [align_of::<H5VL_group_spec_mount_args_t>() - 8usize];
    ["Offset of field: H5VL_group_spec_mount_args_t::name"]
        [offset_of!(H5VL_group_spec_mount_args_t, name) - 0usize];
    ["Offset of field: H5VL_group_spec_mount_args_t::child_file"]
        [offset_of!(H5VL_group_spec_mount_args_t, child_file) - 8usize];
    ["Offset of field: H5VL_group_spec_mount_args_t::fmpl_id"]
        [offset_of!(H5VL_group_spec_mount_args_t, fmpl_id) - 16usize];
};
#[repr(C)]
#[derive(Copy, Clone)]
pub struct H5VL_group_specific_args_t {
    pub op_type: H5VL_group_specific_t,
    pub args: H5VL_group_specific_args_t__bindgen_ty_1,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub union H5VL_group_specific_args_t__bindgen_ty_1 {
    pub mount: H5VL_group_spec_mount_args_t,
    pub unmount: H5VL_group_specific_args_t__bindgen_ty_1__bindgen_ty_1,
    pub flush: H5VL_group_specific_args_t__bindgen_ty_1__bindgen_ty_2,
    pub refresh: H5VL_group_specific_args_t__bindgen_ty_1__bindgen_ty_3,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct H5VL_group_specific_args_t__bindgen_ty_1__bindgen_ty_1 {
    pub name: *const c_char,
}
const _: () = {
    ["Size of H5VL_group_specific_args_t__bindgen_ty_1__bindgen_ty_1"]
        [size_of::<H5VL_group_specific_args_t__bindgen_ty_1__bindgen_ty_1>() - 8usize];
    ["Alignment of H5VL_group_specific_args_t__bindgen_ty_1__bindgen_ty_1"]
        [align_of::<H5VL_group_specific_args_t__bindgen_ty_1__bindgen_ty_1>() - 8usize];
    ["Offset of field: H5VL_group_specific_args_t__bindgen_ty_1__bindgen_ty_1::name"][offset_of!(
        H5VL_group_specific_args_t__bindgen_ty_1__bindgen_ty_1,
        name
    ) - 0usize];
};
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct H5VL_group_specific_args_t__bindgen_ty_1__bindgen_ty_2 {
    pub grp_id: hid_t,
}
const _: () = {
    ["Size of H5VL_group_specific_args_t__bindgen_ty_1__bindgen_ty_2"]
        [size_of::<H5VL_group_specific_args_t__bindgen_ty_1__bindgen_ty_2>() - 8usize];
    ["Alignment of H5VL_group_specific_args_t__bindgen_ty_1__bindgen_ty_2"]
        [align_of::<H5VL_group_specific_args_t__bindgen_ty_1__bindgen_ty_2>() - 8usize];
    ["Offset of field: H5VL_group_specific_args_t__bindgen_ty_1__bindgen_ty_2::grp_id"][offset_of!(
        H5VL_group_specific_args_t__bindgen_ty_1__bindgen_ty_2,
        grp_id
    ) - 0usize];
};
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct H5VL_group_specific_args_t__bindgen_ty_1__bindgen_ty_3 {
    pub grp_id: hid_t,
}
const _: () = {
    ["Size of H5VL_group_specific_args_t__bindgen_ty_1__bindgen_ty_3"]
        [size_of::<H5VL_group_specific_args_t__bindgen_ty_1__bindgen_ty_3>() - 8usize];
    ["Alignment of H5VL_group_specific_args_t__bindgen_ty_1__bindgen_ty_3"]
        [align_of::<H5VL_group_specific_args_t__bindgen_ty_1__bindgen_ty_3>() - 8usize];
    ["Offset of field: H5VL_group_specific_args_t__bindgen_ty_1__bindgen_ty_3::grp_id"][offset_of!(
        H5VL_group_specific_args_t__bindgen_ty_1__bindgen_ty_3,
        grp_id
    ) - 0usize];
};
const _: () = {
    ["Size of H5VL_group_specific_args_t__bindgen_ty_1"]
        [size_of::<H5VL_group_specific_args_t__bindgen_ty_1>() - 24usize];
    ["Alignment of H5VL_group_specific_args_t__bindgen_ty_1"]
        [align_of::<H5VL_group_specific_args_t__bindgen_ty_1>() - 8usize];
    ["Offset of field: H5VL_group_specific_args_t__bindgen_ty_1::mount"]
        [offset_of!(H5VL_group_specific_args_t__bindgen_ty_1, mount) - 0usize];
    ["Offset of field: H5VL_group_specific_args_t__bindgen_ty_1::unmount"]
        [offset_of!(H5VL_group_specific_args_t__bindgen_ty_1, unmount) - 0usize];
    ["Offset of field: H5VL_group_specific_args_t__bindgen_ty_1::flush"]
        [offset_of!(H5VL_group_specific_args_t__bindgen_ty_1, flush) - 0usize];
    ["Offset of field: H5VL_group_specific_args_t__bindgen_ty_1::refresh"]
        [offset_of!(H5VL_group_specific_args_t__bindgen_ty_1, refresh) - 0usize];
};
const _: () = {
    ["Size of H5VL_group_specific_args_t"]
        [size_of::<H5VL_group_specific_args_t>() - 32usize];
    ["Alignment of H5VL_group_specific_args_t"]
        [align_of::<H5VL_group_specific_args_t>() - 8usize];
    ["Offset of field: H5VL_group_specific_args_t::op_type"]
        [offset_of!(H5VL_group_specific_args_t, op_type) - 0usize];
    ["Offset of field: H5VL_group_specific_args_t::args"]
        [offset_of!(H5VL_group_specific_args_t, args) - 8usize];
};
pub const H5VL_LINK_CREATE_HARD: H5VL_link_create_t = 0;
pub const H5VL_LINK_CREATE_SOFT: H5VL_link_create_t = 1;
pub const H5VL_LINK_CREATE_UD: H5VL_link_create_t = 2;
pub type H5VL_link_create_t = c_uint;
#[repr(C)]
#[derive(Copy, Clone)]
pub struct H5VL_link_create_args_t {
    pub op_type: H5VL_link_create_t,
    pub args: H5VL_link_create_args_t__bindgen_ty_1,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub union H5VL_link_create_args_t__bindgen_ty_1 {
    pub hard: H5VL_link_create_args_t__bindgen_ty_1__bindgen_ty_1,
    pub soft: H5VL_link_create_args_t__bindgen_ty_1__bindgen_ty_2,
    pub ud: H5VL_link_create_args_t__bindgen_ty_1__bindgen_ty_3,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct H5VL_link_create_args_t__bindgen_ty_1__bindgen_ty_1 {
    pub curr_obj: *mut c_void,
    pub curr_loc_params: H5VL_loc_params_t,
}
const _: () = {
    ["Size of H5VL_link_create_args_t__bindgen_ty_1__bindgen_ty_1"]
        [size_of::<H5VL_link_create_args_t__bindgen_ty_1__bindgen_ty_1>() - 48usize];
    ["Alignment of H5VL_link_create_args_t__bindgen_ty_1__bindgen_ty_1"]
        [align_of::<H5VL_link_create_args_t__bindgen_ty_1__bindgen_ty_1>() - 8usize];
    ["Offset of field: H5VL_link_create_args_t__bindgen_ty_1__bindgen_ty_1::curr_obj"][offset_of!(
        H5VL_link_create_args_t__bindgen_ty_1__bindgen_ty_1,
        curr_obj
    ) - 0usize];
    ["Offset of field: H5VL_link_create_args_t__bindgen_ty_1__bindgen_ty_1::curr_loc_params"][offset_of!(
        H5VL_link_create_args_t__bindgen_ty_1__bindgen_ty_1,
        curr_loc_params
    )
        - 8usize];
};
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct H5VL_link_create_args_t__bindgen_ty_1__bindgen_ty_2 {
    pub target: *const c_char,
}
const _: () = {
    ["Size of H5VL_link_create_args_t__bindgen_ty_1__bindgen_ty_2"]
        [size_of::<H5VL_link_create_args_t__bindgen_ty_1__bindgen_ty_2>() - 8usize];
    ["Alignment of H5VL_link_create_args_t__bindgen_ty_1__bindgen_ty_2"]
        [align_of::<H5VL_link_create_args_t__bindgen_ty_1__bindgen_ty_2>() - 8usize];
    ["Offset of field: H5VL_link_create_args_t__bindgen_ty_1__bindgen_ty_2::target"][offset_of!(
        H5VL_link_create_args_t__bindgen_ty_1__bindgen_ty_2,
        target
    ) - 0usize];
};
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct H5VL_link_create_args_t__bindgen_ty_1__bindgen_ty_3 {
    pub type_: H5L_type_t,
    pub buf: *const c_void,
    pub buf_size: usize,
}
const _: () = {
    ["Size of H5VL_link_create_args_t__bindgen_ty_1__bindgen_ty_3"]
        [size_of::<H5VL_link_create_args_t__bindgen_ty_1__bindgen_ty_3>() - 24usize];
    ["Alignment of H5VL_link_create_args_t__bindgen_ty_1__bindgen_ty_3"]
        [align_of::<H5VL_link_create_args_t__bindgen_ty_1__bindgen_ty_3>() - 8usize];
    ["Offset of field: H5VL_link_create_args_t__bindgen_ty_1__bindgen_ty_3::type_"][offset_of!(
        H5VL_link_create_args_t__bindgen_ty_1__bindgen_ty_3,
        type_
    ) - 0usize];
    ["Offset of field: H5VL_link_create_args_t__bindgen_ty_1__bindgen_ty_3::buf"]
        [offset_of!(H5VL_link_create_args_t__bindgen_ty_1__bindgen_ty_3, buf) - 8usize];
    ["Offset of field: H5VL_link_create_args_t__bindgen_ty_1__bindgen_ty_3::buf_size"][offset_of!(
        H5VL_link_create_args_t__bindgen_ty_1__bindgen_ty_3,
        buf_size
    ) - 16usize];
};
const _: () = {
    ["Size of H5VL_link_create_args_t__bindgen_ty_1"]
        [size_of::<H5VL_link_create_args_t__bindgen_ty_1>() - 48usize];
    ["Alignment of H5VL_link_create_args_t__bindgen_ty_1"]
        [align_of::<H5VL_link_create_args_t__bindgen_ty_1>() - 8usize];
    ["Offset of field: H5VL_link_create_args_t__bindgen_ty_1::hard"]
        [offset_of!(H5VL_link_create_args_t__bindgen_ty_1, hard) - 0usize];
    ["Offset of field: H5VL_link_create_args_t__bindgen_ty_1::soft"]
        [offset_of!(H5VL_link_create_args_t__bindgen_ty_1, soft) - 0usize];
    ["Offset of field: H5VL_link_create_args_t__bindgen_ty_1::ud"]
        [offset_of!(H5VL_link_create_args_t__bindgen_ty_1, ud) - 0usize];
};
const _: () = {
    ["Size of H5VL_link_create_args_t"][size_of::<H5VL_link_create_args_t>() - 56usize];
    ["Alignment of H5VL_link_create_args_t"]
        [align_of::<H5VL_link_create_args_t>() - 8usize];
    ["Offset of field: H5VL_link_create_args_t::op_type"]
        [offset_of!(H5VL_link_create_args_t, op_type) - 0usize];
    ["Offset of field: H5VL_link_create_args_t::args"]
        [offset_of!(H5VL_link_create_args_t, args) - 8usize];
};
pub const H5VL_LINK_GET_INFO: H5VL_link_get_t = 0;
pub const H5VL_LINK_GET_NAME: H5VL_link_get_t = 1;
pub const H5VL_LINK_GET_VAL: H5VL_link_get_t = 2;
pub type H5VL_link_get_t = c_uint;
#[repr(C)]
#[derive(Copy, Clone)]
pub struct H5VL_link_get_args_t {
    pub op_type: H5VL_link_get_t,
    pub args: H5VL_link_get_args_t__bindgen_ty_1,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub union H5VL_link_get_args_t__bindgen_ty_1 {
    pub get_info: H5VL_link_get_args_t__bindgen_ty_1__bindgen_ty_1,
    pub get_name: H5VL_link_get_args_t__bindgen_ty_1__bindgen_ty_2,
    pub get_val: H5VL_link_get_args_t__bindgen_ty_1__bindgen_ty_3,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct H5VL_link_get_args_t__bindgen_ty_1__bindgen_ty_1 {
    pub linfo: *mut H5L_info2_t,
}
const _: () = {
    ["Size of H5VL_link_get_args_t__bindgen_ty_1__bindgen_ty_1"]
        [size_of::<H5VL_link_get_args_t__bindgen_ty_1__bindgen_ty_1>() - 8usize];
    ["Alignment of H5VL_link_get_args_t__bindgen_ty_1__bindgen_ty_1"]
        [align_of::<H5VL_link_get_args_t__bindgen_ty_1__bindgen_ty_1>() - 8usize];
    ["Offset of field: H5VL_link_get_args_t__bindgen_ty_1__bindgen_ty_1::linfo"]
        [offset_of!(H5VL_link_get_args_t__bindgen_ty_1__bindgen_ty_1, linfo) - 0usize];
};
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct H5VL_link_get_args_t__bindgen_ty_1__bindgen_ty_2 {
    pub name_size: usize,
    pub name: *mut c_char,
    pub name_len: *mut usize,
}
const _: () = {
    ["Size of H5VL_link_get_args_t__bindgen_ty_1__bindgen_ty_2"]
        [size_of::<H5VL_link_get_args_t__bindgen_ty_1__bindgen_ty_2>() - 24usize];
    ["Alignment of H5VL_link_get_args_t__bindgen_ty_1__bindgen_ty_2"]
        [align_of::<H5VL_link_get_args_t__bindgen_ty_1__bindgen_ty_2>() - 8usize];
    ["Offset of field: H5VL_link_get_args_t__bindgen_ty_1__bindgen_ty_2::name_size"][offset_of!(
        H5VL_link_get_args_t__bindgen_ty_1__bindgen_ty_2,
        name_size
    ) - 0usize];
    ["Offset of field: H5VL_link_get_args_t__bindgen_ty_1__bindgen_ty_2::name"]
        [offset_of!(H5VL_link_get_args_t__bindgen_ty_1__bindgen_ty_2, name) - 8usize];
    ["Offset of field: H5VL_link_get_args_t__bindgen_ty_1__bindgen_ty_2::name_len"][offset_of!(
        H5VL_link_get_args_t__bindgen_ty_1__bindgen_ty_2,
        name_len
    ) - 16usize];
};
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct H5VL_link_get_args_t__bindgen_ty_1__bindgen_ty_3 {
    pub buf_size: usize,
    pub buf: *mut c_void,
}
const _: () = {
    ["Size of H5VL_link_get_args_t__bindgen_ty_1__bindgen_ty_3"]
        [size_of::<H5VL_link_get_args_t__bindgen_ty_1__bindgen_ty_3>() - 16usize];
    ["Alignment of H5VL_link_get_args_t__bindgen_ty_1__bindgen_ty_3"]
        [align_of::<H5VL_link_get_args_t__bindgen_ty_1__bindgen_ty_3>() - 8usize];
    ["Offset of field: H5VL_link_get_args_t__bindgen_ty_1__bindgen_ty_3::buf_size"][offset_of!(
        H5VL_link_get_args_t__bindgen_ty_1__bindgen_ty_3,
        buf_size
    ) - 0usize];
    ["Offset of field: H5VL_link_get_args_t__bindgen_ty_1__bindgen_ty_3::buf"]
        [offset_of!(H5VL_link_get_args_t__bindgen_ty_1__bindgen_ty_3, buf) - 8usize];
};
const _: () = {
    ["Size of H5VL_link_get_args_t__bindgen_ty_1"]
        [size_of::<H5VL_link_get_args_t__bindgen_ty_1>() - 24usize];
    ["Alignment of H5VL_link_get_args_t__bindgen_ty_1"]
        [align_of::<H5VL_link_get_args_t__bindgen_ty_1>() - 8usize];
    ["Offset of field: H5VL_link_get_args_t__bindgen_ty_1::get_info"]
        [offset_of!(H5VL_link_get_args_t__bindgen_ty_1, get_info) - 0usize];
    ["Offset of field: H5VL_link_get_args_t__bindgen_ty_1::get_name"]
        [offset_of!(H5VL_link_get_args_t__bindgen_ty_1, get_name) - 0usize];
    ["Offset of field: H5VL_link_get_args_t__bindgen_ty_1::get_val"]
        [offset_of!(H5VL_link_get_args_t__bindgen_ty_1, get_val) - 0usize];
};
const _: () = {
    ["Size of H5VL_link_get_args_t"][size_of::<H5VL_link_get_args_t>() - 32usize];
    ["Alignment of H5VL_link_get_args_t"][align_of::<H5VL_link_get_args_t>() - 8usize];
    ["Offset of field: H5VL_link_get_args_t::op_type"]
        [offset_of!(H5VL_link_get_args_t, op_type) - 0usize];
    ["Offset of field: H5VL_link_get_args_t::args"]
        [offset_of!(H5VL_link_get_args_t, args) - 8usize];
};
pub const H5VL_LINK_DELETE: H5VL_link_specific_t = 0;
pub const H5VL_LINK_EXISTS: H5VL_link_specific_t = 1;
pub const H5VL_LINK_ITER: H5VL_link_specific_t = 2;
pub type H5VL_link_specific_t = c_uint;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct H5VL_link_iterate_args_t {
    pub recursive: hbool_t,
    pub idx_type: H5_index_t,
    pub order: H5_iter_order_t,
    pub idx_p: *mut hsize_t,
    pub op: H5L_iterate2_t,
    pub op_data: *mut c_void,
}
const _: () = {
    ["Size of H5VL_link_iterate_args_t"]
        [size_of::<H5VL_link_iterate_args_t>() - 40usize];
    ["Alignment of H5VL_link_iterate_args_t"]
        [align_of::<H5VL_link_iterate_args_t>() - 8usize];
    ["Offset of field: H5VL_link_iterate_args_t::recursive"]
        [offset_of!(H5VL_link_iterate_args_t, recursive) - 0usize];
    ["Offset of field: H5VL_link_iterate_args_t::idx_type"]
        [offset_of!(H5VL_link_iterate_args_t, idx_type) - 4usize];
    ["Offset of field: H5VL_link_iterate_args_t::order"]
        [offset_of!(H5VL_link_iterate_args_t, order) - 8usize];
    ["Offset of field: H5VL_link_iterate_args_t::idx_p"]
        [offset_of!(H5VL_link_iterate_args_t, idx_p) - 16usize];
    ["Offset of field: H5VL_link_iterate_args_t::op"]
        [offset_of!(H5VL_link_iterate_args_t, op) - 24usize];
    ["Offset of field: H5VL_link_iterate_args_t::op_data"]
        [offset_of!(H5VL_link_iterate_args_t, op_data) - 32usize];
};
#[repr(C)]
#[derive(Copy, Clone)]
pub struct H5VL_link_specific_args_t {
    pub op_type: H5VL_link_specific_t,
    pub args: H5VL_link_specific_args_t__bindgen_ty_1,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub union H5VL_link_specific_args_t__bindgen_ty_1 {
    pub exists: H5VL_link_specific_args_t__bindgen_ty_1__bindgen_ty_1,
    pub iterate: H5VL_link_iterate_args_t,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct H5VL_link_specific_args_t__bindgen_ty_1__bindgen_ty_1 {
    pub exists: *mut hbool_t,
}
const _: () = {
    ["Size of H5VL_link_specific_args_t__bindgen_ty_1__bindgen_ty_1"]
        [size_of::<H5VL_link_specific_args_t__bindgen_ty_1__bindgen_ty_1>() - 8usize];
    ["Alignment of H5VL_link_specific_args_t__bindgen_ty_1__bindgen_ty_1"]
        [align_of::<H5VL_link_specific_args_t__bindgen_ty_1__bindgen_ty_1>() - 8usize];
    ["Offset of field: H5VL_link_specific_args_t__bindgen_ty_1__bindgen_ty_1::exists"][offset_of!(
        H5VL_link_specific_args_t__bindgen_ty_1__bindgen_ty_1,
        exists
    ) - 0usize];
};
const _: () = {
    ["Size of H5VL_link_specific_args_t__bindgen_ty_1"]
        [size_of::<H5VL_link_specific_args_t__bindgen_ty_1>() - 40usize];
    ["Alignment of H5VL_link_specific_args_t__bindgen_ty_1"]
        [align_of::<H5VL_link_specific_args_t__bindgen_ty_1>() - 8usize];
    ["Offset of field: H5VL_link_specific_args_t__bindgen_ty_1::exists"]
        [offset_of!(H5VL_link_specific_args_t__bindgen_ty_1, exists) - 0usize];
    ["Offset of field: H5VL_link_specific_args_t__bindgen_ty_1::iterate"]
        [offset_of!(H5VL_link_specific_args_t__bindgen_ty_1, iterate) - 0usize];
};
const _: () = {
    ["Size of H5VL_link_specific_args_t"]
        [size_of::<H5VL_link_specific_args_t>() - 48usize];
    ["Alignment of H5VL_link_specific_args_t"]
        [align_of::<H5VL_link_specific_args_t>() - 8usize];
    ["Offset of field: H5VL_link_specific_args_t::op_type"]
        [offset_of!(H5VL_link_specific_args_t, op_type) - 0usize];
    ["Offset of field: H5VL_link_specific_args_t::args"]
        [offset_of!(H5VL_link_specific_args_t, args) - 8usize];
};
pub const H5VL_OBJECT_GET_FILE: H5VL_object_get_t = 0;
pub const H5VL_OBJECT_GET_NAME: H5VL_object_get_t = 1;
pub const H5VL_OBJECT_GET_TYPE: H5VL_object_get_t = 2;
pub const H5VL_OBJECT_GET_INFO: H5VL_object_get_t = 3;
pub type H5VL_object_get_t = c_uint;
#[repr(C)]
#[derive(Copy, Clone)]
pub struct H5VL_object_get_args_t {
    pub op_type: H5VL_object_get_t,
    pub args: H5VL_object_get_args_t__bindgen_ty_1,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub union H5VL_object_get_args_t__bindgen_ty_1 {
    pub get_file: H5VL_object_get_args_t__bindgen_ty_1__bindgen_ty_1,
    pub get_name: H5VL_object_get_args_t__bindgen_ty_1__bindgen_ty_2,
    pub get_type: H5VL_object_get_args_t__bindgen_ty_1__bindgen_ty_3,
    pub get_info: H5VL_object_get_args_t__bindgen_ty_1__bindgen_ty_4,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct H5VL_object_get_args_t__bindgen_ty_1__bindgen_ty_1 {
    pub file: *mut *mut c_void,
}
const _: () = {
    ["Size of H5VL_object_get_args_t__bindgen_ty_1__bindgen_ty_1"]
        [size_of::<H5VL_object_get_args_t__bindgen_ty_1__bindgen_ty_1>() - 8usize];
    ["Alignment of H5VL_object_get_args_t__bindgen_ty_1__bindgen_ty_1"]
        [align_of::<H5VL_object_get_args_t__bindgen_ty_1__bindgen_ty_1>() - 8usize];
    ["Offset of field: H5VL_object_get_args_t__bindgen_ty_1__bindgen_ty_1::file"]
        [offset_of!(H5VL_object_get_args_t__bindgen_ty_1__bindgen_ty_1, file) - 0usize];
};
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct H5VL_object_get_args_t__bindgen_ty_1__bindgen_ty_2 {
    pub buf_size: usize,
    pub buf: *mut c_char,
    pub name_len: *mut usize,
}
const _: () = {
    ["Size of H5VL_object_get_args_t__bindgen_ty_1__bindgen_ty_2"]
        [size_of::<H5VL_object_get_args_t__bindgen_ty_1__bindgen_ty_2>() - 24usize];
    ["Alignment of H5VL_object_get_args_t__bindgen_ty_1__bindgen_ty_2"]
        [align_of::<H5VL_object_get_args_t__bindgen_ty_1__bindgen_ty_2>() - 8usize];
    ["Offset of field: H5VL_object_get_args_t__bindgen_ty_1__bindgen_ty_2::buf_size"][offset_of!(
        H5VL_object_get_args_t__bindgen_ty_1__bindgen_ty_2,
        buf_size
    ) - 0usize];
    ["Offset of field: H5VL_object_get_args_t__bindgen_ty_1__bindgen_ty_2::buf"]
        [offset_of!(H5VL_object_get_args_t__bindgen_ty_1__bindgen_ty_2, buf) - 8usize];
    ["Offset of field: H5VL_object_get_args_t__bindgen_ty_1__bindgen_ty_2::name_len"][offset_of!(
        H5VL_object_get_args_t__bindgen_ty_1__bindgen_ty_2,
        name_len
    ) - 16usize];
};
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct H5VL_object_get_args_t__bindgen_ty_1__bindgen_ty_3 {
    pub obj_type: *mut H5O_type_t,
}
const _: () = {
    ["Size of H5VL_object_get_args_t__bindgen_ty_1__bindgen_ty_3"]
        [size_of::<H5VL_object_get_args_t__bindgen_ty_1__bindgen_ty_3>() - 8usize];
    ["Alignment of H5VL_object_get_args_t__bindgen_ty_1__bindgen_ty_3"]
        [align_of::<H5VL_object_get_args_t__bindgen_ty_1__bindgen_ty_3>() - 8usize];
    ["Offset of field: H5VL_object_get_args_t__bindgen_ty_1__bindgen_ty_3::obj_type"][offset_of!(
        H5VL_object_get_args_t__bindgen_ty_1__bindgen_ty_3,
        obj_type
    ) - 0usize];
};
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct H5VL_object_get_args_t__bindgen_ty_1__bindgen_ty_4 {
    pub fields: c_uint,
    pub oinfo: *mut H5O_info2_t,
}
const _: () = {
    ["Size of H5VL_object_get_args_t__bindgen_ty_1__bindgen_ty_4"]
        [size_of::<H5VL_object_get_args_t__bindgen_ty_1__bindgen_ty_4>() - 16usize];
    ["Alignment of H5VL_object_get_args_t__bindgen_ty_1__bindgen_ty_4"]
        [align_of::<H5VL_object_get_args_t__bindgen_ty_1__bindgen_ty_4>() - 8usize];
    ["Offset of field: H5VL_object_get_args_t__bindgen_ty_1__bindgen_ty_4::fields"][offset_of!(
        H5VL_object_get_args_t__bindgen_ty_1__bindgen_ty_4,
        fields
    ) - 0usize];
    ["Offset of field: H5VL_object_get_args_t__bindgen_ty_1__bindgen_ty_4::oinfo"][offset_of!(
        H5VL_object_get_args_t__bindgen_ty_1__bindgen_ty_4,
        oinfo
    ) - 8usize];
};
const _: () = {
    ["Size of H5VL_object_get_args_t__bindgen_ty_1"]
        [size_of::<H5VL_object_get_args_t__bindgen_ty_1>() - 24usize];
    ["Alignment of H5VL_object_get_args_t__bindgen_ty_1"]
        [align_of::<H5VL_object_get_args_t__bindgen_ty_1>() - 8usize];
    ["Offset of field: H5VL_object_get_args_t__bindgen_ty_1::get_file"]
        [offset_of!(H5VL_object_get_args_t__bindgen_ty_1, get_file) - 0usize];
    ["Offset of field: H5VL_object_get_args_t__bindgen_ty_1::get_name"]
        [offset_of!(H5VL_object_get_args_t__bindgen_ty_1, get_name) - 0usize];
    ["Offset of field: H5VL_object_get_args_t__bindgen_ty_1::get_type"]
        [offset_of!(H5VL_object_get_args_t__bindgen_ty_1, get_type) - 0usize];
    ["Offset of field: H5VL_object_get_args_t__bindgen_ty_1::get_info"]
        [offset_of!(H5VL_object_get_args_t__bindgen_ty_1, get_info) - 0usize];
};
const _: () = {
    ["Size of H5VL_object_get_args_t"][size_of::<H5VL_object_get_args_t>() - 32usize];
    ["Alignment of H5VL_object_get_args_t"]
        [align_of::<H5VL_object_get_args_t>() - 8usize];
    ["Offset of field: H5VL_object_get_args_t::op_type"]
        [offset_of!(H5VL_object_get_args_t, op_type) - 0usize];
    ["Offset of field: H5VL_object_get_args_t::args"]
        [offset_of!(H5VL_object_get_args_t, args) - 8usize];
};
pub const H5VL_OBJECT_CHANGE_REF_COUNT: H5VL_object_specific_t = 0;
pub const H5VL_OBJECT_EXISTS: H5VL_object_specific_t = 1;
pub const H5VL_OBJECT_LOOKUP: H5VL_object_specific_t = 2;
pub const H5VL_OBJECT_VISIT: H5VL_object_specific_t = 3;
pub const H5VL_OBJECT_FLUSH: H5VL_object_specific_t = 4;
pub const H5VL_OBJECT_REFRESH: H5VL_object_specific_t = 5;
pub type H5VL_object_specific_t = c_uint;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct H5VL_object_visit_args_t {
    pub idx_type: H5_index_t,
    pub order: H5_iter_order_t,
    pub fields: c_uint,
    pub op: H5O_iterate2_t,
    pub op_data: *mut c_void,
}
const _: () = {
    ["Size of H5VL_object_visit_args_t"]
        [size_of::<H5VL_object_visit_args_t>() - 32usize];
    ["Alignment of H5VL_object_visit_args_t"]
        [align_of::<H5VL_object_visit_args_t>() - 8usize];
    ["Offset of field: H5VL_object_visit_args_t::idx_type"]
        [offset_of!(H5VL_object_visit_args_t, idx_type) - 0usize];
    ["Offset of field: H5VL_object_visit_args_t::order"]
        [offset_of!(H5VL_object_visit_args_t, order) - 4usize];
    ["Offset of field: H5VL_object_visit_args_t::fields"]
        [offset_of!(H5VL_object_visit_args_t, fields) - 8usize];
    ["Offset of field: H5VL_object_visit_args_t::op"]
        [offset_of!(H5VL_object_visit_args_t, op) - 16usize];
    ["Offset of field: H5VL_object_visit_args_t::op_data"]
        [offset_of!(H5VL_object_visit_args_t, op_data) - 24usize];
};
#[repr(C)]
#[derive(Copy, Clone)]
pub struct H5VL_object_specific_args_t {
    pub op_type: H5VL_object_specific_t,
    pub args: H5VL_object_specific_args_t__bindgen_ty_1,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub union H5VL_object_specific_args_t__bindgen_ty_1 {
    pub change_rc: H5VL_object_specific_args_t__bindgen_ty_1__bindgen_ty_1,
    pub exists: H5VL_object_specific_args_t__bindgen_ty_1__bindgen_ty_2,
    pub lookup: H5VL_object_specific_args_t__bindgen_ty_1__bindgen_ty_3,
    pub visit: H5VL_object_visit_args_t,
    pub flush: H5VL_object_specific_args_t__bindgen_ty_1__bindgen_ty_4,
    pub refresh: H5VL_object_specific_args_t__bindgen_ty_1__bindgen_ty_5,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct H5VL_object_specific_args_t__bindgen_ty_1__bindgen_ty_1 {
    pub delta: c_int,
}
const _: () = {
    ["Size of H5VL_object_specific_args_t__bindgen_ty_1__bindgen_ty_1"]
        [size_of::<H5VL_object_specific_args_t__bindgen_ty_1__bindgen_ty_1>() - 4usize];
    ["Alignment of H5VL_object_specific_args_t__bindgen_ty_1__bindgen_ty_1"][align_of::<
        H5VL_object_specific_args_t__bindgen_ty_1__bindgen_ty_1,
    >() - 4usize];
    ["Offset of field: H5VL_object_specific_args_t__bindgen_ty_1__bindgen_ty_1::delta"][offset_of!(
        H5VL_object_specific_args_t__bindgen_ty_1__bindgen_ty_1,
        delta
    ) - 0usize];
};
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct H5VL_object_specific_args_t__bindgen_ty_1__bindgen_ty_2 {
    pub exists: *mut hbool_t,
}
const _: () = {
    ["Size of H5VL_object_specific_args_t__bindgen_ty_1__bindgen_ty_2"]
        [size_of::<H5VL_object_specific_args_t__bindgen_ty_1__bindgen_ty_2>() - 8usize];
    ["Alignment of H5VL_object_specific_args_t__bindgen_ty_1__bindgen_ty_2"][align_of::<
        H5VL_object_specific_args_t__bindgen_ty_1__bindgen_ty_2,
    >() - 8usize];
    ["Offset of field: H5VL_object_specific_args_t__bindgen_ty_1__bindgen_ty_2::exists"][offset_of!(
        H5VL_object_specific_args_t__bindgen_ty_1__bindgen_ty_2,
        exists
    )
        - 0usize];
};
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct H5VL_object_specific_args_t__bindgen_ty_1__bindgen_ty_3 {
    pub token_ptr: *mut H5O_token_t,
}
const _: () = {
    ["Size of H5VL_object_specific_args_t__bindgen_ty_1__bindgen_ty_3"]
        [size_of::<H5VL_object_specific_args_t__bindgen_ty_1__bindgen_ty_3>() - 8usize];
    ["Alignment of H5VL_object_specific_args_t__bindgen_ty_1__bindgen_ty_3"][align_of::<
        H5VL_object_specific_args_t__bindgen_ty_1__bindgen_ty_3,
    >() - 8usize];
    ["Offset of field: H5VL_object_specific_args_t__bindgen_ty_1__bindgen_ty_3::token_ptr"][offset_of!(
        H5VL_object_specific_args_t__bindgen_ty_1__bindgen_ty_3,
        token_ptr
    )
        - 0usize];
};
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct H5VL_object_specific_args_t__bindgen_ty_1__bindgen_ty_4 {
    pub obj_id: hid_t,
}
const _: () = {
    ["Size of H5VL_object_specific_args_t__bindgen_ty_1__bindgen_ty_4"]
        [size_of::<H5VL_object_specific_args_t__bindgen_ty_1__bindgen_ty_4>() - 8usize];
    ["Alignment of H5VL_object_specific_args_t__bindgen_ty_1__bindgen_ty_4"][align_of::<
        H5VL_object_specific_args_t__bindgen_ty_1__bindgen_ty_4,
    >() - 8usize];
    ["Offset of field: H5VL_object_specific_args_t__bindgen_ty_1__bindgen_ty_4::obj_id"][offset_of!(
        H5VL_object_specific_args_t__bindgen_ty_1__bindgen_ty_4,
        obj_id
    )
        - 0usize];
};
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct H5VL_object_specific_args_t__bindgen_ty_1__bindgen_ty_5 {
    pub obj_id: hid_t,
}
const _: () = {
    ["Size of H5VL_object_specific_args_t__bindgen_ty_1__bindgen_ty_5"]
        [size_of::<H5VL_object_specific_args_t__bindgen_ty_1__bindgen_ty_5>() - 8usize];
    ["Alignment of H5VL_object_specific_args_t__bindgen_ty_1__bindgen_ty_5"][align_of::<
        H5VL_object_specific_args_t__bindgen_ty_1__bindgen_ty_5,
    >() - 8usize];
    ["Offset of field: H5VL_object_specific_args_t__bindgen_ty_1__bindgen_ty_5::obj_id"][offset_of!(
        H5VL_object_specific_args_t__bindgen_ty_1__bindgen_ty_5,
        obj_id
    )
        - 0usize];
};
const _: () = {
    ["Size of H5VL_object_specific_args_t__bindgen_ty_1"]
        [size_of::<H5VL_object_specific_args_t__bindgen_ty_1>() - 32usize];
    ["Alignment of H5VL_object_specific_args_t__bindgen_ty_1"]
        [align_of::<H5VL_object_specific_args_t__bindgen_ty_1>() - 8usize];
    ["Offset of field: H5VL_object_specific_args_t__bindgen_ty_1::change_rc"]
        [offset_of!(H5VL_object_specific_args_t__bindgen_ty_1, change_rc) - 0usize];
    ["Offset of field: H5VL_object_specific_args_t__bindgen_ty_1::exists"]
        [offset_of!(H5VL_object_specific_args_t__bindgen_ty_1, exists) - 0usize];
    ["Offset of field: H5VL_object_specific_args_t__bindgen_ty_1::lookup"]
        [offset_of!(H5VL_object_specific_args_t__bindgen_ty_1, lookup) - 0usize];
    ["Offset of field: H5VL_object_specific_args_t__bindgen_ty_1::visit"]
        [offset_of!(H5VL_object_specific_args_t__bindgen_ty_1, visit) - 0usize];
    ["Offset of field: H5VL_object_specific_args_t__bindgen_ty_1::flush"]
        [offset_of!(H5VL_object_specific_args_t__bindgen_ty_1, flush) - 0usize];
    ["Offset of field: H5VL_object_specific_args_t__bindgen_ty_1::refresh"]
        [offset_of!(H5VL_object_specific_args_t__bindgen_ty_1, refresh) - 0usize];
};
const _: () = {
    ["Size of H5VL_object_specific_args_t"]
        [size_of::<H5VL_object_specific_args_t>() - 40usize];
    ["Alignment of H5VL_object_specific_args_t"]
        [align_of::<H5VL_object_specific_args_t>() - 8usize];
    ["Offset of field: H5VL_object_specific_args_t::op_type"]
        [offset_of!(H5VL_object_specific_args_t, op_type) - 0usize];
    ["Offset of field: H5VL_object_specific_args_t::args"]
        [offset_of!(H5VL_object_specific_args_t, args) - 8usize];
};
pub const H5VL_REQUEST_STATUS_IN_PROGRESS: H5VL_request_status_t = 0;
pub const H5VL_REQUEST_STATUS_SUCCEED: H5VL_request_status_t = 1;
pub const H5VL_REQUEST_STATUS_FAIL: H5VL_request_status_t = 2;
pub const H5VL_REQUEST_STATUS_CANT_CANCEL: H5VL_request_status_t = 3;
pub const H5VL_REQUEST_STATUS_CANCELED: H5VL_request_status_t = 4;
pub type H5VL_request_status_t = c_uint;
pub const H5VL_REQUEST_GET_ERR_STACK: H5VL_request_specific_t = 0;
pub const H5VL_REQUEST_GET_EXEC_TIME: H5VL_request_specific_t = 1;
pub type H5VL_request_specific_t = c_uint;
#[repr(C)]
#[derive(Copy, Clone)]
pub struct H5VL_request_specific_args_t {
    pub op_type: H5VL_request_specific_t,
    pub args: H5VL_request_specific_args_t__bindgen_ty_1,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub union H5VL_request_specific_args_t__bindgen_ty_1 {
    pub get_err_stack: H5VL_request_specific_args_t__bindgen_ty_1__bindgen_ty_1,
    pub get_exec_time: H5VL_request_specific_args_t__bindgen_ty_1__bindgen_ty_2,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct H5VL_request_specific_args_t__bindgen_ty_1__bindgen_ty_1 {
    pub err_stack_id: hid_t,
}
const _: () = {
    ["Size of H5VL_request_specific_args_t__bindgen_ty_1__bindgen_ty_1"][size_of::<
        H5VL_request_specific_args_t__bindgen_ty_1__bindgen_ty_1,
    >() - 8usize];
    ["Alignment of H5VL_request_specific_args_t__bindgen_ty_1__bindgen_ty_1"][align_of::<
        H5VL_request_specific_args_t__bindgen_ty_1__bindgen_ty_1,
    >() - 8usize];
    ["Offset of field: H5VL_request_specific_args_t__bindgen_ty_1__bindgen_ty_1::err_stack_id"][offset_of!(
        H5VL_request_specific_args_t__bindgen_ty_1__bindgen_ty_1,
        err_stack_id
    )
        - 0usize];
};
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct H5VL_request_specific_args_t__bindgen_ty_1__bindgen_ty_2 {
    pub exec_ts: *mut u64,
    pub exec_time: *mut u64,
}
const _: () = {
    ["Size of H5VL_request_specific_args_t__bindgen_ty_1__bindgen_ty_2"][size_of::<
        H5VL_request_specific_args_t__bindgen_ty_1__bindgen_ty_2,
    >() - 16usize];
    ["Alignment of H5VL_request_specific_args_t__bindgen_ty_1__bindgen_ty_2"][align_of::<
        H5VL_request_specific_args_t__bindgen_ty_1__bindgen_ty_2,
    >() - 8usize];
    ["Offset of field: H5VL_request_specific_args_t__bindgen_ty_1__bindgen_ty_2::exec_ts"][offset_of!(
        H5VL_request_specific_args_t__bindgen_ty_1__bindgen_ty_2,
        exec_ts
    )
        - 0usize];
    ["Offset of field: H5VL_request_specific_args_t__bindgen_ty_1__bindgen_ty_2::exec_time"][offset_of!(
        H5VL_request_specific_args_t__bindgen_ty_1__bindgen_ty_2,
        exec_time
    )
        - 8usize];
};
const _: () = {
    ["Size of H5VL_request_specific_args_t__bindgen_ty_1"]
        [size_of::<H5VL_request_specific_args_t__bindgen_ty_1>() - 16usize];
    ["Alignment of H5VL_request_specific_args_t__bindgen_ty_1"]
        [align_of::<H5VL_request_specific_args_t__bindgen_ty_1>() - 8usize];
    ["Offset of field: H5VL_request_specific_args_t__bindgen_ty_1::get_err_stack"][offset_of!(
        H5VL_request_specific_args_t__bindgen_ty_1,
        get_err_stack
    ) - 0usize];
    ["Offset of field: H5VL_request_specific_args_t__bindgen_ty_1::get_exec_time"][offset_of!(
        H5VL_request_specific_args_t__bindgen_ty_1,
        get_exec_time
    ) - 0usize];
};
const _: () = {
    ["Size of H5VL_request_specific_args_t"]
        [size_of::<H5VL_request_specific_args_t>() - 24usize];
    ["Alignment of H5VL_request_specific_args_t"]
        [align_of::<H5VL_request_specific_args_t>() - 8usize];
    ["Offset of field: H5VL_request_specific_args_t::op_type"]
        [offset_of!(H5VL_request_specific_args_t, op_type) - 0usize];
    ["Offset of field: H5VL_request_specific_args_t::args"]
        [offset_of!(H5VL_request_specific_args_t, args) - 8usize];
};
pub const H5VL_BLOB_DELETE: H5VL_blob_specific_t = 0;
pub const H5VL_BLOB_ISNULL: H5VL_blob_specific_t = 1;
pub const H5VL_BLOB_SETNULL: H5VL_blob_specific_t = 2;
pub type H5VL_blob_specific_t = c_uint;
#[repr(C)]
#[derive(Copy, Clone)]
pub struct H5VL_blob_specific_args_t {
    pub op_type: H5VL_blob_specific_t,
    pub args: H5VL_blob_specific_args_t__bindgen_ty_1,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub union H5VL_blob_specific_args_t__bindgen_ty_1 {
    pub is_null: H5VL_blob_specific_args_t__bindgen_ty_1__bindgen_ty_1,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct H5VL_blob_specific_args_t__bindgen_ty_1__bindgen_ty_1 {
    pub isnull: *mut hbool_t,
}
const _: () = {
    ["Size of H5VL_blob_specific_args_t__bindgen_ty_1__bindgen_ty_1"]
        [size_of::<H5VL_blob_specific_args_t__bindgen_ty_1__bindgen_ty_1>() - 8usize];
    ["Alignment of H5VL_blob_specific_args_t__bindgen_ty_1__bindgen_ty_1"]
        [align_of::<H5VL_blob_specific_args_t__bindgen_ty_1__bindgen_ty_1>() - 8usize];
    ["Offset of field: H5VL_blob_specific_args_t__bindgen_ty_1__bindgen_ty_1::isnull"][offset_of!(
        H5VL_blob_specific_args_t__bindgen_ty_1__bindgen_ty_1,
        isnull
    ) - 0usize];
};
const _: () = {
    ["Size of H5VL_blob_specific_args_t__bindgen_ty_1"]
        [size_of::<H5VL_blob_specific_args_t__bindgen_ty_1>() - 8usize];
    ["Alignment of H5VL_blob_specific_args_t__bindgen_ty_1"]
        [align_of::<H5VL_blob_specific_args_t__bindgen_ty_1>() - 8usize];
    ["Offset of field: H5VL_blob_specific_args_t__bindgen_ty_1::is_null"]
        [offset_of!(H5VL_blob_specific_args_t__bindgen_ty_1, is_null) - 0usize];
};
const _: () = {
    ["Size of H5VL_blob_specific_args_t"]
        [size_of::<H5VL_blob_specific_args_t>() - 16usize];
    ["Alignment of H5VL_blob_specific_args_t"]
        [align_of::<H5VL_blob_specific_args_t>() - 8usize];
    ["Offset of field: H5VL_blob_specific_args_t::op_type"]
        [offset_of!(H5VL_blob_specific_args_t, op_type) - 0usize];
    ["Offset of field: H5VL_blob_specific_args_t::args"]
        [offset_of!(H5VL_blob_specific_args_t, args) - 8usize];
};
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct H5VL_info_class_t {
    pub size: usize,
    pub copy: Option<
        unsafe extern "C" fn(info: *const c_void) -> *mut c_void,
    >,
    pub cmp: Option<
        unsafe extern "C" fn(
            cmp_value: *mut c_int,
            info1: *const c_void,
            info2: *const c_void,
        ) -> herr_t,
    >,
    pub free:
        Option<unsafe extern "C" fn(info: *mut c_void) -> herr_t>,
    pub to_str: Option<
        unsafe extern "C" fn(
            info: *const c_void,
            str_: *mut *mut c_char,
        ) -> herr_t,
    >,
    pub from_str: Option<
        unsafe extern "C" fn(
            str_: *const c_char,
            info: *mut *mut c_void,
        ) -> herr_t,
    >,
}
const _: () = {
    ["Size of H5VL_info_class_t"][size_of::<H5VL_info_class_t>() - 48usize];
    ["Alignment of H5VL_info_class_t"][align_of::<H5VL_info_class_t>() - 8usize];
    ["Offset of field: H5VL_info_class_t::size"]
        [offset_of!(H5VL_info_class_t, size) - 0usize];
    ["Offset of field: H5VL_info_class_t::copy"]
        [offset_of!(H5VL_info_class_t, copy) - 8usize];
    ["Offset of field: H5VL_info_class_t::cmp"]
        [offset_of!(H5VL_info_class_t, cmp) - 16usize];
    ["Offset of field: H5VL_info_class_t::free"]
        [offset_of!(H5VL_info_class_t, free) - 24usize];
    ["Offset of field: H5VL_info_class_t::to_str"]
        [offset_of!(H5VL_info_class_t, to_str) - 32usize];
    ["Offset of field: H5VL_info_class_t::from_str"]
        [offset_of!(H5VL_info_class_t, from_str) - 40usize];
};
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct H5VL_wrap_class_t {
    pub get_object: Option<
        unsafe extern "C" fn(obj: *const c_void) -> *mut c_void,
    >,
    pub get_wrap_ctx: Option<
        unsafe extern "C" fn(
            obj: *const c_void,
            wrap_ctx: *mut *mut c_void,
        ) -> herr_t,
    >,
    pub wrap_object: Option<
        unsafe extern "C" fn(
            obj: *mut c_void,
            obj_type: H5I_type_t,
            wrap_ctx: *mut c_void,
        ) -> *mut c_void,
    >,
    pub unwrap_object: Option<
        unsafe extern "C" fn(obj: *mut c_void) -> *mut c_void,
    >,
    pub free_wrap_ctx: Option<
        unsafe extern "C" fn(wrap_ctx: *mut c_void) -> herr_t,
    >,
}
const _: () = {
    ["Size of H5VL_wrap_class_t"][size_of::<H5VL_wrap_class_t>() - 40usize];
    ["Alignment of H5VL_wrap_class_t"][align_of::<H5VL_wrap_class_t>() - 8usize];
    ["Offset of field: H5VL_wrap_class_t::get_object"]
        [offset_of!(H5VL_wrap_class_t, get_object) - 0usize];
    ["Offset of field: H5VL_wrap_class_t::get_wrap_ctx"]
        [offset_of!(H5VL_wrap_class_t, get_wrap_ctx) - 8usize];
    ["Offset of field: H5VL_wrap_class_t::wrap_object"]
        [offset_of!(H5VL_wrap_class_t, wrap_object) - 16usize];
    ["Offset of field: H5VL_wrap_class_t::unwrap_object"]
        [offset_of!(H5VL_wrap_class_t, unwrap_object) - 24usize];
    ["Offset of field: H5VL_wrap_class_t::free_wrap_ctx"]
        [offset_of!(H5VL_wrap_class_t, free_wrap_ctx) - 32usize];
};
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct H5VL_attr_class_t {
    pub create: Option<
        unsafe extern "C" fn(
            obj: *mut c_void,
            loc_params: *const H5VL_loc_params_t,
            attr_name: *const c_char,
            type_id: hid_t,
            space_id: hid_t,
            acpl_id: hid_t,
            aapl_id: hid_t,
            dxpl_id: hid_t,
            req: *mut *mut c_void,
        ) -> *mut c_void,
    >,
    pub open: Option<
        unsafe extern "C" fn(
            obj: *mut c_void,
            loc_params: *const H5VL_loc_params_t,
            attr_name: *const c_char,
            aapl_id: hid_t,
            dxpl_id: hid_t,
            req: *mut *mut c_void,
        ) -> *mut c_void,
    >,
    pub read: Option<
        unsafe extern "C" fn(
            attr: *mut c_void,
            mem_type_id: hid_t,
            buf: *mut c_void,
            dxpl_id: hid_t,
            req: *mut *mut c_void,
        ) -> herr_t,
    >,
    pub write: Option<
        unsafe extern "C" fn(
            attr: *mut c_void,
            mem_type_id: hid_t,
            buf: *const c_void,
            dxpl_id: hid_t,
            req: *mut *mut c_void,
        ) -> herr_t,
    >,
    pub get: Option<
        unsafe extern "C" fn(
            obj: *mut c_void,
            args: *mut H5VL_attr_get_args_t,
            dxpl_id: hid_t,
            req: *mut *mut c_void,
        ) -> herr_t,
    >,
    pub specific: Option<
        unsafe extern "C" fn(
            obj: *mut c_void,
            loc_params: *const H5VL_loc_params_t,
            args: *mut H5VL_attr_specific_args_t,
            dxpl_id: hid_t,
            req: *mut *mut c_void,
        ) -> herr_t,
    >,
    pub optional: Option<
        unsafe extern "C" fn(
            obj: *mut c_void,
            args: *mut H5VL_optional_args_t,
            dxpl_id: hid_t,
            req: *mut *mut c_void,
        ) -> herr_t,
    >,
    pub close: Option<
        unsafe extern "C" fn(
            attr: *mut c_void,
            dxpl_id: hid_t,
            req: *mut *mut c_void,
        ) -> herr_t,
    >,
}
const _: () = {
    ["Size of H5VL_attr_class_t"][size_of::<H5VL_attr_class_t>() - 64usize];
    ["Alignment of H5VL_attr_class_t"][align_of::<H5VL_attr_class_t>() - 8usize];
    ["Offset of field: H5VL_attr_class_t::create"]
        [offset_of!(H5VL_attr_class_t, create) - 0usize];
    ["Offset of field: H5VL_attr_class_t::open"]
        [offset_of!(H5VL_attr_class_t, open) - 8usize];
    ["Offset of field: H5VL_attr_class_t::read"]
        [offset_of!(H5VL_attr_class_t, read) - 16usize];
    ["Offset of field: H5VL_attr_class_t::write"]
        [offset_of!(H5VL_attr_class_t, write) - 24usize];
    ["Offset of field: H5VL_attr_class_t::get"]
        [offset_of!(H5VL_attr_class_t, get) - 32usize];
    ["Offset of field: H5VL_attr_class_t::specific"]
        [offset_of!(H5VL_attr_class_t, specific) - 40usize];
    ["Offset of field: H5VL_attr_class_t::optional"]
        [offset_of!(H5VL_attr_class_t, optional) - 48usize];
    ["Offset of field: H5VL_attr_class_t::close"]
        [offset_of!(H5VL_attr_class_t, close) - 56usize];
};
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct H5VL_dataset_class_t {
    pub create: Option<
        unsafe extern "C" fn(
            obj: *mut c_void,
            loc_params: *const H5VL_loc_params_t,
            name: *const c_char,
            lcpl_id: hid_t,
            type_id: hid_t,
            space_id: hid_t,
            dcpl_id: hid_t,
            dapl_id: hid_t,
            dxpl_id: hid_t,
            req: *mut *mut c_void,
        ) -> *mut c_void,
    >,
    pub open: Option<
        unsafe extern "C" fn(
            obj: *mut c_void,
            loc_params: *const H5VL_loc_params_t,
            name: *const c_char,
            dapl_id: hid_t,
            dxpl_id: hid_t,
            req: *mut *mut c_void,
        ) -> *mut c_void,
    >,
    pub read: Option<
        unsafe extern "C" fn(
            count: usize,
            dset: *mut *mut c_void,
            mem_type_id: *mut hid_t,
            mem_space_id: *mut hid_t,
            file_space_id: *mut hid_t,
            dxpl_id: hid_t,
            buf: *mut *mut c_void,
            req: *mut *mut c_void,
        ) -> herr_t,
    >,
    pub write: Option<
        unsafe extern "C" fn(
            count: usize,
            dset: *mut *mut c_void,
            mem_type_id: *mut hid_t,
            mem_space_id: *mut hid_t,
            file_space_id: *mut hid_t,
            dxpl_id: hid_t,
            buf: *mut *const c_void,
            req: *mut *mut c_void,
        ) -> herr_t,
    >,
    pub get: Option<
        unsafe extern "C" fn(
            obj: *mut c_void,
            args: *mut H5VL_dataset_get_args_t,
            dxpl_id: hid_t,
            req: *mut *mut c_void,
        ) -> herr_t,
    >,
    pub specific: Option<
        unsafe extern "C" fn(
            obj: *mut c_void,
            args: *mut H5VL_dataset_specific_args_t,
            dxpl_id: hid_t,
            req: *mut *mut c_void,
        ) -> herr_t,
    >,
    pub optional: Option<
        unsafe extern "C" fn(
            obj: *mut c_void,
            args: *mut H5VL_optional_args_t,
            dxpl_id: hid_t,
            req: *mut *mut c_void,
        ) -> herr_t,
    >,
    pub close: Option<
        unsafe extern "C" fn(
            dset: *mut c_void,
            dxpl_id: hid_t,
            req: *mut *mut c_void,
        ) -> herr_t,
    >,
}
const _: () = {
    ["Size of H5VL_dataset_class_t"][size_of::<H5VL_dataset_class_t>() - 64usize];
    ["Alignment of H5VL_dataset_class_t"][align_of::<H5VL_dataset_class_t>() - 8usize];
    ["Offset of field: H5VL_dataset_class_t::create"]
        [offset_of!(H5VL_dataset_class_t, create) - 0usize];
    ["Offset of field: H5VL_dataset_class_t::open"]
        [offset_of!(H5VL_dataset_class_t, open) - 8usize];
    ["Offset of field: H5VL_dataset_class_t::read"]
        [offset_of!(H5VL_dataset_class_t, read) - 16usize];
    ["Offset of field: H5VL_dataset_class_t::write"]
        [offset_of!(H5VL_dataset_class_t, write) - 24usize];
    ["Offset of field: H5VL_dataset_class_t::get"]
        [offset_of!(H5VL_dataset_class_t, get) - 32usize];
    ["Offset of field: H5VL_dataset_class_t::specific"]
        [offset_of!(H5VL_dataset_class_t, specific) - 40usize];
    ["Offset of field: H5VL_dataset_class_t::optional"]
        [offset_of!(H5VL_dataset_class_t, optional) - 48usize];
    ["Offset of field: H5VL_dataset_class_t::close"]
        [offset_of!(H5VL_dataset_class_t, close) - 56usize];
};
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct H5VL_datatype_class_t {
    pub commit: Option<
        unsafe extern "C" fn(
            obj: *mut c_void,
            loc_params: *const H5VL_loc_params_t,
            name: *const c_char,
            type_id: hid_t,
            lcpl_id: hid_t,
            tcpl_id: hid_t,
            tapl_id: hid_t,
            dxpl_id: hid_t,
            req: *mut *mut c_void,
        ) -> *mut c_void,
    >,
    pub open: Option<
        unsafe extern "C" fn(
            obj: *mut c_void,
            loc_params: *const H5VL_loc_params_t,
            name: *const c_char,
            tapl_id: hid_t,
            dxpl_id: hid_t,
            req: *mut *mut c_void,
        ) -> *mut c_void,
    >,
    pub get: Option<
        unsafe extern "C" fn(
            obj: *mut c_void,
            args: *mut H5VL_datatype_get_args_t,
            dxpl_id: hid_t,
            req: *mut *mut c_void,
        ) -> herr_t,
    >,
    pub specific: Option<
        unsafe extern "C" fn(
            obj: *mut c_void,
            args: *mut H5VL_datatype_specific_args_t,
            dxpl_id: hid_t,
            req: *mut *mut c_void,
        ) -> herr_t,
    >,
    pub optional: Option<
        unsafe extern "C" fn(
            obj: *mut c_void,
            args: *mut H5VL_optional_args_t,
            dxpl_id: hid_t,
            req: *mut *mut c_void,
        ) -> herr_t,
    >,
    pub close: Option<
        unsafe extern "C" fn(
            dt: *mut c_void,
            dxpl_id: hid_t,
            req: *mut *mut c_void,
        ) -> herr_t,
    >,
}
const _: () = {
    ["Size of H5VL_datatype_class_t"][size_of::<H5VL_datatype_class_t>() - 48usize];
    ["Alignment of H5VL_datatype_class_t"]
        [align_of::<H5VL_datatype_class_t>() - 8usize];
    ["Offset of field: H5VL_datatype_class_t::commit"]
        [offset_of!(H5VL_datatype_class_t, commit) - 0usize];
    ["Offset of field: H5VL_datatype_class_t::open"]
        [offset_of!(H5VL_datatype_class_t, open) - 8usize];
    ["Offset of field: H5VL_datatype_class_t::get"]
        [offset_of!(H5VL_datatype_class_t, get) - 16usize];
    ["Offset of field: H5VL_datatype_class_t::specific"]
        [offset_of!(H5VL_datatype_class_t, specific) - 24usize];
    ["Offset of field: H5VL_datatype_class_t::optional"]
        [offset_of!(H5VL_datatype_class_t, optional) - 32usize];
    ["Offset of field: H5VL_datatype_class_t::close"]
        [offset_of!(H5VL_datatype_class_t, close) - 40usize];
};
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct H5VL_file_class_t {
    pub create: Option<
        unsafe extern "C" fn(
            name: *const c_char,
            flags: c_uint,
            fcpl_id: hid_t,
            fapl_id: hid_t,
            dxpl_id: hid_t,
            req: *mut *mut c_void,
        ) -> *mut c_void,
    >,
    pub open: Option<
        unsafe extern "C" fn(
            name: *const c_char,
            flags: c_uint,
            fapl_id: hid_t,
            dxpl_id: hid_t,
            req: *mut *mut c_void,
        ) -> *mut c_void,
    >,
    pub get: Option<
        unsafe extern "C" fn(
            obj: *mut c_void,
            args: *mut H5VL_file_get_args_t,
            dxpl_id: hid_t,
            req: *mut *mut c_void,
        ) -> herr_t,
    >,
    pub specific: Option<
        unsafe extern "C" fn(
            obj: *mut c_void,
            args: *mut H5VL_file_specific_args_t,
            dxpl_id: hid_t,
            req: *mut *mut c_void,
        ) -> herr_t,
    >,
    pub optional: Option<
        unsafe extern "C" fn(
            obj: *mut c_void,
            args: *mut H5VL_optional_args_t,
            dxpl_id: hid_t,
            req: *mut *mut c_void,
        ) -> herr_t,
    >,
    pub close: Option<
        unsafe extern "C" fn(
            file: *mut c_void,
            dxpl_id: hid_t,
            req: *mut *mut c_void,
        ) -> herr_t,
    >,
}
const _: () = {
    ["Size of H5VL_file_class_t"][size_of::<H5VL_file_class_t>() - 48usize];
    ["Alignment of H5VL_file_class_t"][align_of::<H5VL_file_class_t>() - 8usize];
    ["Offset of field: H5VL_file_class_t::create"]
        [offset_of!(H5VL_file_class_t, create) - 0usize];
    ["Offset of field: H5VL_file_class_t::open"]
        [offset_of!(H5VL_file_class_t, open) - 8usize];
    ["Offset of field: H5VL_file_class_t::get"]
        [offset_of!(H5VL_file_class_t, get) - 16usize];
    ["Offset of field: H5VL_file_class_t::specific"]
        [offset_of!(H5VL_file_class_t, specific) - 24usize];
    ["Offset of field: H5VL_file_class_t::optional"]
        [offset_of!(H5VL_file_class_t, optional) - 32usize];
    ["Offset of field: H5VL_file_class_t::close"]
        [offset_of!(H5VL_file_class_t, close) - 40usize];
};
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct H5VL_group_class_t {
    pub create: Option<
        unsafe extern "C" fn(
            obj: *mut c_void,
            loc_params: *const H5VL_loc_params_t,
            name: *const c_char,
            lcpl_id: hid_t,
            gcpl_id: hid_t,
            gapl_id: hid_t,
            dxpl_id: hid_t,
            req: *mut *mut c_void,
        ) -> *mut c_void,
    >,
    pub open: Option<
        unsafe extern "C" fn(
            obj: *mut c_void,
            loc_params: *const H5VL_loc_params_t,
            name: *const c_char,
            gapl_id: hid_t,
            dxpl_id: hid_t,
            req: *mut *mut c_void,
        ) -> *mut c_void,
    >,
    pub get: Option<
        unsafe extern "C" fn(
            obj: *mut c_void,
            args: *mut H5VL_group_get_args_t,
            dxpl_id: hid_t,
            req: *mut *mut c_void,
        ) -> herr_t,
    >,
    pub specific: Option<
        unsafe extern "C" fn(
            obj: *mut c_void,
            args: *mut H5VL_group_specific_args_t,
            dxpl_id: hid_t,
            req: *mut *mut c_void,
        ) -> herr_t,
    >,
    pub optional: Option<
        unsafe extern "C" fn(
            obj: *mut c_void,
            args: *mut H5VL_optional_args_t,
            dxpl_id: hid_t,
            req: *mut *mut c_void,
        ) -> herr_t,
    >,
    pub close: Option<
        unsafe extern "C" fn(
            grp: *mut c_void,
            dxpl_id: hid_t,
            req: *mut *mut c_void,
        ) -> herr_t,
    >,
}
const _: () = {
    ["Size of H5VL_group_class_t"][size_of::<H5VL_group_class_t>() - 48usize];
    ["Alignment of H5VL_group_class_t"][align_of::<H5VL_group_class_t>() - 8usize];
    ["Offset of field: H5VL_group_class_t::create"]
        [offset_of!(H5VL_group_class_t, create) - 0usize];
    ["Offset of field: H5VL_group_class_t::open"]
        [offset_of!(H5VL_group_class_t, open) - 8usize];
    ["Offset of field: H5VL_group_class_t::get"]
        [offset_of!(H5VL_group_class_t, get) - 16usize];
    ["Offset of field: H5VL_group_class_t::specific"]
        [offset_of!(H5VL_group_class_t, specific) - 24usize];
    ["Offset of field: H5VL_group_class_t::optional"]
        [offset_of!(H5VL_group_class_t, optional) - 32usize];
    ["Offset of field: H5VL_group_class_t::close"]
        [offset_of!(H5VL_group_class_t, close) - 40usize];
};
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct H5VL_link_class_t {
    pub create: Option<
        unsafe extern "C" fn(
            args: *mut H5VL_link_create_args_t,
            obj: *mut c_void,
            loc_params: *const H5VL_loc_params_t,
            lcpl_id: hid_t,
            lapl_id: hid_t,
            dxpl_id: hid_t,
            req: *mut *mut c_void,
        ) -> herr_t,
    >,
    pub copy: Option<
        unsafe extern "C" fn(
            src_obj: *mut c_void,
            loc_params1: *const H5VL_loc_params_t,
            dst_obj: *mut c_void,
            loc_params2: *const H5VL_loc_params_t,
            lcpl_id: hid_t,
            lapl_id: hid_t,
            dxpl_id: hid_t,
            req: *mut *mut c_void,
        ) -> herr_t,
    >,
    pub move_: Option<
        unsafe extern "C" fn(
            src_obj: *mut c_void,
            loc_params1: *const H5VL_loc_params_t,
            dst_obj: *mut c_void,
            loc_params2: *const H5VL_loc_params_t,
            lcpl_id: hid_t,
            lapl_id: hid_t,
            dxpl_id: hid_t,
            req: *mut *mut c_void,
        ) -> herr_t,
    >,
    pub get: Option<
        unsafe extern "C" fn(
            obj: *mut c_void,
            loc_params: *const H5VL_loc_params_t,
            args: *mut H5VL_link_get_args_t,
            dxpl_id: hid_t,
            req: *mut *mut c_void,
        ) -> herr_t,
    >,
    pub specific: Option<
        unsafe extern "C" fn(
            obj: *mut c_void,
            loc_params: *const H5VL_loc_params_t,
            args: *mut H5VL_link_specific_args_t,
            dxpl_id: hid_t,
            req: *mut *mut c_void,
        ) -> herr_t,
    >,
    pub optional: Option<
        unsafe extern "C" fn(
            obj: *mut c_void,
            loc_params: *const H5VL_loc_params_t,
            args: *mut H5VL_optional_args_t,
            dxpl_id: hid_t,
            req: *mut *mut c_void,
        ) -> herr_t,
    >,
}
const _: () = {
    ["Size of H5VL_link_class_t"][size_of::<H5VL_link_class_t>() - 48usize];
    ["Alignment of H5VL_link_class_t"][align_of::<H5VL_link_class_t>() - 8usize];
    ["Offset of field: H5VL_link_class_t::create"]
        [offset_of!(H5VL_link_class_t, create) - 0usize];
    ["Offset of field: H5VL_link_class_t::copy"]
        [offset_of!(H5VL_link_class_t, copy) - 8usize];
    ["Offset of field: H5VL_link_class_t::move_"]
        [offset_of!(H5VL_link_class_t, move_) - 16usize];
    ["Offset of field: H5VL_link_class_t::get"]
        [offset_of!(H5VL_link_class_t, get) - 24usize];
    ["Offset of field: H5VL_link_class_t::specific"]
        [offset_of!(H5VL_link_class_t, specific) - 32usize];
    ["Offset of field: H5VL_link_class_t::optional"]
        [offset_of!(H5VL_link_class_t, optional) - 40usize];
};
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct H5VL_object_class_t {
    pub open: Option<
        unsafe extern "C" fn(
            obj: *mut c_void,
            loc_params: *const H5VL_loc_params_t,
            opened_type: *mut H5I_type_t,
            dxpl_id: hid_t,
            req: *mut *mut c_void,
        ) -> *mut c_void,
    >,
    pub copy: Option<
        unsafe extern "C" fn(
            src_obj: *mut c_void,
            loc_params1: *const H5VL_loc_params_t,
            src_name: *const c_char,
            dst_obj: *mut c_void,
            loc_params2: *const H5VL_loc_params_t,
            dst_name: *const c_char,
            ocpypl_id: hid_t,
            lcpl_id: hid_t,
            dxpl_id: hid_t,
            req: *mut *mut c_void,
        ) -> herr_t,
    >,
    pub get: Option<
        unsafe extern "C" fn(
            obj: *mut c_void,
            loc_params: *const H5VL_loc_params_t,
            args: *mut H5VL_object_get_args_t,
            dxpl_id: hid_t,
            req: *mut *mut c_void,
        ) -> herr_t,
    >,
    pub specific: Option<
        unsafe extern "C" fn(
            obj: *mut c_void,
            loc_params: *const H5VL_loc_params_t,
            args: *mut H5VL_object_specific_args_t,
            dxpl_id: hid_t,
            req: *mut *mut c_void,
        ) -> herr_t,
    >,
    pub optional: Option<
        unsafe extern "C" fn(
            obj: *mut c_void,
            loc_params: *const H5VL_loc_params_t,
            args: *mut H5VL_optional_args_t,
            dxpl_id: hid_t,
            req: *mut *mut c_void,
        ) -> herr_t,
    >,
}
const _: () = {
    ["Size of H5VL_object_class_t"][size_of::<H5VL_object_class_t>() - 40usize];
    ["Alignment of H5VL_object_class_t"][align_of::<H5VL_object_class_t>() - 8usize];
    ["Offset of field: H5VL_object_class_t::open"]
        [offset_of!(H5VL_object_class_t, open) - 0usize];
    ["Offset of field: H5VL_object_class_t::copy"]
        [offset_of!(H5VL_object_class_t, copy) - 8usize];
    ["Offset of field: H5VL_object_class_t::get"]
        [offset_of!(H5VL_object_class_t, get) - 16usize];
    ["Offset of field: H5VL_object_class_t::specific"]
        [offset_of!(H5VL_object_class_t, specific) - 24usize];
    ["Offset of field: H5VL_object_class_t::optional"]
        [offset_of!(H5VL_object_class_t, optional) - 32usize];
};
pub type H5VL_request_notify_t = Option<
    unsafe extern "C" fn(ctx: *mut c_void, status: H5VL_request_status_t) -> herr_t,
>;
pub const H5VL_GET_CONN_LVL_CURR: H5VL_get_conn_lvl_t = 0;
pub const H5VL_GET_CONN_LVL_TERM: H5VL_get_conn_lvl_t = 1;
pub type H5VL_get_conn_lvl_t = c_uint;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct H5VL_introspect_class_t {
    pub get_conn_cls: Option<
        unsafe extern "C" fn(
            obj: *mut c_void,
            lvl: H5VL_get_conn_lvl_t,
            conn_cls: *mut *const H5VL_class_t,
        ) -> herr_t,
    >,
    pub get_cap_flags: Option<
        unsafe extern "C" fn(info: *const c_void, cap_flags: *mut u64) -> herr_t,
    >,
    pub opt_query: Option<
        unsafe extern "C" fn(
            obj: *mut c_void,
            cls: H5VL_subclass_t,
            opt_type: c_int,
            flags: *mut u64,
        ) -> herr_t,
    >,
}
const _: () = {
    ["Size of H5VL_introspect_class_t"][size_of::<H5VL_introspect_class_t>() - 24usize];
    ["Alignment of H5VL_introspect_class_t"]
        [align_of::<H5VL_introspect_class_t>() - 8usize];
    ["Offset of field: H5VL_introspect_class_t::get_conn_cls"]
        [offset_of!(H5VL_introspect_class_t, get_conn_cls) - 0usize];
    ["Offset of field: H5VL_introspect_class_t::get_cap_flags"]
        [offset_of!(H5VL_introspect_class_t, get_cap_flags) - 8usize];
    ["Offset of field: H5VL_introspect_class_t::opt_query"]
        [offset_of!(H5VL_introspect_class_t, opt_query) - 16usize];
};
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct H5VL_request_class_t {
    pub wait: Option<
        unsafe extern "C" fn(
            req: *mut c_void,
            timeout: u64,
            status: *mut H5VL_request_status_t,
        ) -> herr_t,
    >,
    pub notify: Option<
        unsafe extern "C" fn(
            req: *mut c_void,
            cb: H5VL_request_notify_t,
            ctx: *mut c_void,
        ) -> herr_t,
    >,
    pub cancel: Option<
        unsafe extern "C" fn(
            req: *mut c_void,
            status: *mut H5VL_request_status_t,
        ) -> herr_t,
    >,
    pub specific: Option<
        unsafe extern "C" fn(
            req: *mut c_void,
            args: *mut H5VL_request_specific_args_t,
        ) -> herr_t,
    >,
    pub optional: Option<
        unsafe extern "C" fn(
            req: *mut c_void,
            args: *mut H5VL_optional_args_t,
        ) -> herr_t,
    >,
    pub free:
        Option<unsafe extern "C" fn(req: *mut c_void) -> herr_t>,
}
const _: () = {
    ["Size of H5VL_request_class_t"][size_of::<H5VL_request_class_t>() - 48usize];
    ["Alignment of H5VL_request_class_t"][align_of::<H5VL_request_class_t>() - 8usize];
    ["Offset of field: H5VL_request_class_t::wait"]
        [offset_of!(H5VL_request_class_t, wait) - 0usize];
    ["Offset of field: H5VL_request_class_t::notify"]
        [offset_of!(H5VL_request_class_t, notify) - 8usize];
    ["Offset of field: H5VL_request_class_t::cancel"]
        [offset_of!(H5VL_request_class_t, cancel) - 16usize];
    ["Offset of field: H5VL_request_class_t::specific"]
        [offset_of!(H5VL_request_class_t, specific) - 24usize];
    ["Offset of field: H5VL_request_class_t::optional"]
        [offset_of!(H5VL_request_class_t, optional) - 32usize];
    ["Offset of field: H5VL_request_class_t::free"]
        [offset_of!(H5VL_request_class_t, free) - 40usize];
};
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct H5VL_blob_class_t {
    pub put: Option<
        unsafe extern "C" fn(
            obj: *mut c_void,
            buf: *const c_void,
            size: usize,
            blob_id: *mut c_void,
            ctx: *mut c_void,
        ) -> herr_t,
    >,
    pub get: Option<
        unsafe extern "C" fn(
            obj: *mut c_void,
            blob_id: *const c_void,
            buf: *mut c_void,
            size: usize,
            ctx: *mut c_void,
        ) -> herr_t,
    >,
    pub specific: Option<
        unsafe extern "C" fn(
            obj: *mut c_void,
            blob_id: *mut c_void,
            args: *mut H5VL_blob_specific_args_t,
        ) -> herr_t,
    >,
    pub optional: Option<
        unsafe extern "C" fn(
            obj: *mut c_void,
            blob_id: *mut c_void,
            args: *mut H5VL_optional_args_t,
        ) -> herr_t,
    >,
}
const _: () = {
    ["Size of H5VL_blob_class_t"][size_of::<H5VL_blob_class_t>() - 32usize];
    ["Alignment of H5VL_blob_class_t"][align_of::<H5VL_blob_class_t>() - 8usize];
    ["Offset of field: H5VL_blob_class_t::put"]
        [offset_of!(H5VL_blob_class_t, put) - 0usize];
    ["Offset of field: H5VL_blob_class_t::get"]
        [offset_of!(H5VL_blob_class_t, get) - 8usize];
    ["Offset of field: H5VL_blob_class_t::specific"]
        [offset_of!(H5VL_blob_class_t, specific) - 16usize];
    ["Offset of field: H5VL_blob_class_t::optional"]
        [offset_of!(H5VL_blob_class_t, optional) - 24usize];
};
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct H5VL_token_class_t {
    pub cmp: Option<
        unsafe extern "C" fn(
            obj: *mut c_void,
            token1: *const H5O_token_t,
            token2: *const H5O_token_t,
            cmp_value: *mut c_int,
        ) -> herr_t,
    >,
    pub to_str: Option<
        unsafe extern "C" fn(
            obj: *mut c_void,
            obj_type: H5I_type_t,
            token: *const H5O_token_t,
            token_str: *mut *mut c_char,
        ) -> herr_t,
    >,
    pub from_str: Option<
        unsafe extern "C" fn(
            obj: *mut c_void,
            obj_type: H5I_type_t,
            token_str: *const c_char,
            token: *mut H5O_token_t,
        ) -> herr_t,
    >,
}
const _: () = {
    ["Size of H5VL_token_class_t"][size_of::<H5VL_token_class_t>() - 24usize];
    ["Alignment of H5VL_token_class_t"][align_of::<H5VL_token_class_t>() - 8usize];
    ["Offset of field: H5VL_token_class_t::cmp"]
        [offset_of!(H5VL_token_class_t, cmp) - 0usize];
    ["Offset of field: H5VL_token_class_t::to_str"]
        [offset_of!(H5VL_token_class_t, to_str) - 8usize];
    ["Offset of field: H5VL_token_class_t::from_str"]
        [offset_of!(H5VL_token_class_t, from_str) - 16usize];
};
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct H5VL_class_t {
    pub version: c_uint,
    pub value: H5VL_class_value_t,
    pub name: *const c_char,
    pub conn_version: c_uint,
    pub cap_flags: u64,
    pub initialize: Option<unsafe extern "C" fn(vipl_id: hid_t) -> herr_t>,
    pub terminate: Option<unsafe extern "C" fn() -> herr_t>,
    pub info_cls: H5VL_info_class_t,
    pub wrap_cls: H5VL_wrap_class_t,
    pub attr_cls: H5VL_attr_class_t,
    pub dataset_cls: H5VL_dataset_class_t,
    pub datatype_cls: H5VL_datatype_class_t,
    pub file_cls: H5VL_file_class_t,
    pub group_cls: H5VL_group_class_t,
    pub link_cls: H5VL_link_class_t,
    pub object_cls: H5VL_object_class_t,
    pub introspect_cls: H5VL_introspect_class_t,
    pub request_cls: H5VL_request_class_t,
    pub blob_cls: H5VL_blob_class_t,
    pub token_cls: H5VL_token_class_t,
    pub optional: Option<
        unsafe extern "C" fn(
            obj: *mut c_void,
            args: *mut H5VL_optional_args_t,
            dxpl_id: hid_t,
            req: *mut *mut c_void,
        ) -> herr_t,
    >,
}
const _: () = {
    ["Size of H5VL_class_t"][size_of::<H5VL_class_t>() - 632usize];
    ["Alignment of H5VL_class_t"][align_of::<H5VL_class_t>() - 8usize];
    ["Offset of field: H5VL_class_t::version"]
        [offset_of!(H5VL_class_t, version) - 0usize];
    ["Offset of field: H5VL_class_t::value"][offset_of!(H5VL_class_t, value) - 4usize];
    ["Offset of field: H5VL_class_t::name"][offset_of!(H5VL_class_t, name) - 8usize];
    ["Offset of field: H5VL_class_t::conn_version"]
        [offset_of!(H5VL_class_t, conn_version) - 16usize];
    ["Offset of field: H5VL_class_t::cap_flags"]
        [offset_of!(H5VL_class_t, cap_flags) - 24usize];
    ["Offset of field: H5VL_class_t::initialize"]
        [offset_of!(H5VL_class_t, initialize) - 32usize];
    ["Offset of field: H5VL_class_t::terminate"]
        [offset_of!(H5VL_class_t, terminate) - 40usize];
    ["Offset of field: H5VL_class_t::info_cls"]
        [offset_of!(H5VL_class_t, info_cls) - 48usize];
    ["Offset of field: H5VL_class_t::wrap_cls"]
        [offset_of!(H5VL_class_t, wrap_cls) - 96usize];
    ["Offset of field: H5VL_class_t::attr_cls"]
        [offset_of!(H5VL_class_t, attr_cls) - 136usize];
    ["Offset of field: H5VL_class_t::dataset_cls"]
        [offset_of!(H5VL_class_t, dataset_cls) - 200usize];
    ["Offset of field: H5VL_class_t::datatype_cls"]
        [offset_of!(H5VL_class_t, datatype_cls) - 264usize];
    ["Offset of field: H5VL_class_t::file_cls"]
        [offset_of!(H5VL_class_t, file_cls) - 312usize];
    ["Offset of field: H5VL_class_t::group_cls"]
        [offset_of!(H5VL_class_t, group_cls) - 360usize];
    ["Offset of field: H5VL_class_t::link_cls"]
        [offset_of!(H5VL_class_t, link_cls) - 408usize];
    ["Offset of field: H5VL_class_t::object_cls"]
        [offset_of!(H5VL_class_t, object_cls) - 456usize];
    ["Offset of field: H5VL_class_t::introspect_cls"]
        [offset_of!(H5VL_class_t, introspect_cls) - 496usize];
    ["Offset of field: H5VL_class_t::request_cls"]
        [offset_of!(H5VL_class_t, request_cls) - 520usize];
    ["Offset of field: H5VL_class_t::blob_cls"]
        [offset_of!(H5VL_class_t, blob_cls) - 568usize];
    ["Offset of field: H5VL_class_t::token_cls"]
        [offset_of!(H5VL_class_t, token_cls) - 600usize];
    ["Offset of field: H5VL_class_t::optional"]
        [offset_of!(H5VL_class_t, optional) - 624usize];
};
pub const H5S_NO_CLASS: H5S_class_t = -1;
pub const H5S_SCALAR: H5S_class_t = 0;
pub const H5S_SIMPLE: H5S_class_t = 1;
pub const H5S_NULL: H5S_class_t = 2;
pub type H5S_class_t = c_int;
pub const H5S_SEL_ERROR: H5S_sel_type = -1;
pub const H5S_SEL_NONE: H5S_sel_type = 0;
pub const H5S_SEL_POINTS: H5S_sel_type = 1;
pub const H5S_SEL_HYPERSLABS: H5S_sel_type = 2;
pub const H5S_SEL_ALL: H5S_sel_type = 3;
pub const H5S_SEL_N: H5S_sel_type = 4;
pub type H5S_sel_type = c_int;
pub const H5PL_TYPE_ERROR: H5PL_type_t = -1;
pub const H5PL_TYPE_FILTER: H5PL_type_t = 0;
pub const H5PL_TYPE_VOL: H5PL_type_t = 1;
pub const H5PL_TYPE_VFD: H5PL_type_t = 2;
pub const H5PL_TYPE_NONE: H5PL_type_t = 3;
pub type H5PL_type_t = c_int;

