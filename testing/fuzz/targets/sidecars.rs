//! Sidecars of value indexes.
#![no_main]

use hyperslab_fuzz as fuzz;
use libfuzzer_sys::fuzz_target;

#[path = "../src/sidecars.rs"]
mod sidecars;

fuzz_target!(|data: &[u8]| sidecars::sidecar(data));
