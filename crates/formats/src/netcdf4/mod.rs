//! netCDF-4: names, dimensions and conventions over HDF5; parses no bytes.
use crate::Tree;

/// Whether the netCDF-4 library wrote this file.
pub fn is_netcdf4(_tree: &Tree) -> bool {
    false
}
/// Applies the netCDF-4 conventions.
pub fn interpret(_tree: &mut Tree) {}
/// Fills `Dataset::dimensions` of plain HDF5 from attached dimension scales.
pub fn attach_dimension_scales(_tree: &mut Tree) {}
