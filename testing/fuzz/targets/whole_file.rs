//! A whole file from memory, as netCDF and as plain HDF5: listed, located and decoded, whole and in parts.
#![no_main]

use hyperslab_formats::Interpretation;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    hyperslab_fuzz::read_everything(data, Interpretation::Automatic);
    hyperslab_fuzz::read_everything(data, Interpretation::Hdf5);
});
