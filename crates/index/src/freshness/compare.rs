//! Compare: decides by the hashes of its blocks whether an index matches the values of a file. Needed if the modification
//! time does not show it: for copies, and for files that were renamed or touched.

use std::sync::atomic::{AtomicU64, Ordering};

use hyperslab_array::{Cancellation, Error, ErrorKind, Region, Result};
use hyperslab_reader::File;
use rayon::prelude::*;

use super::indexed_parts::IndexedParts;
use crate::block::block_builder::Builder;
use crate::store::block_directory::BlockDirectory;
use crate::store::index_reader::StoredRow;

/// Maximum number of stored bytes that queries compare for each version of a data file.
const MAX_COMPARED_BYTES: u64 = 1 << 30;

fn stale(path: &str, why: &str) -> Error {
    Error::new(ErrorKind::Conflict, format!("the index of {path} is stale: {why}"))
}

/// Checks that the values of a dataset are those that were indexed, as `is_same` does. `Conflict` if they are not, or if
/// this would read too much. `compared` counts the bytes that were compared before.
pub(crate) fn check(file: &File, values: &IndexedParts, directory: &BlockDirectory, compared: &AtomicU64) -> Result<()> {
    let path = &values.label(file)?;
    let bytes = values.stored_bytes(file, directory.shape.iter().fold(1u64, |elements, extent| elements.saturating_mul(*extent)))?;
    let before = compared.fetch_add(bytes, Ordering::Relaxed);
    if before.saturating_add(bytes) > MAX_COMPARED_BYTES {
        compared.fetch_sub(bytes, Ordering::Relaxed);
        return Err(stale(
            path,
            "the file was copied, renamed or touched since the build, and has too many values to compare them now; refresh it: unchanged blocks are kept",
        ));
    }
    if is_same(file, values, directory)? { Ok(()) } else { Err(stale(path, "the values of the file have changed since the build; refresh it")) }
}

/// Whether the values of a dataset are those that were indexed. Hashes the values, or the stored bytes if they are filtered.
/// Returns false for virtual datasets and foreign arrays, which are not compared.
pub(crate) fn is_same(file: &File, values: &IndexedParts, directory: &BlockDirectory) -> Result<bool> {
    if values.is_virtual(file)? || !file.array_file().is_stored() {
        return Ok(false);
    }
    let is_filtered = values.is_filtered(file)?;
    // The blocks of each box of whole chunks, since stored bytes are hashed by chunk.
    let mut units: Vec<(Region, Vec<&StoredRow>)> = Vec::new();
    for (entry, row) in directory.entries().iter().filter_map(|entry| Some((entry, directory.row(entry)?.1))) {
        let around = directory.around(&entry.region);
        match units.last_mut().filter(|(known, _)| *known == around) {
            Some((_, rows)) => rows.push(row),
            None => units.push((around, vec![row])),
        }
    }
    let cancellation = Cancellation::new();
    let is_same_unit = |builder: &mut Builder, (around, rows): &(Region, Vec<&StoredRow>)| -> Result<bool> {
        if is_filtered {
            let source = values.chunk_hash(file, around, &cancellation)?;
            return Ok(rows.iter().all(|row| row.source == source));
        }
        for row in rows {
            let arrays = values.read(file, &row.region, &directory.shape, &cancellation)?;
            if values.hash_of(builder, &arrays)? != row.zone.hash {
                return Ok(false);
            }
        }
        Ok(true)
    };
    // The first difference stops all threads with an error, which becomes `false`.
    let different = || Error::new(ErrorKind::Conflict, "the values have changed");
    let outcome = file
        .session()
        .compute(|| units.par_iter().try_for_each_init(Builder::default, |builder, unit| if is_same_unit(builder, unit)? { Ok(()) } else { Err(different()) }));
    match outcome {
        Err(error) if error.kind() == ErrorKind::Conflict => Ok(false),
        outcome => outcome.map(|()| true),
    }
}
