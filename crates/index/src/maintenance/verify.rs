//! Verify: compares the hashes of all blocks' values with the hashes in the index, and the bytes of the index with their checksums.

use hyperslab_array::{Cancellation, Result};
use hyperslab_reader::File;

use crate::block::block_builder::Builder;
use crate::registry::{UsableIndex, indexes_of};

/// Finds blocks whose values have changed although the stamp of the file has not, and blocks of the index that are damaged. Returns
/// one message per dataset for each, with the number of such blocks and the index of the first. Skips stale indexes and datasets
/// without an index.
///
/// # Errors
/// `Io`, `Corrupt`, `Unsupported` or `LimitExceeded` if values cannot be read; `Cancelled`.
pub fn verify(file: &File, cancellation: &Cancellation) -> Result<Vec<String>> {
    let (mut problems, mut builder) = (Vec::new(), Builder::default());
    for UsableIndex { path, values, directory } in indexes_of(file.session())?.usable_indexes(file)? {
        let (mut changed, mut damaged) = (Vec::new(), Vec::new());
        for (index, entry) in directory.entries().iter().enumerate() {
            cancellation.check()?;
            let Some((index_file, row)) = directory.row(entry) else { continue };
            if !index_file.is_intact(row)? {
                damaged.push(index);
            }
            let arrays = values.read(file, &entry.region, &directory.shape, cancellation)?;
            if values.hash_of(&mut builder, &arrays)? != row.zone.hash {
                changed.push(index);
            }
        }
        let all = directory.entries().len();
        if let Some(first) = changed.first() {
            let count = changed.len();
            problems.push(format!("{} {path}: {count} of {all} blocks have other values than when they were indexed; the first is block {first}", file.name()));
        }
        if let Some(first) = damaged.first() {
            let count = damaged.len();
            problems.push(format!(
                "{} {path}: {count} of {all} blocks of the index are damaged, so that values are read from the data; the first is block {first}; build it again \
                 (rebuild=True)",
                file.name()
            ));
        }
    }
    Ok(problems)
}
