//! Moves values between a program's memory and columns. A member of a compound that has the same datatype on both sides is
//! copied directly between its column and memory; the host converts any other, member by member.
//!
//! - [`elements`]: `H5Dread` and `H5Dwrite`; [`attribute`]: the same for attributes
//! - [`dataspace`]: dataspaces; [`runs`]: selections as elements at regular distances; [`span`]: runs that are moved together
//! - [`moves`]: which members are copied, and which are converted
//! - [`transform`]: expressions that are computed for values before they are written and after they are read
//! - [`references`]: makes references in sequences valid in this process

mod attribute;
mod dataspace;
mod elements;
mod moves;
mod references;
mod runs;
mod span;
mod transform;

pub(crate) use attribute::{read_attribute, write_attribute};
pub(crate) use dataspace::{dataspace_of, give_dataspace};
pub(crate) use elements::Io;
pub(crate) use moves::KnownMoves;

use crate::datatype;
use crate::ffi::{H5T_REFERENCE, hid_t};
use crate::handle::Handle;
use crate::host::{Host, Owned, check};
use hyperslab_arrow_container::error::{Error, Result};

/// A datatype of the file of `handle`, in file form.
fn copy_of_file_type(host: &'static Host, handle: &Handle, encoded: &[u8]) -> Result<Owned> {
    let memory = datatype::decode(host, encoded)?;
    datatype::in_file(host, handle.raw(), memory.id)
}

/// Converts `count` elements in place. Both buffers must have space for the larger of the two forms.
fn convert(host: &Host, from: hid_t, to: hid_t, count: usize, scratch: &mut [u8], background: &mut [u8], dxpl: hid_t) -> Result<()> {
    // HDF5 would take a file from the older datatype, which has none, and crash.
    // SAFETY: valid IDs of the host.
    if unsafe { (host.call.H5Tdetect_class)(from, H5T_REFERENCE) > 0 && (host.call.H5Tdetect_class)(to, H5T_REFERENCE) > 0 }
        && datatype::has_legacy_references(host, from)? != datatype::has_legacy_references(host, to)?
    {
        return Err(Error::unsupported(
            "references of HDF5 before 1.12 cannot be made of those of H5T_STD_REF, nor inside of other datatypes; use the datatype that the file has",
        ));
    }
    // SAFETY: as the caller promises.
    let status = unsafe { (host.call.H5Tconvert)(from, to, count, scratch.as_mut_ptr().cast(), background.as_mut_ptr().cast(), dxpl) };
    check(status, "the values cannot be converted between the datatypes in the file and in memory").map(|_| ())
}
