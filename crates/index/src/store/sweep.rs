//! Sweep: removes leftover files of builds that were killed. It only touches files whose names this crate could have given.

use std::collections::BTreeSet;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hyperslab_array::{Error, ErrorKind, Result};
use hyperslab_storage::{FolderLock, UniqueName, is_abandoned, locks_reach_all, open_regular};

use super::index_file_name::IndexFileName;
use super::manifest::{MANIFEST_NAME, Manifest};

/// Each process that builds into a sidecar and commits its own build holds a shared lock on this file.
const BUILDING: &str = ".building";
/// How long uncommitted files of tasks are kept: tasks may run on any machine and end before the commit, so that no lock
/// shows whether they are still needed.
pub(crate) const TASK_FILE_MAX_AGE: Duration = Duration::from_secs(24 * 3600);

/// Builds in progress in this process. While this value exists, their files are not swept.
pub(crate) struct Building(#[expect(dead_code, reason = "the locks live as long as their files are open")] Vec<File>);

impl Building {
    /// Marks builds into these sidecars as in progress. Creates the sidecars if needed.
    pub fn begin<'a>(folders: impl Iterator<Item = &'a PathBuf>) -> Result<Self> {
        let mut distinct: Vec<&PathBuf> = folders.collect();
        distinct.sort();
        distinct.dedup();
        let begin = |folder: &PathBuf| {
            let open = || {
                std::fs::create_dir_all(folder)?;
                let file = marker(folder)?;
                // If the file system has no locks, files are swept by their age only.
                let _ = file.lock_shared();
                std::io::Result::Ok(file)
            };
            open().map_err(|error| Error::from(error).in_file(folder.display().to_string()))
        };
        distinct.into_iter().map(begin).collect::<Result<_>>().map(Self)
    }
}

fn marker(folder: &Path) -> std::io::Result<File> {
    let path = folder.join(BUILDING);
    match File::options().write(true).create_new(true).open(&path) {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => open_regular(&path),
        made => made,
    }
}

/// Whether a file has the name of an output file that is not yet complete.
fn is_part(name: &str) -> bool {
    let inner = name.strip_prefix('.').and_then(|rest| rest.strip_suffix(".part")).and_then(|rest| rest.rsplit_once('.'));
    inner.is_some_and(|(target, unique)| UniqueName::parse(unique).is_ok() && (IndexFileName::parse(target).is_some() || target == MANIFEST_NAME))
}

/// Removes leftover files from a sidecar and returns their names. Uncommitted files of tasks are removed if they are older
/// than `age`. Does nothing while another process commits to the sidecar, or if the manifest cannot be read. With `dry_run`
/// nothing is removed.
pub(crate) fn sweep(folder: &Path, age: Duration, dry_run: bool) -> Result<Vec<String>> {
    let _lock = match FolderLock::take(folder) {
        Err(error) if matches!(error.kind(), ErrorKind::Conflict | ErrorKind::NotFound) => return Ok(Vec::new()),
        lock => lock?,
    };
    let used = match Manifest::read(folder) {
        Ok(manifest) => manifest.index_files(),
        Err(error) if error.kind() == ErrorKind::NotFound => BTreeSet::new(),
        Err(_) => return Ok(Vec::new()),
    };
    let failed = |error: std::io::Error| Error::from(error).in_file(folder.display().to_string());
    let marker = marker(folder).ok();
    // On a network file system a lock may only be visible to one machine.
    let is_quiet = marker.as_ref().is_some_and(|marker| locks_reach_all(marker) && marker.try_lock().is_ok());
    let mut removed = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        let metadata = entry.metadata().map_err(failed)?;
        let is_older = |age: Duration| metadata.modified().is_ok_and(|at| at.elapsed().is_ok_and(|since| since >= age));
        let is_left = if is_part(&name) {
            open_regular(entry.path()).is_ok_and(|file| is_abandoned(&file, age))
        } else {
            IndexFileName::parse(&name).is_some_and(|name| !used.contains(&name) && (is_older(age) || (is_quiet && name.is_local())))
        };
        if is_left && metadata.is_file() {
            if !dry_run {
                std::fs::remove_file(entry.path()).map_err(failed)?;
            }
            removed.push(name);
        }
    }
    removed.sort();
    Ok(removed)
}

/// Removes a sidecar without an index, unless another process builds into it; best effort.
pub(crate) fn remove_unbuilt(folder: &Path) {
    let Ok(marker) = marker(folder) else { return };
    if marker.try_lock().is_err() {
        return;
    }
    let is_empty = std::fs::read_dir(folder).is_ok_and(|entries| entries.flatten().all(|entry| entry.file_name() == BUILDING));
    if is_empty {
        let _ = std::fs::remove_file(folder.join(BUILDING));
        let _ = std::fs::remove_dir(folder);
    }
}

/// Removes the files of a sidecar, and its folder if nothing else is in it.
pub(crate) fn remove_sidecar(folder: &Path) -> Result<()> {
    let failed = |error: std::io::Error| Error::from(error).in_file(folder.display().to_string());
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        if [MANIFEST_NAME, BUILDING].contains(&name.as_str()) || IndexFileName::parse(&name).is_some() || is_part(&name) {
            std::fs::remove_file(entry.path()).map_err(failed)?;
        }
    }
    match std::fs::remove_dir(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::DirectoryNotEmpty => Err(failed(error)),
        _ => Ok(()),
    }
}
