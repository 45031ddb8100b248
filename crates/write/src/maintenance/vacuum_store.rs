//! Removes leftovers of containers in object stores: writes that were never committed, and commits that were replaced.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{SystemTime, UNIX_EPOCH};

use hyperslab_array::{Error, Result};
use hyperslab_storage::{StorageOptions, UniqueName, list_files, list_folder, object_name, remove_objects, shown_address};

use super::vacuum::{VacuumOptions, VacuumResult};
use crate::container::commit_name::CommitName;
use crate::container::lineage::CONTAINER_SUFFIX;
use crate::container::record::{RECORD, Record};
use crate::container::store::abort::end_uploads;
use crate::container::store::place::{master_commit, record_in};

/// Maximum number of objects next to a container: each is asked whether it is a master.
const MAX_MASTERS: usize = 10_000;

/// The objects of a write.
#[derive(Default)]
struct WriteObjects {
    names: Vec<String>,
    newest_milliseconds: i64,
}

/// As [`vacuum`](super::vacuum::vacuum), for the container of a master in an object store. Uploads in parts that killed tasks have left are ended,
/// too. The age of objects is measured by the clock of this machine.
///
/// # Errors
/// `Unsupported` for an HTTP server; `LimitExceeded` if more than 10,000 objects are next to the master; `Io` if the store does not answer or
/// refuses, or `Corrupt` if an object next to the container cannot be read, because it may be a master that uses what would be removed.
pub fn vacuum_at(address: &str, options: VacuumOptions, storage: &StorageOptions) -> Result<VacuumResult> {
    object_name(address)?;
    let mut result = VacuumResult::default();
    let container = format!("{address}{CONTAINER_SUFFIX}");
    let mut writes: BTreeMap<UniqueName, WriteObjects> = BTreeMap::new();
    for object in list_folder(&container, storage)? {
        let Some((id, name)) = object.name.split_once('/').and_then(|(id, name)| Some((UniqueName::parse(id).ok()?, name))) else { continue };
        let write = writes.entry(id).or_default();
        write.newest_milliseconds = write.newest_milliseconds.max(object.modified_milliseconds);
        write.names.push(name.to_owned());
    }
    if writes.is_empty() {
        return Ok(result);
    }
    let masters = living_commits(address, storage, &writes)?;
    let record = |id: &UniqueName| if writes.contains_key(id) { record_in(&format!("{container}/{id}"), storage, id) } else { Ok(None) };
    let Lineage { living, replaced } = Lineage::of(masters.into_iter().map(|commit| commit.folder).collect(), &writes, record)?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_err(|_| Error::internal("a clock before 1970"))?;
    let ages: BTreeMap<UniqueName, u128> =
        writes.iter().map(|(id, write)| (id.clone(), u128::try_from(write.newest_milliseconds).map_or(0, |at| now.as_millis().saturating_sub(at)))).collect();
    let rank = |id: &UniqueName| replaced.iter().position(|(older, _)| older == id);
    let mut writes: Vec<(UniqueName, WriteObjects)> = writes.into_iter().collect();
    writes.sort_by_key(|(id, _)| rank(id));
    for (id, write) in writes {
        let by = rank(&id).and_then(|rank| replaced.get(rank)).map(|(_, by)| by);
        // A replaced state may be read since it was replaced.
        let age = ages.get(by.unwrap_or(&id)).copied().unwrap_or_default();
        if living.contains(&id) {
            continue;
        }
        if write.names.iter().any(|name| name == RECORD) && by.is_none() && !options.orphans {
            result.orphans.push(id.into());
        } else if age >= options.age.as_millis() {
            if !options.is_dry {
                let folder = format!("{container}/{id}");
                end_uploads(&folder, storage, &write.names)?;
                remove_objects(&folder, storage, write.names)?;
            }
            result.removed.push(id.into());
        } else {
            result.young.push(id.into());
        }
    }
    for names in [&mut result.removed, &mut result.young, &mut result.orphans] {
        names.sort();
    }
    Ok(result)
}

/// Which writes the masters of today use.
struct Lineage {
    /// Commits that masters name, and those that these add to.
    living: BTreeSet<UniqueName>,
    /// Commits that these have replaced, each with the one that replaced it; oldest first.
    replaced: Vec<(UniqueName, UniqueName)>,
}

impl Lineage {
    /// Follows the records from the commits `next`, which masters name.
    fn of(mut next: Vec<UniqueName>, writes: &BTreeMap<UniqueName, WriteObjects>, record: impl Fn(&UniqueName) -> Result<Option<Record>>) -> Result<Self> {
        let mut living: BTreeSet<UniqueName> = BTreeSet::new();
        let mut older: Vec<(UniqueName, UniqueName)> = Vec::new();
        while let Some(id) = next.pop() {
            if living.insert(id.clone())
                && let Some(record) = record(&id)?
            {
                next.extend(record.previous.map(|commit| commit.folder));
                older.extend(record.replaced.map(|commit| (commit.folder, id)));
            }
        }
        // What the masters of today have replaced is known by their records, and no orphan.
        let mut replaced: Vec<(UniqueName, UniqueName)> = Vec::new();
        while let Some((id, by)) = older.pop() {
            if !writes.contains_key(&id) || living.contains(&id) || replaced.iter().any(|(known, _)| *known == id) {
                continue;
            }
            if let Some(record) = record(&id)? {
                older.extend(record.previous.map(|commit| (commit.folder, by.clone())));
                older.extend(record.replaced.map(|commit| (commit.folder, id.clone())));
            }
            replaced.push((id, by));
        }
        // Oldest first, because each record leads to older ones.
        replaced.reverse();
        Ok(Self { living, replaced })
    }
}

/// The commits of this container that objects next to it name.
fn living_commits(address: &str, storage: &StorageOptions, writes: &BTreeMap<UniqueName, WriteObjects>) -> Result<Vec<CommitName>> {
    let parent = address.rsplit_once('/').map_or(address, |(parent, _)| parent);
    let names = list_files(parent, storage)?;
    if names.len() > MAX_MASTERS {
        return Err(Error::limit_exceeded(format!("{} objects are next to this one, and at most {MAX_MASTERS} are examined", names.len()))
            .in_file(shown_address(address)));
    }
    let mut commits = Vec::new();
    for name in names {
        commits.extend(master_commit(&name, storage)?.filter(|commit| writes.contains_key(&commit.folder)));
    }
    Ok(commits)
}
