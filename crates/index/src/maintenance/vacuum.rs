//! Vacuum: removes leftover files of index builds next to a data file, and unused indexes at its end.

use std::path::Path;
use std::time::Duration;

use hyperslab_array::Result;
use hyperslab_reader::Session;

use super::embed;
use crate::registry::index_folder;
use crate::store::places::{PlaceKind, places};
use crate::store::sweep;

/// Removes leftover files of killed builds from the sidecars of the file at `path`, uncommitted results of tasks that are
/// older than `age`, and unused indexes at the end of the file. Returns a description of each removed item. With `dry_run`
/// nothing is removed.
///
/// The file is truncated only if an index follows its HDF5 data, under an exclusive lock. No program may have the file open
/// without locks meanwhile.
///
/// # Errors
/// `Io` if a folder cannot be read or a file cannot be removed; `Conflict` if another program has the file open.
pub fn vacuum(session: &Session, path: &Path, age: Duration, dry_run: bool) -> Result<Vec<String>> {
    let mut removed = Vec::new();
    for place in places(path, index_folder(session)) {
        if place.kind == PlaceKind::Embedded {
            if let Some(bytes) = embed::remove_unused(session, path, dry_run)? {
                removed.push(format!("{bytes} bytes at the end of {}", path.display()));
            }
        } else if place.path.symlink_metadata().is_ok_and(|found| found.is_dir()) {
            let swept = sweep::sweep(&place.path, age, dry_run)?;
            removed.extend(swept.into_iter().map(|name| place.path.join(name).display().to_string()));
        }
    }
    Ok(removed)
}
