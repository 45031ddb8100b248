//! A terminal HDF5 VOL connector: unmodified HDF5 programs write Arrow and read Arrow.
//!
//! The library that loads this one is its **host**: no libhdf5 is linked, and every function is looked up in the
//! host at run time (`host`). What HDF5 calls a file is a folder of Arrow IPC files (the crate `hyperslab-arrow-container`).
//! Between them, `callbacks` has one file for each group of HDF5's callbacks; `transfer` moves values between
//! a program's memory and columns; `guard` turns errors and panics into entries of HDF5's error stack.

mod callbacks;
mod class;
mod datatype;
mod ffi;
mod functions;
mod guard;
mod handle;
mod host;
mod legacy_api;
mod legacy_references;
mod mpi;
mod plist;
mod transfer;
