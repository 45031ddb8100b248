//! The core crate's reads of every size.
#![no_main]

use hyperslab_fuzz as fuzz;
use libfuzzer_sys::fuzz_target;

#[path = "../src/read_sizes.rs"]
mod read_sizes;

fuzz_target!(|data: &[u8]| read_sizes::read_file(data));
