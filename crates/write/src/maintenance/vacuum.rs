//! Removes leftovers: writes that were never committed, and commits that were replaced.

use std::path::Path;
use std::time::{Duration, SystemTime};

use hyperslab_array::{Error, Result};
use hyperslab_storage::{FolderLock, UniqueName, real_path, remove_leftovers};

use crate::container::claim::is_claim_file;
use crate::container::commit::remove_folder;
use crate::container::folder::{is_aborted_folder, write_id_of};
use crate::container::lineage::{LivingCommits, Superseded, container_of, home_of, living};
use crate::container::record::RECORD;
use crate::container::state::{State, state_of};

/// Result of [`vacuum`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct VacuumResult {
    /// Ids of writes whose subfiles were removed.
    pub removed: Vec<String>,
    /// Ids of writes that are too young to remove: they may be in progress or still be read.
    pub young: Vec<String>,
    /// Ids of writes that seem committed, but that no master in the folder uses.
    pub orphans: Vec<String>,
    /// Temporary files of killed writers that were removed, next to the master and in its container.
    pub files: Vec<String>,
}

/// What [`vacuum`] removes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct VacuumOptions {
    /// Leftovers changed more recently than this are kept.
    pub age: Duration,
    /// Whether to remove commits that no master in the folder uses.
    pub orphans: bool,
    /// Whether to remove nothing and only return what would be removed.
    pub is_dry: bool,
}

impl VacuumOptions {
    /// Removes leftovers that have not changed for `age`, and keeps commits that no master in the folder uses.
    pub fn new(age: Duration) -> Self {
        Self { age, orphans: false, is_dry: false }
    }

    /// Whether to remove commits that no master in the folder uses.
    #[must_use]
    pub fn with_orphans(self, orphans: bool) -> Self {
        Self { orphans, ..self }
    }

    /// Whether to remove nothing and only return what would be removed.
    #[must_use]
    pub fn with_is_dry(self, is_dry: bool) -> Self {
        Self { is_dry, ..self }
    }
}

/// Removes the subfiles of writes to `master` that were not committed, or were replaced, and that have not changed for `age`.
/// Commits that any master in the same folder uses are kept, whatever the name of that master. Commits that no master uses
/// are kept unless `orphans` is set. Temporary files that killed writers of `master` left next to it are removed as well,
/// even if it is not a master.
///
/// # Errors
/// `Io` or `Corrupt` if a file next to the container cannot be read, because it may be a master that uses what would be
/// removed; `Conflict` while another process commits.
pub fn vacuum(master: &Path, options: VacuumOptions) -> Result<VacuumResult> {
    let VacuumOptions { age, is_dry, .. } = options;
    let master = &real_path(master)?;
    let home = match state_of(master)? {
        State::Committed { commit } => home_of(master, &commit),
        _ => None,
    };
    let container = home.unwrap_or_else(|| container_of(master));
    let shown = container.display().to_string();
    let failed = |error: std::io::Error| Error::from(error).in_file(&shown);
    let mut result = VacuumResult::default();
    let leftovers = remove_leftovers(master, age, is_dry);
    result.files.extend(leftovers.into_iter().map(|path| path.display().to_string()));
    if !container.exists() {
        return Ok(result);
    }
    let _lock = FolderLock::take(&container)?;
    let living = living(&container)?;
    let mut writes = Vec::new();
    for entry in std::fs::read_dir(&container).map_err(failed)? {
        let place = entry.map_err(failed)?.path();
        if place.file_name().and_then(|name| name.to_str()).is_some_and(is_claim_file) {
            if remove_claim(&place, options).map_err(failed)? {
                result.files.push(place.display().to_string());
            }
            continue;
        }
        let Some(name) = place.file_name().and_then(|name| write_id_of(name.to_str()?)) else { continue };
        let rank = living.superseded.iter().position(|other| other.folder == name);
        writes.push((rank, name, place));
    }
    // Remove replaced commits oldest first, because each record leads to older ones.
    writes.sort();
    for (rank, name, place) in writes {
        let replaced = rank.and_then(|rank| living.superseded.get(rank));
        match fate_of(&place, &name, replaced, &living, (&container, options))? {
            Fate::Living => {}
            Fate::Orphan => result.orphans.push(name.into()),
            Fate::Old => {
                if !is_dry {
                    remove_folder(&place)?;
                }
                result.removed.push(name.into());
            }
            Fate::Young => result.young.push(name.into()),
        }
    }
    for names in [&mut result.removed, &mut result.young, &mut result.orphans, &mut result.files] {
        names.sort();
    }
    // Remove the container folder if it is empty.
    if !is_dry {
        let _ = std::fs::remove_dir(&container);
    }
    Ok(result)
}

/// Removes the claim file `place` if it is old enough, and returns whether it is.
fn remove_claim(place: &Path, options: VacuumOptions) -> std::io::Result<bool> {
    let modified = place.symlink_metadata().and_then(|found| found.modified());
    let is_old = modified.is_ok_and(|at| at.elapsed().is_ok_and(|since| since >= options.age));
    if is_old && !options.is_dry {
        std::fs::remove_file(place)?;
    }
    Ok(is_old)
}

/// What becomes of a write.
enum Fate {
    /// A master uses it.
    Living,
    /// It seems committed, but no master uses it.
    Orphan,
    /// It may be in progress, or still be read.
    Young,
    /// It is removed.
    Old,
}

/// What becomes of the write `name` in the folder `place`, which another commit may have `replaced`.
fn fate_of(
    place: &Path,
    name: &UniqueName,
    replaced: Option<&Superseded>,
    living: &LivingCommits,
    (container, options): (&Path, VacuumOptions),
) -> Result<Fate> {
    let is_aborted = is_aborted_folder(place);
    if living.folders.contains(name) && !is_aborted {
        return Ok(Fate::Living);
    }
    if !is_aborted && place.join(RECORD).exists() {
        if replaced.is_none() && !options.orphans {
            return Ok(Fate::Orphan);
        }
        living.require_complete()?;
    }
    let touched = match replaced {
        Some(replaced) => std::fs::metadata(container.join(&replaced.by).join(RECORD)).and_then(|record| record.modified()),
        None => newest(place),
    };
    let touched = touched.map_err(|error| Error::from(error).in_file(container.display().to_string()));
    let is_old = is_aborted || touched?.elapsed().is_ok_and(|since| since >= options.age);
    Ok(if is_old { Fate::Old } else { Fate::Young })
}

/// Last modification time of the folder and the files in it.
fn newest(folder: &Path) -> std::io::Result<SystemTime> {
    let mut newest = std::fs::metadata(folder)?.modified()?;
    for entry in std::fs::read_dir(folder)? {
        newest = newest.max(entry?.metadata()?.modified()?);
    }
    Ok(newest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::container::folder::REMOVED;
    use crate::container::plan::{WriteMode, WritePlan};

    type Outcome = std::result::Result<(), Box<dyn std::error::Error>>;

    #[test]
    fn leftovers_of_a_killed_abort_are_removed_by_the_next_one_or_by_vacuum() -> Outcome {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("out.h5");
        for again in [true, false] {
            let mut plan = WritePlan::new(&path, WriteMode::Create, None)?;
            plan.begin()?;
            std::fs::write(plan.folder().join("0000-a.h5"), b"")?;
            std::fs::rename(plan.folder(), plan.container().join(format!("{}{REMOVED}", plan.id())))?;
            if again {
                plan.abort()?;
            } else {
                let options = VacuumOptions { age: Duration::from_secs(60), orphans: false, is_dry: false };
                assert_eq!(vacuum(&path, options)?.removed, vec![plan.id().to_owned()]);
            }
            assert_eq!(std::fs::read_dir(folder.path())?.count(), 0);
        }
        Ok(())
    }
}
