//! Containers of the VOL connector, through the core crate.
#![no_main]

use hyperslab_fuzz as fuzz;
use libfuzzer_sys::fuzz_target;

#[path = "../src/containers.rs"]
mod containers;
#[path = "../src/read_sizes.rs"]
mod read_sizes;

fuzz_target!(|data: &[u8]| containers::container(data));
