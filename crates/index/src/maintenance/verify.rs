//! Verify: compares the hashes of all blocks' values with those of the index.

use hyperslab_array::{Cancellation, Result};
use hyperslab_reader::File;

use crate::block::block_builder::Builder;
use crate::registry::{UsableIndex, indexes_of};

/// Finds blocks whose values have changed although the stamp of the file has not. Returns one message per dataset with such
/// blocks, with their number and the index of the first. Skips stale indexes and datasets without an index.
///
/// # Errors
/// `Io`, `Corrupt`, `Unsupported` or `LimitExceeded` if values cannot be read; `Cancelled`.
pub fn verify(file: &File, cancellation: &Cancellation) -> Result<Vec<String>> {
    let (mut problems, mut builder) = (Vec::new(), Builder::default());
    for UsableIndex { path, values, directory } in indexes_of(file.session())?.usable_indexes(file)? {
        let mut changed = Vec::new();
        for (index, entry) in directory.entries().iter().enumerate() {
            cancellation.check()?;
            let Some((_, row)) = directory.row(entry) else { continue };
            let arrays = values.read(file, &entry.region, &directory.shape, cancellation)?;
            if values.hash_of(&mut builder, &arrays)? != row.zone.hash {
                changed.push(index);
            }
        }
        if let Some(first) = changed.first() {
            let (count, all) = (changed.len(), directory.entries().len());
            problems.push(format!("{} {path}: {count} of {all} blocks have other values than when they were indexed; the first is block {first}", file.name()));
        }
    }
    Ok(problems)
}
