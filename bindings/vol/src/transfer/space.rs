//! Dataspaces: those of the host, and ours.

use hyperslab_arrow_container::elements::Space;
use hyperslab_arrow_container::fault::{Result, fault};
use crate::ffi::*;
use crate::host::{Host, Owned, check};

/// A dataspace of the host.
pub(crate) fn space_of(host: &Host, id: hid_t) -> Result<Space> {
    // SAFETY: an id of the library; room for the most dimensions that there can be.
    unsafe {
        Ok(match (host.call.H5Sget_simple_extent_type)(id) {
            H5S_SCALAR => Space::Scalar,
            H5S_NULL => Space::Null,
            H5S_SIMPLE => {
                let (mut shape, mut most) = ([0u64; 32], [0u64; 32]);
                let ndims = check((host.call.H5Sget_simple_extent_dims)(id, shape.as_mut_ptr(), most.as_mut_ptr()), "no dimensions")? as usize;
                Space::Simple { shape: shape[..ndims].to_vec(), max_shape: most[..ndims].to_vec() }
            }
            _ => return Err(fault!("a dataspace without an extent")),
        })
    }
}

/// A new dataspace for a program.
pub(crate) fn give_space(host: &Host, space: &Space) -> Result<hid_t> {
    // SAFETY: the lengths live through the call.
    let id = unsafe {
        match space {
            Space::Scalar => (host.call.H5Screate)(H5S_SCALAR),
            Space::Null => (host.call.H5Screate)(H5S_NULL),
            Space::Simple { shape, max_shape } => (host.call.H5Screate_simple)(shape.len() as i32, shape.as_ptr(), max_shape.as_ptr()),
        }
    };
    Ok(Owned::new(id, host.call.H5Sclose, "the dataspace cannot be made")?.give())
}
