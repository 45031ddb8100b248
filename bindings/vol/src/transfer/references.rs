//! References in sequences, which HDF5 stores as they were in the writer's memory, and references of HDF5 before 1.12 that a
//! program reads as newer ones.

use std::ffi::{CString, c_char, c_void};

use crate::datatype;
use crate::ffi::*;
use crate::handle::Handle;
use crate::host::{Host, Owned, check};
use hyperslab_arrow_container::error::{Error, Result, error};
use hyperslab_arrow_container::lock;

/// Byte offsets of the fields of `H5R_ref_t` that are valid in one process only (HDF5 1.12 and newer).
mod reference {
    pub(super) const BYTES: usize = 64;
    pub(super) const FILE_NAME: usize = 16;
    pub(super) const LOCATION: usize = 32;
    pub(super) const KIND: usize = 44;
    pub(super) const COUNTED: usize = 46;
    /// `H5R_OBJECT2`.
    pub(super) const OBJECT: u8 = 2;
}

/// An ID for the file of `handle`. The references that name it keep it open.
unsafe fn file_of(host: &'static Host, handle: &Handle) -> Result<Owned> {
    let place = hyperslab_arrow_container::container::Place::new(std::sync::Arc::clone(&handle.place.container), hyperslab_arrow_container::model::ROOT);
    let what = crate::handle::What::File { fapl: None, writable: false, name: handle.file_name(), primary: false };
    let raw = Handle::give(host, place, what, "/".to_owned());
    // SAFETY: a handle that was just made; HDF5 closes it with the ID.
    unsafe {
        let file = (host.call.H5VLwrap_register)(raw, H5I_FILE);
        if file < 0 {
            Handle::close(raw)?;
        }
        Owned::new(file, host.call.H5Idec_ref, "HDF5 gives no ID for the file of a reference")
    }
}

type CreateObject = unsafe extern "C" fn(hid_t, *const c_char, hid_t, *mut c_void) -> herr_t;
type CreateRegion = unsafe extern "C" fn(hid_t, *const c_char, hid_t, hid_t, *mut c_void) -> herr_t;

/// Makes references of HDF5 before 1.12 that were read ones of `H5T_STD_REF`, in place. Returns whether the datatypes are such.
///
/// # Safety
/// `values` must have space for `count` elements of either datatype.
pub(super) unsafe fn of_older(host: &'static Host, handle: &Handle, file: hid_t, memory: hid_t, values: &mut [u8], count: usize) -> Result<bool> {
    // SAFETY: valid IDs of the host; the functions have these signatures since HDF5 1.12.
    unsafe {
        let is_reference = |id| (host.call.H5Tget_class)(id) == H5T_REFERENCE;
        let width = (host.call.H5Tget_size)(file);
        if !is_reference(file) || !is_reference(memory) || !matches!(width, 8 | 12) || (host.call.H5Tget_size)(memory) != reference::BYTES {
            return Ok(false);
        }
        let address = |name| host.address(name).ok_or_else(|| error!("this HDF5 library does not have the function {name:?}"));
        let create_object: CreateObject = std::mem::transmute(address(c"H5Rcreate_object")?);
        let create_region: CreateRegion = std::mem::transmute(address(c"H5Rcreate_region")?);
        let (older, file) = (values[..count * width].to_vec(), file_of(host, handle)?);
        let paths = lock(&handle.place.container.tree).reachable();
        for (one, newer) in older.chunks_exact(width).zip(values.as_chunks_mut::<{ reference::BYTES }>().0) {
            newer.fill(0);
            let object = one.first_chunk().map_or(0, |bytes| u64::from_ne_bytes(*bytes));
            if object == 0 {
                continue;
            }
            let path = paths.get(&object).ok_or_else(|| error!("a reference is dangling: its object was deleted"))?;
            let path = CString::new(path.as_str()).map_err(|_| error!("the path of a reference contains a zero"))?;
            let to = newer.as_mut_ptr().cast();
            let status = match one.last_chunk().filter(|_| width == 12) {
                None => create_object(file.id, path.as_ptr(), 0, to),
                Some(number) => {
                    let selection = lock(&handle.place.container.tree).region(u32::from_ne_bytes(*number)).map(|region| region.selection.clone());
                    let selection = selection.ok_or_else(|| error!("a reference is dangling: its selection is not in this file"))?;
                    let space = (host.call.H5Sdecode)(selection.as_ptr().cast());
                    let space = Owned::new(space, host.call.H5Sclose, "the selection of a reference cannot be decoded")?;
                    create_region(file.id, path.as_ptr(), space.id, 0, to)
                }
            };
            check(status, "HDF5 cannot make a reference")?;
        }
        Ok(true)
    }
}

/// Makes references in sequences that were read point into this file, in this process.
pub(super) unsafe fn adopt_references(host: &'static Host, handle: &Handle, memory: hid_t, values: *mut u8, count: usize) -> Result<()> {
    // SAFETY: `values` holds `count` elements of the datatype; each points to the number of references that it says.
    unsafe {
        if (host.call.H5Tget_class)(memory) != H5T_VLEN {
            return Ok(());
        }
        let element = datatype::base(host, memory)?;
        if (host.call.H5Tget_class)(element.id) != H5T_REFERENCE || (host.call.H5Tget_size)(element.id) != reference::BYTES {
            return Ok(());
        }
        let file = file_of(host, handle)?;
        for i in 0..count {
            let [length, bytes] = values.cast::<[usize; 2]>().add(i).read_unaligned();
            for n in 0..length {
                let one = (bytes as *mut u8).add(n * reference::BYTES);
                if one.add(reference::KIND).read() != reference::OBJECT {
                    return Err(Error::unsupported("sequences of references to selections or attributes are not supported; use an array of them"));
                }
                one.add(reference::FILE_NAME).cast::<usize>().write_unaligned(0);
                one.add(reference::LOCATION).cast::<hid_t>().write_unaligned(file.id);
                one.add(reference::COUNTED).write(1);
                (host.call.H5Iinc_ref)(file.id);
            }
        }
    }
    Ok(())
}
