//! Compared: whether an index is of the values that a file has, by the hashes of its blocks. For files whose time of change
//! does not tell: copies, and files that were renamed or touched.

use std::sync::atomic::{AtomicU64, Ordering};

use hyperslab_array::{Cancellation, Error, ErrorKind, Result};
use hyperslab_columns::Column;
use hyperslab_formats::{ObjectId, StorageLayout};
use hyperslab_reader::File;
use hyperslab_scan::pruner::Level;
use rayon::prelude::*;

use crate::build::block::Builder;
use crate::build::block_grid::BlockBox;
use crate::build::fragment::read_block;
use crate::query::block_directory::Table;
use crate::store::index_reader::StoredRow;
use super::source;

/// Stored bytes that are compared on behalf of questions, for each index and version of its file.
const MOST_COMPARED_BYTES: u64 = 1 << 30;

fn stale(path: &str, why: &str) -> Error {
    Error::new(ErrorKind::Conflict, format!("the index of {path} is stale: {why}"))
}

/// Sees that the values of a dataset are those that were indexed: reads them, or where they are filtered their stored
/// bytes. `Conflict` if they are not, or if this would go beyond what `compared` says has been read already.
pub(crate) fn check(file: &File, dataset: ObjectId, column: &Column, table: &Table, compared: &AtomicU64) -> Result<()> {
    let (description, path) = (file.dataset(dataset)?, &file.object(dataset)?.path);
    let values = table.shape.iter().fold(description.datatype.size(), |bytes, extent| bytes.saturating_mul(*extent));
    let bytes = description.stored_bytes.unwrap_or(values);
    let before = compared.fetch_add(bytes, Ordering::Relaxed);
    if before.saturating_add(bytes) > MOST_COMPARED_BYTES {
        compared.fetch_sub(bytes, Ordering::Relaxed);
        return Err(stale(path, "the file was copied, renamed or touched since it was built, and has too many values to compare them now; refresh it: what has not changed is kept"));
    }
    if is_same(file, dataset, column, table)? { Ok(()) } else { Err(stale(path, "the file has other values since it was built; refresh it")) }
}

/// Whether the values of a dataset are those that were indexed. Virtual datasets and arrays of others are not compared.
pub(crate) fn is_same(file: &File, dataset: ObjectId, column: &Column, table: &Table) -> Result<bool> {
    let description = file.dataset(dataset)?;
    if description.storage == StorageLayout::Virtual || file.is_foreign() {
        return Ok(false);
    }
    let is_filtered = !description.filters.is_empty();
    // Blocks with the whole chunks around them, which a hash of stored bytes is of.
    let mut units: Vec<(BlockBox, Vec<&StoredRow>)> = Vec::new();
    for (entry, row) in table.entries().iter().filter_map(|entry| Some((entry, table.row(entry)?.1))) {
        let around = table.around(&entry.place);
        match units.last_mut().filter(|(known, _)| *known == around) {
            Some((_, rows)) => rows.push(row),
            None => units.push((around, vec![row])),
        }
    }
    let cancellation = Cancellation::new();
    let is_same_unit = |builder: &mut Builder, (around, rows): &(BlockBox, Vec<&StoredRow>)| -> Result<bool> {
        if is_filtered {
            let source = source::chunks(file, dataset, around, &cancellation)?;
            return Ok(rows.iter().all(|row| row.source == source));
        }
        for row in rows {
            let values = read_block(file, dataset, column, &row.place, &table.shape, &cancellation)?;
            if builder.build(&values, Level::Zone)?.zone.hash != row.zone.hash {
                return Ok(false);
            }
        }
        Ok(true)
    };
    let different = || Error::new(ErrorKind::Conflict, "other values");
    let outcome = file.session().compute(|| {
        units.par_iter().try_for_each_init(Builder::default, |builder, unit| if is_same_unit(builder, unit)? { Ok(()) } else { Err(different()) })
    });
    match outcome {
        Err(error) if error.kind() == ErrorKind::Conflict => Ok(false),
        outcome => outcome.map(|()| true),
    }
}
