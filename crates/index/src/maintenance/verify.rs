//! Verify: whether the data are still those that an index was made of, by the hashes of the blocks' values.

use hyperslab_array::{Cancellation, Result};
use hyperslab_reader::File;
use hyperslab_scan::pruner::Level;

use crate::build::block::Builder;
use crate::build::fragment::read_block;
use crate::registry::{IndexedTable, indexes_of};

/// Blocks of values that are not those which the file's indexes were made of, though nothing says that the file was changed:
/// each dataset with how many of its blocks, and the first. Indexes that are stale are left out, and what has no index.
pub fn verify(file: &File, cancellation: &Cancellation) -> Result<Vec<String>> {
    let (mut problems, mut builder) = (Vec::new(), Builder::default());
    for IndexedTable { path, dataset, column, table } in indexes_of(file.session())?.tables(file)? {
        let mut others = Vec::new();
        for (number, entry) in table.entries().iter().enumerate() {
            cancellation.check()?;
            let Some((_, row)) = table.row(entry) else { continue };
            let values = read_block(file, dataset, &column, &entry.place, &table.shape, cancellation)?;
            if builder.build(&values, Level::Zone)?.zone.hash != row.zone.hash {
                others.push(number);
            }
        }
        if let Some(first) = others.first() {
            let (count, all) = (others.len(), table.entries().len());
            problems.push(format!("{} {path}: {count} of {all} blocks have other values than when they were indexed; the first is block {first}", file.name()));
        }
    }
    Ok(problems)
}
