//! Opening files: the format is detected from the bytes, never from the name.

use std::sync::Arc;

use hyperslab_array::{Error, Result};
use hyperslab_storage::Storage;

use crate::{ArrayFile, Limits, hdf5, netcdf3, other_format, references};

/// Whether netCDF-4 conventions are applied to HDF5 files that carry them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Interpretation {
    /// netCDF-4 files show dimensions and hide the library's bookkeeping.
    #[default]
    Automatic,
    /// Every HDF5 file is shown as plain HDF5, as h5py does.
    Hdf5,
    /// Every HDF5 file is shown as netCDF-4, as the netCDF library does: dimensions without a scale get phony names.
    Netcdf4,
}

/// How to open a file.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct OpenOptions {
    /// Limits on what the file may cost.
    pub limits: Limits,
    /// netCDF-4 or plain HDF5.
    pub interpretation: Interpretation,
    /// Whether the other members of a file that HDF5's drivers `family`, `multi` and `split` keep in several files are opened.
    pub joins_members: bool,
}

impl OpenOptions {
    /// These limits, and netCDF-4 or plain HDF5.
    pub fn new(limits: Limits, interpretation: Interpretation) -> Self {
        Self { limits, interpretation, joins_members: true }
    }
    /// Opening other members of a file, or refusing files of several members.
    #[must_use]
    pub fn with_members(self, joins_members: bool) -> Self {
        Self { joins_members, ..self }
    }
}

/// Opens a file of any supported format. Errors name the file.
///
/// # Errors
/// `InvalidInput` for a file of another format; `Unsupported`, `Corrupt`, `LimitExceeded` or `Io` if it cannot be
/// parsed.
pub fn open(storage: Arc<dyn Storage>, options: &OpenOptions) -> Result<Arc<dyn ArrayFile>> {
    open_named(storage.clone(), options).map_err(|error| error.in_file(storage.name()))
}

fn open_named(storage: Arc<dyn Storage>, options: &OpenOptions) -> Result<Arc<dyn ArrayFile>> {
    if netcdf3::is_netcdf3(storage.as_ref())? {
        return Ok(Arc::new(netcdf3::Netcdf3File::open(storage, &options.limits)?));
    }
    let Some(address) = hdf5::find_superblock(storage.as_ref())? else {
        if references::is_references(storage.as_ref())? {
            return Ok(Arc::new(references::ReferencesFile::open(storage, &options.limits)?));
        }
        return Err(Error::invalid_input(other_format::describe(storage.as_ref())?));
    };
    let mut file = hdf5::Hdf5File::open(storage, address, &options.limits, options.joins_members)?;
    match options.interpretation {
        Interpretation::Hdf5 => {}
        Interpretation::Automatic => file.detect_netcdf4()?,
        Interpretation::Netcdf4 => file.interpret_netcdf4(),
    }
    Ok(Arc::new(file))
}
