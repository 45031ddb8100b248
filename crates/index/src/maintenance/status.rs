//! Status: why indexes are not used, or only in part.

use hyperslab_array::Result;
use hyperslab_reader::File;
use hyperslab_scan::pruner::Pruner;

use crate::registry::indexes_of;

/// Explains why existing indexes of a file are not used, or only in part, one remark per problem. Opens all index files, but reads
/// their large parts only where something is wrong with them: [`verify`](crate::verify) reads everything.
///
/// # Errors
/// `Io`, `Corrupt`, `Unsupported` or `LimitExceeded` if the objects of the file cannot be read.
pub fn status(file: &File) -> Result<Vec<String>> {
    let indexes = indexes_of(file.session())?;
    // What is wrong with an index file is known once it was opened.
    indexes.usable_indexes(file)?;
    Ok(indexes.remarks(file))
}
