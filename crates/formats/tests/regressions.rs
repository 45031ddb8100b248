//! What fuzzing and damaged files brought to light, in testing/fuzz/regressions/: no panic, no `Internal`
//! and no allocation beyond the limits may come back, nor a value where there is none.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use hyperslab_array::{ErrorKind, Result, Selection};
use hyperslab_formats::{Interpretation, Object, OpenOptions, open};
use hyperslab_storage::Memory;

#[path = "../../../testing/fuzz/src/lib.rs"]
#[expect(
    dead_code,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "the fuzz targets' own checks, which fail by panic"
)]
mod fuzz;

fn folder() -> PathBuf {
    PathBuf::from("../../testing/fuzz/regressions")
}

#[test]
fn every_finding_is_read_without_panic_and_alike_in_whole_and_in_parts() -> std::io::Result<()> {
    let mut found = 0;
    for entry in fs::read_dir(folder())? {
        let bytes = fs::read(entry?.path())?;
        fuzz::read_everything(&bytes, Interpretation::Automatic);
        fuzz::read_everything(&bytes, Interpretation::Hdf5);
        found += 1;
    }
    assert!(found > 1, "the findings are not where they were");
    Ok(())
}

/// The error of locating all of the first dataset of a finding.
fn locating(name: &str) -> Result<Option<ErrorKind>> {
    let bytes = fs::read(folder().join(name))?;
    let file = open(Arc::new(Memory::new(name, bytes)), &OpenOptions::default())?;
    for id in fuzz::objects(file.tree()) {
        if let Object::Dataset(dataset) = file.tree().object(id)? {
            return Ok(file.locate(id, &Selection::all(dataset.dataspace.shape())).err().map(|error| error.kind()));
        }
    }
    Ok(None)
}

#[test]
fn a_chunk_that_its_keys_hide_from_the_library_is_corrupt() -> Result<()> {
    assert_eq!(locating("chunk-key-out-of-order")?, Some(ErrorKind::Corrupt));
    Ok(())
}

#[test]
fn a_read_of_more_chunks_than_the_file_can_have_is_refused_before_they_are_listed() -> Result<()> {
    assert_eq!(locating("endless-chunks")?, Some(ErrorKind::LimitExceeded));
    Ok(())
}

#[test]
fn a_name_ends_at_its_nul() -> Result<()> {
    let bytes = fs::read(folder().join("nul-in-name"))?;
    let file = open(Arc::new(Memory::new("nul-in-name", bytes)), &OpenOptions::default())?;
    let links = file.tree().links(file.tree().root())?;
    let names: Vec<&str> = links.iter().map(|link| link.name.as_str()).collect();
    assert_eq!(names, ["na"]);
    Ok(())
}

#[test]
fn a_chunk_out_of_order_in_a_version_2_tree_is_corrupt() -> Result<()> {
    assert_eq!(locating("chunk-record-out-of-order")?, Some(ErrorKind::Corrupt));
    Ok(())
}
