//! Converts dataspaces between the host's and ours.

use crate::ffi::*;
use crate::host::{Host, Owned, check};
use hyperslab_arrow_container::elements::Dataspace;
use hyperslab_arrow_container::error::{Result, error};

/// Reads a dataspace of the host.
pub(crate) fn dataspace_of(host: &Host, id: hid_t) -> Result<Dataspace> {
    // SAFETY: a valid ID of the host; space for HDF5's maximum number of dimensions.
    unsafe {
        Ok(match (host.call.H5Sget_simple_extent_type)(id) {
            H5S_SCALAR => Dataspace::Scalar,
            H5S_NULL => Dataspace::Null,
            H5S_SIMPLE => {
                let (mut shape, mut max_shape) = ([0u64; 32], [0u64; 32]);
                let ndims = check(
                    (host.call.H5Sget_simple_extent_dims)(id, shape.as_mut_ptr(), max_shape.as_mut_ptr()),
                    "the dimensions of the dataspace cannot be read",
                )? as usize;
                Dataspace::Simple { shape: shape[..ndims].to_vec(), max_shape: max_shape[..ndims].to_vec() }
            }
            _ => return Err(error!("the dataspace has no extent")),
        })
    }
}

/// Creates a dataspace of the host for a program.
pub(crate) fn give_dataspace(host: &Host, space: &Dataspace) -> Result<hid_t> {
    // SAFETY: the slices outlive the call.
    let id = unsafe {
        match space {
            Dataspace::Scalar => (host.call.H5Screate)(H5S_SCALAR),
            Dataspace::Null => (host.call.H5Screate)(H5S_NULL),
            Dataspace::Simple { shape, max_shape } => (host.call.H5Screate_simple)(shape.len() as i32, shape.as_ptr(), max_shape.as_ptr()),
        }
    };
    Ok(Owned::new(id, host.call.H5Sclose, "the dataspace cannot be created")?.give())
}
