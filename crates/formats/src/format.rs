//! The formats that Hyperslab reads.

/// The format of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// HDF5 without netCDF conventions.
    Hdf5,
    /// netCDF classic: CDF-1, CDF-2 or CDF-5.
    Netcdf3,
    /// HDF5 written by the netCDF-4 library.
    Netcdf4,
}
