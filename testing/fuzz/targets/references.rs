//! Documents of chunk references.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| hyperslab_fuzz::references::document(data));
