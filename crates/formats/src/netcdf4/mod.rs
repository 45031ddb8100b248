//! netCDF-4: names, dimensions and conventions over HDF5; parses no bytes.

mod attribute;
mod fill;
mod interpret;
mod phony;
mod scales;

pub use interpret::{interpret, is_netcdf4};
pub use scales::attach_dimension_scales;
