//! netCDF classic: CDF-1, CDF-2 and CDF-5 (NetCDF Users Guide, "File Format Specifications").
//!
//! A header of dimensions, attributes and variables, then big-endian arrays. Variables over the
//! unlimited dimension are interleaved record by record.

mod file;
mod header;
mod layout;

pub use file::Netcdf3File;
pub use layout::{ClassicLayout, ClassicVariable};

use hyperslab_array::Result;
use hyperslab_storage::Storage;

/// Whether the file starts with a CDF-1, CDF-2 or CDF-5 signature.
///
/// # Errors
/// `Io` if the file cannot be read.
pub fn is_netcdf3(storage: &dyn Storage) -> Result<bool> {
    if storage.len() < 4 {
        return Ok(false);
    }
    let mut magic = [0; 4];
    storage.read_exact_at(0, &mut magic)?;
    Ok(matches!(magic, [b'C', b'D', b'F', 1 | 2 | 5]))
}
