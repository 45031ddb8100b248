//! The fuzz target of this crate for a short time, as testing/fuzz/src/short.rs says.

use std::fs;
use std::path::{Path, PathBuf};

#[path = "../../../testing/fuzz/src/lib.rs"]
#[expect(dead_code, clippy::expect_used, clippy::panic, reason = "the fuzz targets' own checks, which fail by panic")]
mod fuzz;

#[path = "../../../testing/fuzz/src/read_sizes.rs"]
#[expect(clippy::expect_used, reason = "the same")]
mod read_sizes;

#[test]
fn damaged_files_read_alike_in_whole_and_in_parts() {
    let testing = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testing/fuzz/regressions");
    let own: Vec<PathBuf> = fs::read_dir(testing).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    fuzz::short::run("read_sizes", read_sizes::read_file, 33_000, Path::new(env!("CARGO_TARGET_TMPDIR")), &own);
}
