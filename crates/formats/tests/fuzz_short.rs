//! The fuzz targets of this crate for a short time, as testing/fuzz/src/short.rs says. `make fuzz-short` gives
//! them more seeds, more time, and checksums that hold for every input.

use std::fs;
use std::path::{Path, PathBuf};

use hyperslab_formats::Interpretation;

#[path = "../../../testing/fuzz/src/lib.rs"]
#[expect(
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "the fuzz targets' own checks, which fail by panic"
)]
mod fuzz;

fn own_seeds() -> Vec<PathBuf> {
    let testing = Path::new("../../testing/fuzz/regressions");
    fs::read_dir(testing).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}

fn scratch() -> &'static Path {
    Path::new(env!("CARGO_TARGET_TMPDIR"))
}

#[test]
fn damaged_files_give_errors_or_the_same_values_in_whole_and_in_parts() {
    let target = |data: &[u8]| {
        fuzz::read_everything(data, Interpretation::Automatic);
        fuzz::read_everything(data, Interpretation::Hdf5);
    };
    fuzz::short::run("whole_file", target, 33_000, scratch(), &own_seeds());
}

#[test]
fn damaged_chunks_give_errors_or_a_whole_chunk() {
    fuzz::short::run("filters", fuzz::filters::decode, 4096, scratch(), &own_seeds());
}

#[test]
fn damaged_messages_give_errors_or_what_can_be_written_and_read_again() {
    fuzz::short::run("messages", fuzz::parsers::message, 4096, scratch(), &own_seeds());
}

#[test]
fn damaged_heaps_give_errors_or_the_same_bytes_in_whole_and_in_parts() {
    fuzz::short::run("heaps", fuzz::parsers::heap, 16_000, scratch(), &own_seeds());
}

#[test]
fn damaged_trees_give_errors_or_the_same_chunks_for_whole_and_parts() {
    fuzz::short::run("trees", fuzz::parsers::tree, 16_000, scratch(), &own_seeds());
}

#[test]
fn damaged_references_give_errors_or_the_same_values_in_whole_and_in_parts() -> std::io::Result<()> {
    let folder = scratch().join("references");
    fs::create_dir_all(&folder)?;
    let mut seeds = Vec::new();
    for (number, text) in fuzz::references::SEEDS.iter().enumerate() {
        let seed = folder.join(format!("seed{number}"));
        fs::write(&seed, text)?;
        seeds.push(seed);
    }
    fuzz::short::write_seeds("references", &seeds);
    fuzz::short::run("references", fuzz::references::document, 33_000, scratch(), &seeds);
    Ok(())
}

#[test]
fn a_failure_is_not_swallowed_and_leaves_its_input() {
    let scratch = scratch().join("failing");
    assert!(fs::create_dir_all(&scratch).is_ok());
    let run = || fuzz::short::run("failing", |data| assert!(data.is_empty()), 33_000, &scratch, &own_seeds());
    // This panic is intended, so the output of a passing run must not show it.
    let (here, shown) = (std::thread::current().id(), std::panic::take_hook());
    std::panic::set_hook(Box::new(move |panic| {
        if std::thread::current().id() != here {
            shown(panic);
        }
    }));
    assert!(std::panic::catch_unwind(run).is_err());
    assert!(fs::read(scratch.join("fuzz-short-failing")).is_ok_and(|input| !input.is_empty()));
}
