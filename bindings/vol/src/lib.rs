//! A terminal HDF5 VOL connector: unmodified HDF5 programs read and write Arrow.
//!
//! The HDF5 library that loads the connector is its **host**. The connector links no libhdf5; it looks up every function in
//! the host at run time (`host`). An HDF5 file is a container of Arrow IPC files (crate `hyperslab-arrow-container`).
//! `callbacks` has one file for each group of HDF5's callbacks; `transfer` moves values between a program's memory and
//! columns; `guard` turns errors and panics into entries of HDF5's error stack; `legacy_api` and `legacy_references` serve
//! functions of HDF5 before 1.12.

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
