//! netCDF-4: names, dimensions and conventions over HDF5; parses no bytes.

mod attribute;
mod described;
mod detect;
mod fill;
mod grown;
mod interpreted;
mod phony;
mod scales;
mod shown;
mod tree;
mod whole_file;

pub use detect::is_netcdf4;
pub use scales::attached;
pub use tree::Netcdf4Tree;
