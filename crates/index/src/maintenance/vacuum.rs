//! Tidy: removes what is left of builds of indexes, beside a file and at its end.

use std::path::Path;
use std::time::Duration;

use hyperslab_array::Result;
use hyperslab_reader::Session;

use crate::registry::index_folder;
use crate::store::{embedded, sweep};
use crate::store::places::{Kind, places};

/// Removes what killed builds have left in the sidecars of the file at `path`, what tasks have built that nobody has
/// committed if it is older than `age`, and unused indexes at the end of the file. What was removed, for people.
///
/// The end of the file is cut off only where it begins with an index of ours, under an exclusive lock. No program may
/// have the file open without locks. With `is_dry` nothing is removed.
pub fn tidy(session: &Session, path: &Path, age: Duration, is_dry: bool) -> Result<Vec<String>> {
    let mut removed = Vec::new();
    for place in places(path, index_folder(session)) {
        if place.kind == Kind::Embedded {
            if let Some(bytes) = embedded::clean(session, path, is_dry)? {
                removed.push(format!("{bytes} bytes at the end of {}", path.display()));
            }
        } else if place.path.symlink_metadata().is_ok_and(|found| found.is_dir()) {
            let swept = sweep::sweep(&place.path, age, is_dry)?;
            removed.extend(swept.into_iter().map(|name| place.path.join(name).display().to_string()));
        }
    }
    Ok(removed)
}
