//! References in sequences, which HDF5 stores as they were in the writer's memory.

use crate::datatype;
use crate::ffi::*;
use crate::handle::Handle;
use crate::host::{Host, Owned};
use hyperslab_arrow_container::error::{Error, Result};

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
        let place = hyperslab_arrow_container::container::Place::new(std::sync::Arc::clone(&handle.place.container), hyperslab_arrow_container::model::ROOT);
        let what = crate::handle::What::File { fapl: None, writable: false, name: handle.place.container.path.display().to_string(), primary: false };
        let raw = Handle::give(host, place, what, "/".to_owned());
        let file = (host.call.H5VLwrap_register)(raw, H5I_FILE);
        if file < 0 {
            Handle::close(raw)?;
        }
        let file = Owned::new(file, host.call.H5Idec_ref, "HDF5 gives no ID for the file of a reference")?;
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
