//! Blobs, in which HDF5 stores the bytes of variable-length values and references.

use std::ffi::c_void;

use crate::ffi::*;
use crate::guard;
use crate::handle::Handle;
use hyperslab_arrow_container::elements::{BlobName, is_null, with_blob};
use hyperslab_arrow_container::error::{Error, error};

pub(crate) unsafe extern "C" fn put<const S: usize>(obj: *mut c_void, buf: *const c_void, size: usize, id: *mut c_void, _ctx: *mut c_void) -> herr_t {
    guard::status::<S>("blob put", |_| {
        // SAFETY: `buf` has `size` bytes, and `id` room for a name.
        unsafe {
            let bytes = if size == 0 { &[] } else { std::slice::from_raw_parts(buf.cast::<u8>(), size) };
            let name = Handle::of(obj)?.place.container.arena.put(bytes)?;
            id.cast::<BlobName>().write_unaligned(name);
        }
        Ok(())
    })
}

pub(crate) unsafe extern "C" fn get<const S: usize>(_obj: *mut c_void, id: *const c_void, buf: *mut c_void, size: usize, _ctx: *mut c_void) -> herr_t {
    guard::status::<S>("blob get", |_| {
        // SAFETY: `id` is a name, and `buf` has space for `size` bytes.
        unsafe {
            let name = id.cast::<BlobName>().read_unaligned();
            with_blob(&name, size, |bytes| std::ptr::copy_nonoverlapping(bytes.as_ptr(), buf.cast(), size))
        }
    })
}

pub(crate) unsafe extern "C" fn specific<const S: usize>(_obj: *mut c_void, id: *mut c_void, args: *mut H5VL_blob_specific_args_t) -> herr_t {
    guard::status::<S>("blob specific", |_| {
        // SAFETY: `id` is a name, and the operation selects the member of the union.
        unsafe {
            let args = args.as_mut().ok_or_else(|| error!("HDF5 passed no arguments"))?;
            match args.op_type {
                // The bytes are freed when the file is closed.
                H5VL_BLOB_DELETE => {}
                H5VL_BLOB_ISNULL => *args.args.is_null.isnull = is_null(&id.cast::<BlobName>().read_unaligned()),
                H5VL_BLOB_SETNULL => id.cast::<BlobName>().write_unaligned([0; 16]),
                other => return Err(Error::unsupported(format!("operation {other} on a blob is not supported"))),
            }
        }
        Ok(())
    })
}
