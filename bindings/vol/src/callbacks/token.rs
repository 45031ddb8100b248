//! Tokens: an object's ID in 16 bytes.

use std::ffi::{c_char, c_int, c_void};

use super::info::allocate;
use super::location::{object_of, token_of};
use crate::ffi::*;
use crate::guard;
use crate::handle::text;
use hyperslab_arrow_container::error::error;

pub(crate) unsafe extern "C" fn cmp<const S: usize>(_obj: *mut c_void, one: *const H5O_token_t, other: *const H5O_token_t, value: *mut c_int) -> herr_t {
    guard::status::<S>("token cmp", |_| {
        // SAFETY: tokens from HDF5, or null, and a valid output pointer.
        unsafe {
            *value = match (one.as_ref(), other.as_ref()) {
                (Some(one), Some(other)) => (object_of(one), one.__data).cmp(&(object_of(other), other.__data)) as c_int,
                (None, Some(_)) => -1,
                (Some(_), None) => 1,
                (None, None) => 0,
            };
        }
        Ok(())
    })
}

pub(crate) unsafe extern "C" fn to_str<const S: usize>(_obj: *mut c_void, _type: H5I_type_t, token: *const H5O_token_t, out: *mut *mut c_char) -> herr_t {
    guard::status::<S>("token to_str", |host| {
        // SAFETY: a token from HDF5, and a valid output pointer.
        unsafe {
            let token = token.as_ref().ok_or_else(|| error!("HDF5 passed no token"))?;
            *out = allocate(host, &object_of(token).to_string())?;
        }
        Ok(())
    })
}

pub(crate) unsafe extern "C" fn from_str<const S: usize>(_obj: *mut c_void, _type: H5I_type_t, words: *const c_char, token: *mut H5O_token_t) -> herr_t {
    guard::status::<S>("token from_str", |_| {
        // SAFETY: a zero-terminated string from HDF5, and a valid output pointer.
        unsafe {
            let words = text(words)?;
            *token = token_of(words.parse().map_err(|_| error!("'{words}' is not a token"))?);
        }
        Ok(())
    })
}
