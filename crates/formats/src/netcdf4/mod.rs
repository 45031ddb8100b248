//! netCDF-4: names, dimensions and conventions over HDF5; parses no bytes.

mod attribute;
mod detect;
mod fill;
mod interpret;
mod phony;
mod scales;

pub(crate) use detect::is_netcdf4;
pub(crate) use interpret::interpret;
pub(crate) use scales::attached;
