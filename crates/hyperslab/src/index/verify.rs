//! Verify: whether the data are still those that an index was made of, by the hashes of the blocks' values.

use hyperslab_array::Result;

use super::block::Builder;
use super::fragment::read_block;
use super::manifest;
use super::plan::column_of;
use super::source::{self, Stamp};
use crate::scan::pruner::Level;
use crate::{Cancellation, File};

/// Blocks of values that are not those which the file's indexes were made of, though nothing says that the file was changed:
/// each dataset with how many of its blocks, and the first. Indexes that are stale are left out, and what has no index.
pub fn verify(file: &File, cancellation: &Cancellation) -> Result<Vec<String>> {
    let (mut problems, mut builder) = (Vec::new(), Builder::default());
    let name = file.path().file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let indexes = file.session().indexes();
    for place in manifest::places(file.path()) {
        let Some(found) = indexes.manifest(&place) else { continue };
        let now = Stamp::now(file.path());
        let valid = found.files_called(name).filter(|indexed| Some(indexed.stamp) == now && Stamp::of(file) == now);
        for indexed in valid.flat_map(|indexed| &indexed.columns) {
            let dataset = file.find(&indexed.path)?.object;
            let columns = [false, true].map(|raw| column_of(file, dataset, raw));
            let Some(column) = columns.into_iter().flatten().find(|column| source::identity(column) == indexed.identity) else { continue };
            let Some(table) = indexes.table(file, dataset, &column)? else { continue };
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
                problems.push(format!("{} {}: {count} of {all} blocks have other values than when they were indexed; the first is block {first}", file.name(), indexed.path));
            }
        }
    }
    Ok(problems)
}
