//! Tests of the storage without HDF5.
