//! Write plans, fragments, splits, index tasks and fragments, and conditions.
#![no_main]

use hyperslab_fuzz as fuzz;
use libfuzzer_sys::fuzz_target;

#[path = "../src/documents.rs"]
mod documents;

fuzz_target!(|data: &[u8]| documents::document(data));
