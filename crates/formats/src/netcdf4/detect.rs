//! Whether the netCDF-4 library wrote a file.

use std::collections::{BTreeSet, VecDeque};

use hyperslab_array::Result;

use super::scales::is_scale;
use crate::{ObjectId, Tree};

/// Attributes of the root group that only the library writes.
const OF_ROOT: [&str; 2] = ["_NCProperties", "_nc3_strict"];
/// Attributes of variables that only the library writes.
const OF_VARIABLES: [&str; 2] = ["_Netcdf4Dimid", "_Netcdf4Coordinates"];

/// Number of objects that are examined if the root group could be the library's: it tracks the order of its links, as the
/// library's groups do, or it states conventions.
const MAX_EXAMINED: usize = 1000;
/// Number of objects that are examined otherwise.
const MAX_EXAMINED_UNLIKELY: usize = 64;

/// Whether the netCDF-4 library wrote this file: by its bookkeeping, or, for releases that left none, by dimension scales in
/// a file that states its (CF) conventions. Since 2016 the root group says so. Otherwise the objects closest to the root are
/// examined, a bounded number of them, so that opening a large HDF5 file stays cheap.
///
/// # Errors
/// If the root group cannot be parsed.
pub fn is_netcdf4(tree: &dyn Tree) -> Result<bool> {
    // Damaged objects and attributes are errors when they are used.
    let has = |id: ObjectId, names: &[&str]| tree.has_attribute(id, names).unwrap_or(false);
    if has(tree.root(), &OF_ROOT) {
        return Ok(true);
    }
    let has_conventions = has(tree.root(), &["Conventions"]);
    let likely = has_conventions || tree.tracks_links(tree.root())?;
    let max = if likely { MAX_EXAMINED } else { MAX_EXAMINED_UNLIKELY };
    let mut seen: BTreeSet<ObjectId> = BTreeSet::from([tree.root()]);
    let mut pending = VecDeque::from([tree.root()]);
    while let Some(id) = pending.pop_front() {
        if has(id, &OF_VARIABLES) || (has_conventions && is_scale(&tree.attributes(id).unwrap_or_default().list)) {
            return Ok(true);
        }
        let room = max.saturating_sub(seen.len());
        if room > 0 {
            let links = tree.first_links(id, room).unwrap_or_default();
            let targets = links.iter().filter_map(|link| link.object());
            pending.extend(targets.filter(|id| seen.len() < max && seen.insert(*id)));
        }
    }
    Ok(false)
}
