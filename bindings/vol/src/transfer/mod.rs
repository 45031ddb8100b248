//! Values between a program's memory and columns. A member of a compound that has the same datatype on both sides
//! goes straight between its column and the program's memory; any other is converted by the host, member by member.
//!
//! - [`elements`]: one `H5Dread` or `H5Dwrite`; [`attribute`]: one of an attribute
//! - [`space`]: dataspaces; [`runs`]: selections as runs of elements; [`moves`]: which members go straight, and which are
//!   converted
//! - [`references`]: references in sequences, which are made to hold in this process

mod attribute;
mod elements;
mod moves;
mod references;
mod runs;
mod dataspace;

pub(crate) use attribute::{read_attribute, write_attribute};
pub(crate) use elements::Io;
pub(crate) use dataspace::{dataspace_of, give_dataspace};

use hyperslab_arrow_container::error::Result;
use crate::datatype;
use crate::ffi::hid_t;
use crate::handle::Handle;
use crate::host::{Host, Owned, check};

/// The datatype of a handle in its form in the file, for one use; made once a handle.
fn copy_of_file_type(host: &'static Host, handle: &Handle, encoded: &[u8]) -> Result<Owned> {
    let memory = datatype::decode(host, encoded)?;
    datatype::in_file(host, handle.raw(), memory.id)
}

/// Converts `count` elements in place; both buffers must have room for the larger form of each.
fn convert(host: &Host, from: hid_t, to: hid_t, count: usize, scratch: &mut [u8], background: &mut [u8], dxpl: hid_t) -> Result<()> {
    // SAFETY: the caller's promise.
    let status = unsafe { (host.call.H5Tconvert)(from, to, count, scratch.as_mut_ptr().cast(), background.as_mut_ptr().cast(), dxpl) };
    check(status, "the values cannot be converted between the datatypes of the file and of memory").map(|_| ())
}
